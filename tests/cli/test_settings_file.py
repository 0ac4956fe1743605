from __future__ import annotations

import re
from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path

import pytest

from sensorstream.cli.init_command import Given, settings_text
from sensorstream.settings.settings import NAMED_SECTIONS, SECTIONS, Settings
from sensorstream.settings.settings_file import load_settings


@pytest.mark.parametrize("comment", ["", "# "])
def test_what_stands_as_a_comment_is_the_default(comment: str, tmp_path: Path) -> None:
    text = settings_text("Nothing is set, or all that stands there.", {})
    path = tmp_path / "sensorstream.toml"
    path.write_text(re.sub(r"^# (\w+ = )", rf"{comment}\1", text, flags=re.MULTILINE))
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    assert values(load_settings(path, {})) == values(load_settings(empty, {}))


def test_given_settings_are_set(tmp_path: Path) -> None:
    path = tmp_path / "sensorstream.toml"
    given: Given = {
        "window": {"kind": "filling", "size": "191"},
        "webhooks": {"allow": ["127.0.0.0/8", "fd00::/8"]},
        "server": {"port": 0},
    }
    path.write_text(settings_text("Some.", given))
    settings = load_settings(path, {})
    assert (settings.window.kind, settings.window.size) == ("filling", "191")
    assert settings.webhooks.allow == (ip_network("127.0.0.0/8"), ip_network("fd00::/8"))
    assert settings.server.port == 0


def test_every_setting_stands_there_with_its_sentence() -> None:
    text = settings_text("", {})
    for section, kind in SECTIONS.items():
        for setting in fields(kind):
            assert f"# {setting.metadata['sentence']}\n# {setting.name} = " in text, section


def test_sections_that_the_user_names_stand_there_as_comments() -> None:
    text = settings_text("", {})
    for section, kind in NAMED_SECTIONS.items():
        assert f"\n# [{section}.NAME]\n" in text
        for setting in fields(kind):
            name = setting.name.rstrip("_")
            assert f"#   {setting.metadata['sentence']}\n#   {name} = " in text, section


def values(settings: Settings) -> list[object]:
    return [getattr(settings, section) for section in SECTIONS]
