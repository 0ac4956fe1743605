"""The processes of the engines, as Spark's workers find them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path

import pytest

from sensorstream.errors import SparkError
from sensorstream.processes.own_folders import own_folder
from sensorstream.settings.settings import Settings
from sensorstream.streaming.engine_host import deployment_of
from sensorstream.streaming.host_client import HostClient, start_hosts
from sensorstream.streaming.worker_messages import Done, HostTask, Work
from tests.streaming.conftest import hosts, serving
from tests.streaming.stand_in import message
from tests.waiting import eventually

PATIENCE = 300


def messages(client: HostClient, key: str, count: int) -> Done | None:
    """The first messages of a key, done by its host."""
    rows = [message(n, key, n, [(1, 80)]) for n in range(1, count + 1)]
    return client.work(Work(key, None, 0, [pickle.dumps(rows)]))


def test_hosts_are_forks_of_one_process_that_is_started_again_when_it_has_ended(
    settings: Settings, folder: Path
) -> None:
    task = HostTask(settings, "", b"secret")
    start_hosts(folder, task, os.getpid())
    with closing(HostClient(folder, 0, task)) as first, closing(HostClient(folder, 1, task)) as two:
        assert isinstance(messages(first, "north", 3), Done)
        assert isinstance(messages(two, "south", 3), Done)
        (parent,) = {*serving(folder)} - {*hosts(folder)}
        assert len(parent.children()) == 2
        parent.kill()
        # The hosts that are there go on.
        assert isinstance(messages(first, "north", 4), Done)
    with closing(HostClient(folder, 2, task)) as third:
        assert isinstance(messages(third, "east", 3), Done)
    for each in serving(folder):
        each.kill()
    with closing(HostClient(folder, 0, task)) as again:
        assert isinstance(messages(again, "north", 3), Done)
    folder.rename(folder.with_suffix(".gone"))
    try:
        eventually(lambda: not serving(folder), PATIENCE)
    finally:
        folder.with_suffix(".gone").rename(folder)


def test_hosts_end_with_the_process_that_leads_them(settings: Settings, folder: Path) -> None:
    task = HostTask(settings, "", b"secret")
    leader = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start_hosts(folder, task, leader.pid)
    HostClient(folder, 0, task).close()
    assert len(serving(folder)) == 2
    leader.send_signal(signal.SIGKILL)
    leader.wait()
    assert leader.stdin is not None
    leader.stdin.close()
    eventually(lambda: not serving(folder), PATIENCE)


def test_a_folder_on_a_workers_machine_stays_as_long_as_there_are_hosts(
    settings: Settings, folder: Path
) -> None:
    task, used = HostTask(settings, "", b"secret"), folder / "used-1"
    with closing(HostClient(used, 0, task)) as client:
        with own_folder("used-", folder):
            assert isinstance(messages(client, "north", 3), Done)
            assert used.exists()
        for each in serving(used):
            each.kill()
        eventually(lambda: not serving(used), PATIENCE)

    def is_removed() -> bool:
        with own_folder("used-", folder):
            return not used.exists()

    # What the hosts had started has their files open until it has ended, too.
    eventually(is_removed)


def test_a_deployment_that_is_not_valid_is_told(settings: Settings, folder: Path) -> None:
    absent = replace(settings.ontology, files=(folder / "absent.ttl",))
    task = HostTask(replace(settings, ontology=absent), "", b"secret")
    with pytest.raises(SparkError, match=r"does not start: .*absent\.ttl"):
        HostClient(folder, 0, task)
    for each in serving(folder):
        each.kill()


def test_other_versions_than_where_the_pipeline_was_started_are_told(settings: Settings) -> None:
    task = HostTask(settings, "", b"secret")
    other = replace(task, versions={**task.versions, "pyspark": "4.2.0"})
    with pytest.raises(SparkError, match=r"worker \S+ has pyspark \S+, expected 4\.2\.0 as where"):
        deployment_of(other)


def test_a_stranger_is_not_served(settings: Settings, folder: Path) -> None:
    task = HostTask(settings, "", b"secret")
    HostClient(folder, 0, task).close()
    with pytest.raises(AuthenticationError):
        HostClient(folder, 0, replace(task, secret=b"guessed"))
    with closing(HostClient(folder, 0, task)) as client:
        assert isinstance(messages(client, "north", 1), Done)
