"""The process of the engines of a partition: it may end, and its clients may be anything."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from threading import Thread

import pytest

from sensorstream.app.control.wiring import read_deployment
from sensorstream.errors import SparkError
from sensorstream.history.journal_rows import JournalRow, record_of
from sensorstream.journal.entry_effects import merged
from sensorstream.settings.settings import Settings
from sensorstream.streaming.host_client import HostClient
from sensorstream.streaming.worker_messages import Done, EnginePlace, HostTask, Work
from tests.streaming.conftest import hosts, seen, serving
from tests.streaming.stand_in import entry, of_one_engine, parts, told

PARTITION = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For the sockets; the hosts end with it."""
    path = tmp_path_factory.mktemp("sockets")
    yield path
    for each in serving(path):
        each.kill()


@pytest.fixture(scope="module")
def task(settings: Settings) -> HostTask:
    return HostTask(settings, "", b"secret")


@pytest.fixture
def client(folder: Path, task: HostTask) -> Iterator[HostClient]:
    found = HostClient(folder, PARTITION, task)
    yield found
    found.close()


def rows(first: int, count: int, x: int = 80) -> list[JournalRow]:
    return [entry(n, seen("cam", n, (n % 7, x)), "cam") for n in range(first, first + count)]


def work(key: str, place: EnginePlace | None, said: Sequence[JournalRow], **more: object) -> Work:
    return Work(key, place, 0, [pickle.dumps(said)], **more)  # type: ignore[arg-type]


def test_a_host_that_is_killed_is_replaced_and_its_engines_come_back(
    client: HostClient, folder: Path, settings: Settings
) -> None:
    first, second = rows(1, 9), rows(10, 9)
    one = client.work(work("killed", None, first))
    assert isinstance(one, Done)
    (host,) = hosts(folder)
    host.kill()
    host.wait(300)
    next_work = work("killed", one.place, second)
    assert client.work(next_work) is None, "the new host asks for the engine's state"
    two = client.work(work("killed", one.place, second, rebuild=True, kept=[one.entries]))
    assert isinstance(two, Done)
    assert hosts(folder) != [host]
    deployment = read_deployment(settings)
    expected = of_one_engine(deployment, [record_of(row) for row in (*first, *second)])
    assert told(merged(parts(one, two))) == told(expected)


def test_what_cannot_be_read_is_an_error_and_the_host_goes_on(client: HostClient) -> None:
    with pytest.raises(SparkError, match="unsupported pickle protocol"):
        client.work(Work("corrupt", None, 0, [b"\x80 no pickle"]))
    again = client.work(work("corrupt", None, rows(1, 2)))
    assert isinstance(again, Done)
    with pytest.raises(
        SparkError,
        match=r"the key .damaged. cannot be read: the checkpoint is damaged: .*another folder",
    ):
        client.work(
            work("damaged", EnginePlace(1, 5, 0), rows(6, 1), rebuild=True, checkpoint=(5, b"torn"))
        )


def test_other_clients_wait_or_are_turned_away(
    client: HostClient, folder: Path, task: HostTask
) -> None:
    address = str(folder / f"{PARTITION}.sock")
    found: list[Done | None] = []

    def next_client() -> None:
        later = HostClient(folder, PARTITION, task)
        found.append(later.work(work("later", None, rows(1, 1))))
        later.close()

    thread = Thread(target=next_client)
    thread.start()
    assert isinstance(client.work(work("slow", None, rows(1, 1))), Done)
    assert not found, "one worker at a time"
    client.close()
    thread.join(60)
    assert isinstance(found[0], Done)
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Client(address, "AF_UNIX", authkey=b"guessed")
    half = Client(address, "AF_UNIX", authkey=task.secret)
    half.send_bytes(b"\x00half a message")
    half.close()
    last = HostClient(folder, PARTITION, task)
    assert isinstance(last.work(work("last", None, rows(1, 1))), Done)
    last.close()
