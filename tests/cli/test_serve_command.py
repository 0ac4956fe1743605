from __future__ import annotations

import json
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.serve_command import bind, check_reach
from sensorstream.errors import SettingsError
from sensorstream.settings.settings import HttpSettings
from tests.server.certificates import write_certificate
from tests.waiting import eventually


@pytest.fixture(scope="module")
def config(new_workspace: Callable[[], Path]) -> Path:
    return new_workspace()


def serve(config: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sensorstream", "serve", "-c", str(config), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def get(url: httpx.URL | str) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=60)


@pytest.mark.usefixtures("own_interpreters")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_where_it_listens_and_stops_cleanly(config: Path, how: signal.Signals) -> None:
    with serve(config, "--port", "0") as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert re.fullmatch(r"listening on http://127\.0\.0\.1:[1-9]\d+\n", line)
        url = line.removeprefix("listening on ").strip()
        eventually(lambda: get(f"{url}/readyz").status_code == 200)
        # A stream without an end must not keep the server from stopping.
        with httpx.stream("GET", f"{url}/alerts/stream", timeout=300, trust_env=False) as stream:
            assert stream.status_code == 200
            server.send_signal(how)
            stdout, stderr = server.communicate(timeout=60)
    assert (server.returncode, stdout) == (0, "")
    # Only what took long on a busy machine.
    assert all(re.fullmatch(r"[a-z].* … \d+ s", line) for line in stderr.splitlines())


def test_a_host_and_a_port_can_be_chosen(config: Path, run: Callable[..., Result]) -> None:
    told = run("health", "-c", config)
    assert (told.exit_code, "no answer from" in told.stderr) == (3, True), told.output
    with socket.socket() as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    with serve(config, "--host", "127.0.0.2", "--port", str(port)) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == f"listening on http://127.0.0.2:{port}\n"
        # Commands find the server of their folder, wherever it listens.
        assert run("health", "-c", config).exit_code == 0
        server.terminate()
        server.communicate(timeout=60)
    assert server.returncode == 0


def test_a_taken_port_is_told_before_anything_starts(
    config: Path, run: Callable[..., Result]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with serve(config, "--port", str(port)) as server:
            stdout, stderr = server.communicate(timeout=60)
    assert (server.returncode, stdout) == (3, "")
    assert stderr.startswith(f"error[address]: cannot listen on http://127.0.0.1:{port}: ")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_are_not_held_back_by_nagles_algorithm(host: str) -> None:
    # asyncio switches it off only for sockets that say they are TCP; connections inherit that.
    with bind(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "no-such-host.invalid"])
def test_others_may_reach_a_server_only_if_it_needs_keys(host: str) -> None:
    with pytest.raises(SettingsError, match=r"set http\.keys = true and make a key"):
        check_reach(host, HttpSettings())
    check_reach(host, HttpSettings(keys=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_without_keys_this_machine_reaches_the_server(host: str) -> None:
    check_reach(host, HttpSettings())


def test_a_server_for_others_without_keys_does_not_start(config: Path) -> None:
    with serve(config, "--host", "0.0.0.0") as server:
        stdout, stderr = server.communicate(timeout=60)
    assert (server.returncode, stdout) == (1, "")
    assert stderr.startswith("error[settings]: others can reach the address '0.0.0.0'")


def test_commands_reach_a_server_with_tls(
    config: Path, tmp_path: Path, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    write_certificate(chain, key, "server")
    monkeypatch.setenv("SENSORSTREAM_HTTP_CERTIFICATE", str(chain))
    monkeypatch.setenv("SENSORSTREAM_HTTP_PRIVATE_KEY", str(key))
    with serve(config, "--port", "0") as server:
        assert server.stdout is not None
        url = server.stdout.readline().removeprefix("listening on ").strip()
        assert url.startswith("https://127.0.0.1:")
        unknown = run("health", "--url", url, status=3)
        assert "CERTIFICATE_VERIFY_FAILED" in unknown.stderr
        monkeypatch.setenv("SENSORSTREAM_CA", str(chain))
        assert run("health", "--url", url).exit_code == 0
        run("health", "--url", url.replace("https", "http"), status=3)
        server.terminate()
        server.communicate(timeout=60)
    monkeypatch.setenv("SENSORSTREAM_CA", str(key))
    assert "error[settings]: cannot read certificates from" in run("health", "--url", url).stderr


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open more files than the server."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2_000:
        pytest.skip(f"a process may open {before[1]} files here, the test needs 2,000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2_000), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_idle_connections_keep_nobody_out_and_fill_no_log(config: Path) -> None:
    serve_with_few_files = (
        'ulimit -Sn 1024; exec "$0" -m sensorstream serve -c "$1" --port 0',
        sys.executable,
        str(config),
    )
    with (
        subprocess.Popen(
            ["sh", "-c", *serve_with_few_files],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as server,
        ExitStack() as idle,
    ):
        assert server.stdout is not None
        url = httpx.URL(server.stdout.readline().removeprefix("listening on ").strip())
        assert url.port is not None
        for _ in range(1_100):
            idle.enter_context(socket.create_connection((url.host, url.port), timeout=300))
        for path in ("/readyz", "/rules"):
            eventually(partial(lambda page: get(page).status_code == 200, url.join(path)))
        server.terminate()
        _, stderr = server.communicate(timeout=60)
    assert server.returncode == 0
    assert all(re.fullmatch(r"[a-z].* … \d+ s", line) for line in stderr.splitlines())


def test_it_stops_while_questions_run_that_never_end(config: Path) -> None:
    endless = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a = ?none) }"
    with ServerProcess(config) as process, ThreadPoolExecutor() as pool:
        url = process.url()
        given = {"query": endless}
        asked = [
            pool.submit(httpx.get, f"{url}/sparql", params=given, timeout=60) for _ in range(2)
        ]
        sleep = {"query": "select pg_sleep(25)"}
        asked.append(pool.submit(httpx.post, f"{url}/sql", json=sleep, timeout=60))
        eventually(lambda: len(get(f"{url}/jobs").json()["jobs"]) == len(asked))
        assert process.stop() in (0, -signal.SIGTERM)
        assert {each.result().status_code for each in asked} == {503}


def test_its_log_as_json_names_request_and_message(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENSORSTREAM_LOG_FORMAT", "json")
    monkeypatch.setenv("SENSORSTREAM_LOG_LEVEL", "info")
    with ServerProcess(config) as process:
        url = process.url()
        headers = {"Content-Type": "application/xml", "X-Request-Id": "from-me.1"}
        posted = {"content": b"<Nothing/>", "headers": headers, "trust_env": False}
        answer = httpx.post(f"{url}/messages?source=here", **posted)  # type: ignore[arg-type]
        assert answer.headers["X-Request-Id"] == "from-me.1"
        other = httpx.get(f"{url}/alerts?limit=1", headers={"X-Request-Id": "a b"}, trust_env=False)
        assert re.fullmatch("[0-9a-f]{16}", other.headers["X-Request-Id"])
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    [unmatched] = [each for each in lines if each["logger"] == "sensorstream.app.pipeline"]
    assert unmatched["level"] == "warning"
    assert (unmatched["source"], unmatched["request_id"]) == ("here", "from-me.1")
    assert unmatched["message_id"] == answer.json()["message_id"]
    requests = {
        each["request_id"]: each["message"] for each in lines if each["logger"] == "uvicorn.access"
    }
    assert '"POST /messages HTTP/1.1" 200' in requests["from-me.1"]
    assert '"GET /alerts HTTP/1.1" 200' in requests[other.headers["X-Request-Id"]]
