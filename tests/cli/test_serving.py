from __future__ import annotations

from pathlib import Path

from sensorstream.cli.options import address, telling
from sensorstream.settings.settings_file import load_settings


def test_the_address_is_told_as_long_as_the_server_runs(tmp_path: Path) -> None:
    (tmp_path / "sensorstream.toml").write_text("[server]\nport = 8123\n")
    settings = load_settings(tmp_path / "sensorstream.toml")
    assert address(settings) == "http://127.0.0.1:8123"
    with telling(settings, "http://127.0.0.1:9"):
        assert address(settings) == "http://127.0.0.1:9"
        # Another server of the same deployment, which will be refused, tells nothing.
        with telling(settings, "http://127.0.0.1:10"):
            assert address(settings) == "http://127.0.0.1:9"
        assert address(settings) == "http://127.0.0.1:9"
    assert address(settings) == "http://127.0.0.1:8123"
