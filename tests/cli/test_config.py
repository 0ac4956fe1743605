from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "sensorstream.toml"
    file.write_text(
        """
        [history]
        url = "postgresql://me:hidden@host/db"

        [server]
        port = 7000

        [filters.f]
        below = 3

        [[inputs]]
        name = "buses"
        type = "mqtt"
        [inputs.options]
        host = "h"
        topics = ["a", "b"]
        password = "hidden"
        """
    )
    return file


def test_each_setting_says_where_it_comes_from(
    run: Run, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENSORSTREAM_SERVER_HOST", "::1")
    monkeypatch.setenv("SENSORSTREAM_INPUTS_BUSES_USER", "me")
    shown = run("config", "show", "--origin", "--json", "-c", config, status=0)
    assert "hidden" not in shown.output
    told = json.loads(shown.stdout)
    assert told["server.port"] == {"value": 7000, "origin": f"{config}:6"}
    assert told["server.host"] == {"value": "::1", "origin": "SENSORSTREAM_SERVER_HOST"}
    assert told["window.kind"] == {"value": "sliding", "origin": "default"}
    assert told["filters.f.below"] == {"value": "3", "origin": f"{config}:9"}
    assert told["inputs.buses.topics"] == {"value": ["a", "b"], "origin": f"{config}:16"}
    assert told["inputs.buses.user"]["origin"] == "SENSORSTREAM_INPUTS_BUSES_USER"
    assert told["inputs.buses.password"]["value"] == "***"
    assert told["history.url"]["value"] == "postgresql://me:***@host/db"


def test_settings_are_shown_as_a_table(run: Run, config: Path) -> None:
    shown = run("config", "show", "-c", config)
    assert ["server.port", "7000"] in [line.split() for line in shown.stdout.splitlines()]
    assert "hidden" not in shown.stdout
