"""A server killed in mid-stream while it reads a folder and MQTT: each message once.

What becomes of a message is written a moment after the message: the tests wait for it.
The broker is mosquitto: amqtt forgets what a client that is killed has not acknowledged.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import httpx
import pytest

from sensorstream.cli.simulation.tracker_messages import tracker_messages
from tests.inputs.mqtt_brokers import MOSQUITTO, PASSWORD, USER, mosquitto_broker, publish
from tests.integration.serving import CLI, serving

_MESSAGES = 200
_KILLS = 2
_JOURNAL = "select encode(content, 'hex') as content, status from history.messages"
_DEPARTED = "select distinct iri, message_id from history.individuals"


def taken(client: httpx.Client) -> int:
    """How many messages of inputs the server has taken since it started."""
    lines = client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("sensorstream_input_messages_total")]
    return int(sum(float(line.split()[-1]) for line in found))


def survive(
    folder: Path, expected: list[bytes], deliver: Callable[[int], None], left: Callable[[], int]
) -> list[bytes]:
    """Deliver messages while servers are killed; a last one takes what is left.

    Args:
        folder: the deployment.
        expected: all messages.
        deliver: brings the messages of one round on their way.
        left: how many messages are still on their way.

    Returns:
        All messages in the journal, sorted.
    """
    for number in range(_KILLS):
        with serving(folder) as (process, client):
            deliver(number)
            deadline = time.monotonic() + 120
            while taken(client) < _MESSAGES // _KILLS // 3:
                assert time.monotonic() < deadline, "nothing is taken"
            os.kill(process.pid, signal.SIGKILL)
            process.wait(60)
    with serving(folder) as (_, client):

        def rows(query: str) -> list[list[str]]:
            found: list[list[str]] = client.post("/sql", json={"query": query}).json()["rows"]
            return found

        deadline = time.monotonic() + 120
        journal = rows(_JOURNAL)
        while len(journal) < len(expected) or left() or any(row[1] is None for row in journal):
            assert time.monotonic() < deadline, f"{len(journal)} messages, {left()} left"
            time.sleep(0.2)
            journal = rows(_JOURNAL)
        window = client.get("/window", params={"limit": 1000}).json()["individuals"]
        people = Counter([each["iri"] for each in window] + [row[0] for row in rows(_DEPARTED)])
        ready = client.get("/readyz").json()["parts"]
    assert {row[1] for row in journal} == {"accepted"}
    told = {name: count for name, count in people.items() if "#human-" in name}
    assert (len(told), set(told.values())) == (len(expected), {1})
    assert [each for name, each in ready.items() if name.startswith("input")] == [
        {"ready": True, "detail": "", "age": 0.0}
    ]
    return sorted(bytes.fromhex(row[0]) for row in journal)


@pytest.fixture
def deployment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = folder / "work"
    subprocess.run([*CLI, "init", str(made)], check=True, capture_output=True)
    monkeypatch.setenv("SENSORSTREAM_WINDOW_SIZE", "50")
    monkeypatch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
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
    sent = list(chain.from_iterable(contents))

    def deliver(number: int) -> None:
        for index, content in enumerate(contents[number]):
            part = drop / f".{number}-{index:04}"
            part.write_bytes(content)
            part.replace(drop / f"{number}-{index:04}.xml")

    taken = survive(deployment, sent, deliver, lambda: len(list(drop.glob("*.xml"))))
    assert taken == sorted(sent)
    assert len(list((drop / "done").iterdir())) == _MESSAGES
    assert list((drop / "failed").iterdir()) == []


@pytest.mark.skipif(
    MOSQUITTO is None,
    reason="mosquitto, Debian's package of that name, is not installed: amqtt forgets what is not "
    "acknowledged",
)
def test_after_kill_9_each_message_of_mqtt_was_taken_once(deployment: Path) -> None:
    with mosquitto_broker(deployment) as port:
        configure(
            deployment,
            '[[inputs]]\nname = "hall"\ntype = "mqtt"\n[inputs.options]\nhost = "127.0.0.1"\n'
            f'port = {port}\nuser = "{USER}"\npassword = "{PASSWORD}"\n'
            'topics = ["hall/+"]',
        )
        contents = rounds()
        sent = list(chain.from_iterable(contents))

        def deliver(number: int) -> None:
            publish(port, [(f"hall/{n}", each) for n, each in enumerate(contents[number])])

        assert survive(deployment, sent, deliver, lambda: 0) == sorted(sent)


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
        with serving(deployment) as (_, client):
            window = client.get("/window", params={"limit": 1000}).json()["individuals"]
    assert len(window) == answers
