from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result
from sqlalchemy import make_url

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.history.reader_role import reader_name
from sensorstream.settings.settings_file import load_settings
from tests.databases import execute
from tests.server.certificates import write_certificate

Run = Callable[..., Result]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return int(port)


def levels(run: Run, config: Path) -> dict[str, list[tuple[str, str, str | None]]]:
    """The level, the text and the remedy of each finding, by its name."""
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for each in json.loads(run("doctor", "--json", "-c", config).stdout):
        found.setdefault(each["name"], []).append((each["level"], each["told"], each["remedy"]))
    return found


def test_a_new_deployment_has_no_faults(
    run: Run, tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENSORSTREAM_SERVER_PORT", str(free_port))
    assert run("init", tmp_path / "new").exit_code == 0
    shown = run("doctor", "-c", tmp_path / "new" / "sensorstream.toml", status=0)
    assert "postgres: postgres (PostgreSQL)" in shown.output
    assert f"port {free_port} is free" in shown.output
    assert not (tmp_path / "new" / "data").exists()


def test_each_fault_has_a_way_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    write_certificate(chain, key, "server")
    key.chmod(0o644)
    (tmp_path / "file").touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        taken.settimeout(0)
        port = taken.getsockname()[1]
        config = tmp_path / "sensorstream.toml"
        config.write_text(
            f"""
            [ontology]
            files = ["none.ttl"]
            [reasoning]
            profile = "hermit"
            java = "/nowhere"
            [history]
            url = "postgresql://me:hidden@127.0.0.1:1/db"
            [server]
            port = {port}
            [http]
            certificate = "{key}"
            """
        )
        usage = SimpleNamespace(free=1 << 20)
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
        monkeypatch.setattr("sensorstream.cli.doctor_command._answers", lambda _: False)
        found = levels(run, config)
    for name in ("permissions", "disk", "port", "certificate", "java", "postgres"):
        faults = [each for each in found[name] if each[0] == "fault"]
        assert faults, name
        assert all(remedy for _, _, remedy in faults)
    assert ("warning", f"others can read {key}", f"chmod 600 {key}") in found["permissions"]
    assert "hidden" not in str(found)
    [(level, told, remedy)] = found["time"]
    assert (level, "10^9 usual steps" in told) == ("warning", True)
    assert "set time.ahead" in str(remedy)
    monkeypatch.setenv("SENSORSTREAM_TIME_AHEAD", "3600")
    assert "time" not in levels(run, config)


def test_wrong_settings_are_the_first_fault(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "sensorstream.toml"
    config.write_text("[server]\nprot = 1")
    shown = run("doctor", "-c", config, status=1)
    assert shown.output.startswith("fault   settings: ")
    assert "did you mean port?" in shown.output


def test_it_tells_what_no_session_of_ours_can_set(
    run: Run, new_workspace: Callable[[], Path]
) -> None:
    config = new_workspace()
    with ServerProcess(config) as process:
        process.url()
    url = load_settings(config).history.url
    reader = reader_name(make_url(url).database or "")
    execute(url, f'alter role "{reader}" reset random_page_cost')
    found = levels(run, config)["postgres"]
    # The server of the tests runs without it.
    assert any(level == "warning" and told.startswith("fsync is off") for level, told, _ in found)
    [remedy] = [remedy for _, told, remedy in found if "the role that reads" in told]
    assert remedy == f"as its owner: alter role \"{reader}\" set random_page_cost = '1.1'"
    assert not any("jit" in told for _, told, _ in found)


def test_it_sees_a_running_server_and_a_receiver_that_is_away(
    run: Run, new_workspace: Callable[[], Path], free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = new_workspace()
    with ServerProcess(config) as process:
        url = process.url()
        with CommandClient(url) as client:
            client.add_webhook(f"http://127.0.0.1:{free_port}/secret")
        monkeypatch.setenv("SENSORSTREAM_SERVER_PORT", url.rpartition(":")[2])
        found = levels(run, config)
    assert found["port"] == [("ok", f"a server of ours answers at {url}", None)]
    assert found["postgres"][0][0] == "ok"
    [(level, told, _)] = found["webhooks"]
    assert level == "warning"
    assert "refused" in told
    assert "secret" not in told
