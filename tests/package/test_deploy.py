"""The unit, the image and the compose file: what can be tried without systemd and a registry."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from sensorstream.cli import main
from sensorstream.installation import EXTRAS
from sensorstream.server.http_connection import HEALTH
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import PREFIX, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "sensorstream.service").read_text(encoding="utf-8")
IMAGE = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
COMPOSE: Mapping[str, Any] = yaml.safe_load(
    (DEPLOY / "compose.yaml")
    .read_text(encoding="utf-8")
    .replace("${POSTGRES_PASSWORD:?set it}", "p")
)


def settings(folder: Path, variables: Mapping[str, str]) -> Settings:
    file = folder / "sensorstream.toml"
    file.touch()
    return load_settings(file, variables)


def instructions(name: str) -> list[str]:
    """What follows an instruction of the image, in order."""
    return re.findall(rf"^{name} +(.*)$", IMAGE, re.MULTILINE)


def image_variables() -> dict[str, str]:
    return dict(re.findall(rf"({PREFIX}\w+)=(\S+)", " ".join(instructions("ENV"))))


def resolves(command: list[str]) -> bool:
    """Whether the command line knows a command."""
    context = main.make_context("sensorstream", list(command), resilient_parsing=True)
    assert isinstance(main, click.Group)
    return main.get_command(context, command[0]) is not None


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze, which checks units, is not installed",
)
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("sensorstream")
    unit = tmp_path / "sensorstream.service"
    unit.write_text(UNIT.replace("/opt/sensorstream/bin/sensorstream", str(program)))
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    # Threshold in tenths: what the document says, and no more.
    exposed = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=17", unit],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert exposed.returncode == 0, exposed.stdout[-200:]


def test_the_unit_starts_a_server_and_sets_what_is_a_setting(tmp_path: Path) -> None:
    [started] = re.findall(r"^ExecStart=\S+ (.*)$", UNIT, re.MULTILINE)
    assert resolves(started.split())
    given = dict(re.findall(rf"^Environment=({PREFIX}\w+)=(.*)$", UNIT, re.MULTILINE))
    assert settings(tmp_path, given).log.format == "json"


def test_the_image_copies_what_is_there_and_starts_a_server(tmp_path: Path) -> None:
    assert (ROOT / "requirements.txt").is_file()
    [extras] = re.findall(r"whl\)\[([a-z,]+)\]", IMAGE)
    assert set(extras.split(",")) <= set(EXTRAS)
    [entry], [command] = instructions("ENTRYPOINT"), instructions("CMD")
    assert json.loads(entry) == ["sensorstream"]
    assert resolves(json.loads(command))
    told = settings(tmp_path, image_variables())
    # Others can reach it, so it must need keys.
    assert told.server.host == "0.0.0.0"
    assert told.http.keys
    [exposed] = instructions("EXPOSE")
    assert int(exposed) == told.server.port
    [path] = re.findall(rf"http://127\.0\.0\.1:{exposed}(/\w+)", IMAGE)
    assert path.encode() in HEALTH
    [user] = instructions("USER")
    assert f"useradd --uid {user} " in IMAGE


def test_the_services_fit_each_other(tmp_path: Path) -> None:
    services = COMPOSE["services"]
    server, postgres = services["server"], services["postgres"]
    told = settings(tmp_path, {**image_variables(), **server["environment"]})
    own = postgres["environment"]
    assert told.history.url == (
        f"postgresql://{own['POSTGRES_USER']}:{own['POSTGRES_PASSWORD']}@postgres/"
        f"{own['POSTGRES_DB']}"
    )
    [port] = server["ports"]
    assert port == f"127.0.0.1:{told.server.port}:{told.server.port}"
    build = server["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    [volume] = server["volumes"]
    assert volume.split(":")[1] == instructions("WORKDIR")[0] == instructions("VOLUME")[0]
    named = {v.split(":")[0] for each in services.values() for v in each.get("volumes", ())}
    assert {each for each in named if not each.startswith(".")} == set(COMPOSE["volumes"])


def test_the_commands_of_the_document_are_there() -> None:
    text = (ROOT / "docs" / "operate" / "operations.md").read_text(encoding="utf-8")
    commands = re.findall(
        r"(?:^|bin/|run --rm server )(?:sensorstream )?((?:init|keys) .*)$", text, re.M
    )
    assert len(commands) == 3
    assert all(resolves(each.split()) for each in commands)
