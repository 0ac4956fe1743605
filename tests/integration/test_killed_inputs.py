"""A server killed in mid-stream while it reads a folder and MQTT: each message once.

The broker is mosquitto where it is installed, else amqtt.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO

import httpx
import pytest

from sensorstream.simulation.tracker import tracker_messages
from tests.inputs.mqtt_brokers import (
    MOSQUITTO,
    PASSWORD,
    USER,
    amqtt_broker,
    mosquitto_broker,
    publish,
)

_CLI = [sys.executable, "-m", "sensorstream"]
_MESSAGES = 200
_KILLS = 2


def _first_line(stream: IO[str], seconds: float) -> str:
    lines: queue.Queue[str] = queue.Queue()
    Thread(target=lambda: lines.put(stream.readline()), daemon=True).start()
    return lines.get(timeout=seconds)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*_CLI, "serve", "-c", str(folder / "sensorstream.toml"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = _first_line(process.stdout, 120)
            assert line.startswith("listening on http://127.0.0.1:")
            yield process, line.removeprefix("listening on ").strip()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)


def taken(client: httpx.Client) -> int:
    """How many messages of inputs the server has taken since it started."""
    lines = client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("sensorstream_input_messages_total")]
    return int(sum(float(line.split()[-1]) for line in found))


def survive(folder: Path, deliver: Callable[[int], None], left: Callable[[], int]) -> None:
    """Deliver messages while servers are killed; a last one takes what is left.

    Args:
        folder: the deployment.
        deliver: brings the messages of one round on their way.
        left: how many messages are still on their way.
    """
    for number in range(_KILLS):
        with serving(folder) as (process, url), httpx.Client(base_url=url, timeout=60) as client:
            deliver(number)
            deadline = time.monotonic() + 120
            while taken(client) < _MESSAGES // _KILLS // 3:
                assert time.monotonic() < deadline, "nothing is taken"
            os.kill(process.pid, signal.SIGKILL)
            process.wait(60)
    with serving(folder) as (_, url), httpx.Client(base_url=url, timeout=60) as client:
        deadline = time.monotonic() + 120
        while True:
            window = client.get("/window", params={"limit": 1000}).json()["individuals"]
            query = {"query": "select iri from history.individuals"}
            rows = client.post("/sql", json=query).json()["rows"]
            found = Counter([each["iri"] for each in window] + [row[0] for row in rows])
            if len(found) >= _MESSAGES and not left():
                break
            assert time.monotonic() < deadline, f"{len(found)} individuals, {left()} left"
            time.sleep(0.2)
        ready = client.get("/readyz").json()["parts"]
    assert len(found) == _MESSAGES
    assert [name for name, count in found.items() if count != 1] == []
    assert [each for name, each in ready.items() if name.startswith("input")] == [
        {"ready": True, "detail": ""}
    ]


@pytest.fixture
def deployment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = folder / "work"
    subprocess.run([*_CLI, "init", str(made)], check=True, capture_output=True)
    monkeypatch.setenv("SENSORSTREAM_WINDOW_SIZE", "50")
    monkeypatch.setenv("SENSORSTREAM_HISTORY_CHECKPOINT_EVERY", "60")
    return made


def configure(deployment: Path, text: str) -> None:
    with (deployment / "sensorstream.toml").open("a") as file:
        file.write(f"\n{text}\n")


def rounds() -> list[list[bytes]]:
    every = [bytes(each) for each in tracker_messages(_MESSAGES)]
    size = _MESSAGES // _KILLS
    return [every[first : first + size] for first in range(0, _MESSAGES, size)]


def test_after_kill_9_each_file_of_a_folder_was_taken_once(deployment: Path) -> None:
    drop = deployment / "drop"
    drop.mkdir()
    configure(
        deployment,
        '[[inputs]]\nname = "drop"\ntype = "folder"\n[inputs.options]\npath = "drop"\n'
        "settle = 0.1\npoll = 0.05",
    )
    contents = rounds()

    def deliver(number: int) -> None:
        for index, content in enumerate(contents[number]):
            part = drop / f".{number}-{index:04}"
            part.write_bytes(content)
            part.replace(drop / f"{number}-{index:04}.xml")

    survive(deployment, deliver, lambda: len(list(drop.glob("*.xml"))))
    assert len(list((drop / "done").iterdir())) == _MESSAGES
    assert list((drop / "failed").iterdir()) == []


def test_after_kill_9_each_message_of_mqtt_was_taken_once(deployment: Path) -> None:
    with mosquitto_broker(deployment) if MOSQUITTO else amqtt_broker(deployment) as broker:
        port = broker if isinstance(broker, int) else broker.port
        version = "5" if MOSQUITTO else "3.1.1"
        configure(
            deployment,
            '[[inputs]]\nname = "hall"\ntype = "mqtt"\n[inputs.options]\nhost = "127.0.0.1"\n'
            f'port = {port}\nversion = "{version}"\nuser = "{USER}"\npassword = "{PASSWORD}"\n'
            'topics = ["hall/+"]',
        )
        contents = rounds()

        def deliver(number: int) -> None:
            publish(port, [(f"hall/{n}", each) for n, each in enumerate(contents[number])])

        survive(deployment, deliver, lambda: 0)


def test_a_server_that_is_stopped_finishes_what_its_inputs_have_read(deployment: Path) -> None:
    configure(deployment, '[[inputs]]\nname = "line"\ntype = "tcp"\n[inputs.options]\nport = 0')
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENSORSTREAM_INPUTS_LINE_PORT", str(port))
        with serving(deployment) as (process, _):
            with socket.create_connection(("127.0.0.1", port), 30) as sender:
                lines = sender.makefile("rb")
                for content in tracker_messages(50):
                    sender.sendall(bytes(content).replace(b"\n", b" ") + b"\n")
                assert lines.readline()
                process.send_signal(signal.SIGTERM)
                answers = 1 + sum(1 for _ in lines)
            assert process.wait(60) in (0, -signal.SIGTERM)
        with serving(deployment) as (_, url), httpx.Client(base_url=url, timeout=60) as client:
            window = client.get("/window", params={"limit": 1000}).json()["individuals"]
    assert len(window) == answers
