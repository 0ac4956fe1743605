"""A worker that answers with the Spark of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from multiprocessing import Pipe
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from sensorstream.processes.question_messages import QuestionBegun
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.jobs import spark_worker
from sensorstream.spark.jobs.spark_messages import Task
from sensorstream.spark.jobs.spark_worker import JobWorker
from sensorstream.spark.jobs.spark_worker_process import WorkerProcess
from tests.spark.conftest import LINE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ThreadWorker(WorkerProcess):
    """The caller's side of a worker in a thread, whose Spark is that of this process."""

    def __init__(self, task: Task, spark: SparkSession) -> None:
        self.connection, there = Pipe()
        self._numbers = count(1)
        self._ready = False
        there.send(QuestionBegun())
        self._thread = Thread(target=JobWorker(task, there, spark).serve)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def kill(self) -> None:
        """Hang up, which ends the worker."""
        self.connection.close()
        self._thread.join(60)

    def close(self, seconds: float = 0.0) -> None:
        self.kill()


@pytest.fixture
def start(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Task], ThreadWorker]]:
    """Start workers, which look at what they do more often than usual."""
    monkeypatch.setattr(spark_worker, "_LOOK", 0.05)
    for name, value in spark_worker._CONFIGURATION.items():
        spark.conf.set(name, value)
    made: list[ThreadWorker] = []

    def started(task: Task) -> ThreadWorker:
        made.append(ThreadWorker(task, spark))
        return made[-1]

    yield started
    for each in made:
        each.close()
        assert not each.alive
    for name in spark_worker._CONFIGURATION:
        spark.conf.unset(name)


@pytest.fixture
def worker(start: Callable[[Task], ThreadWorker], place: HistoryPlace) -> ThreadWorker:
    return start(Task(place, LINE, SparkSettings("local[2]"), 60.0))
