from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from sensorstream.cli.serve import bind
from sensorstream.demo.server_process import ServerProcess


@pytest.fixture(scope="module")
def config(new_workspace: Callable[[], Path]) -> Path:
    return new_workspace()


def serve(config: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sensorstream", "serve", "-c", str(config), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_stops_cleanly(config: Path, how: signal.Signals) -> None:
    with serve(config, "--port", "0") as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert re.fullmatch(r"listening on http://127\.0\.0\.1:[1-9]\d+\n", line)
        url = line.removeprefix("listening on ").strip()
        assert httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
        # A stream without an end must not keep the server from stopping.
        with httpx.stream("GET", f"{url}/alerts/stream", timeout=30, trust_env=False) as stream:
            assert stream.status_code == 200
            server.send_signal(how)
            stdout, stderr = server.communicate(timeout=30)
    assert (server.returncode, stdout) == (0, "")
    # Only what took long on a busy machine.
    assert all(re.fullmatch(r"[a-z].* … \d+ s", line) for line in stderr.splitlines())


def test_a_host_and_a_port_can_be_chosen(config: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    with serve(config, "--host", "127.0.0.2", "--port", str(port)) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == f"listening on http://127.0.0.2:{port}\n"
        server.terminate()
        server.communicate(timeout=30)
    assert server.returncode == 0


def test_a_taken_port_is_told_before_anything_starts(
    config: Path, run: Callable[..., Result]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with serve(config, "--port", str(port)) as server:
            stdout, stderr = server.communicate(timeout=30)
    assert (server.returncode, stdout) == (3, "")
    assert stderr.startswith(f"error[address]: cannot listen on http://127.0.0.1:{port}: ")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_are_not_held_back_by_nagles_algorithm(host: str) -> None:
    # asyncio switches it off only for sockets that say they are TCP; connections inherit that.
    with bind(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


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
        deadline = time.monotonic() + 60
        while len(httpx.get(f"{url}/jobs").json()["jobs"]) < len(asked):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert process.stop() in (0, -signal.SIGTERM)
        assert {each.result().status_code for each in asked} == {503}
