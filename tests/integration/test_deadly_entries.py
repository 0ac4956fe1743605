"""An entry that brings the server down twice is passed over; the next one is processed."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import pytest

from sensorstream.app.life.in_work import EXIT_CODE

_CLI = [sys.executable, "-m", "sensorstream"]
_XML = {"content-type": "application/xml"}
FUNCTIONS = """
import os

def room(code: str) -> str:
    if code == "abort":
        os.abort()
    while code == "endless":
        pass
    return code
"""
RULES = """prefix : <http://sensorstream.example/tracking#>
mapping seen
on message {/Seen}
then insert individual :room-{@code |> room} a :Location .
"""


@pytest.fixture
def deployment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = folder / "work"
    subprocess.run([*_CLI, "init", str(folder)], check=True, capture_output=True)
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "seen.rules").write_text(RULES)
    monkeypatch.setenv("SENSORSTREAM_RULES_FILES", str(folder / "seen.rules"))
    monkeypatch.setenv("SENSORSTREAM_FUNCTIONS_FILES", str(folder / "functions.py"))
    monkeypatch.setenv("SENSORSTREAM_LIMITS_ENTRY_SECONDS", "1")
    monkeypatch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
    return folder


def start(folder: Path) -> subprocess.Popen[str]:
    command = [*_CLI, "serve", "-c", str(folder / "sensorstream.toml"), "--port", "0"]
    with (folder / "stderr").open("a") as told:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    with start(folder) as process:
        stdout = process.stdout
        assert stdout is not None
        lines: queue.Queue[str] = queue.Queue()
        Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
        try:
            line = lines.get(timeout=60)
            assert line, (folder / "stderr").read_text()
            with httpx.Client(base_url=line.split()[-1], headers=_XML, timeout=60) as client:
                yield process, client
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)


def post(client: httpx.Client, code: str) -> httpx.Response:
    return client.post("/messages", content=f"<Seen code='{code}'/>")


def rooms(client: httpx.Client) -> list[str]:
    found = client.get("/window").json()["individuals"]
    return [each["iri"].rpartition("room-")[2] for each in found]


def journal(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*_CLI, "journal", *arguments, "-c", str(folder / "sensorstream.toml")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def ends_at_start(folder: Path) -> int:
    with start(folder) as process:
        return process.wait(60)


def wait_for_the_end(process: subprocess.Popen[str], client: httpx.Client) -> list[str]:
    """What ``/healthz`` has told until the process ended."""
    told = []
    deadline = time.monotonic() + 60
    while process.poll() is None:
        assert time.monotonic() < deadline
        try:
            answer = client.get("/healthz")
        except httpx.TransportError:
            continue
        if answer.status_code == 503:
            told.append(answer.json()["detail"])
        time.sleep(0.1)
    return told


def test_what_kills_the_server_twice_is_set_aside_and_told(deployment: Path) -> None:
    # The first entry of the journal names the functions in force.
    with serving(deployment) as (process, client):
        assert post(client, "hall").status_code == 200
        with pytest.raises(httpx.TransportError):
            post(client, "abort")
        assert process.wait(60) == -signal.SIGABRT
    assert ends_at_start(deployment) == -signal.SIGABRT
    with serving(deployment) as (_, client):
        assert rooms(client) == ["hall"]
        (kept,) = client.get("/quarantine").json()["messages"]
        assert (kept["status"], kept["content"]) == ("skipped", "<Seen code='abort'/>")
        assert "entry 3 was in work, 2 times in a row" in kept["reason"]
        (alert,) = client.get("/alerts").json()["alerts"]
        assert alert["kind"] == "entry-skipped"
        assert "the message m3 from 'rest' is in quarantine" in alert["text"]
        assert post(client, "door").status_code == 200
        refused = journal(deployment, "skip", "1")
        assert (refused.returncode, "stop it first" in refused.stderr) == (3, True)
    listed = journal(deployment, "list", "--status", "skipped")
    assert "skipped: the server ended while entry 3 was in work" in listed.stdout
    with serving(deployment) as (_, client):
        assert rooms(client) == ["hall", "door"]
        assert len(client.get("/alerts").json()["alerts"]) == 1


def test_what_never_ends_fails_the_health_check_and_then_ends_the_process(deployment: Path) -> None:
    with serving(deployment) as (process, client):
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(post, client, "endless")
            told = wait_for_the_end(process, client)
        assert isinstance(answer.exception(), httpx.TransportError)
    assert process.returncode == EXIT_CODE
    assert any("entry 2 (message from 'rest') has been in work for" in each for each in told)
    assert "in room" in (deployment / "stderr").read_text()
    # By hand, before the server has done it by itself.
    shown = journal(deployment, "show", "2")
    assert (shown.stdout, shown.returncode) == ("<Seen code='endless'/>", 0)
    assert journal(deployment, "skip", "2", "--reason", "no end").returncode == 0
    again = journal(deployment, "skip", "2")
    assert (again.returncode, "skipped already" in again.stderr) == (1, True)
    with serving(deployment) as (_, client):
        (kept,) = client.get("/quarantine").json()["messages"]
        assert (kept["status"], kept["reason"]) == ("skipped", "skipped: no end")
        assert post(client, "door").status_code == 200
