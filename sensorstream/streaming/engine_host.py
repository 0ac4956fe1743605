"""The processes that hold the engines: one for each partition of Spark's state.

Spark runs the tasks of a partition in changing Python workers, and may end any of them. So the
engines live in processes beside the workers: a host for each partition of the state, which every
worker finds by its socket. All hosts on a machine are forks of one process that has read the
deployment. Any of them may end at any time: Spark's state has all that rebuilds its engines.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import traceback
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path
from socket import gethostname, socket
from typing import Final, NoReturn

from sensorstream.app.control.wiring import Deployment, read_deployment, unpacked
from sensorstream.app.life.in_work import Watchdog
from sensorstream.app.life.process_memory import spare_what_stays
from sensorstream.clock import SystemClock
from sensorstream.errors import DamagedCheckpoint, SensorStreamError, SparkError
from sensorstream.history.journal_rows import record_of, row_of
from sensorstream.journal.records import Record
from sensorstream.processes.own_folders import lock_folder
from sensorstream.processes.question_messages import Failed
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.streaming.deadly_entries import DeadlyEntries
from sensorstream.streaming.keyed_engine import Controls, KeyedEngine
from sensorstream.streaming.worker_messages import (
    PROTOCOL,
    Done,
    EnginePlace,
    HostTask,
    Work,
    accepted,
    installed_versions,
    listening_at,
)

_WATCH: Final = 1.0
"""Seconds between two looks whether Spark still runs."""
_MOST_STATEMENTS: Final = 500_000
"""Statements that a host's engines hold awake, half a gigabyte; those used longest ago sleep."""
_MOST_ASLEEP: Final = 500_000_000
"""Bytes of the states of engines that sleep."""
_GONE: Final = 100
"""Engines that went to sleep, at least, between two collections of what they have left."""


class EngineHost:
    """The engines of one partition, by key."""

    def __init__(
        self, deployment: Deployment, url: str, upto: int = 0, deadly: DeadlyEntries | None = None
    ) -> None:
        """``deployment`` is in force after the entry ``upto`` of the journal at ``url``."""
        self._deadly = deadly
        self._workers: dict[bytes, Worker] = {}
        stages = (
            replace(each, deployment=replace(each.deployment, workers=self._workers))
            for each in deployment.stages
        )
        deployment = replace(deployment, workers=self._workers, stages=tuple(stages))
        self._deployment = deployment
        self._every = max(1, deployment.settings.history.checkpoint_every)
        self._controls = Controls(url)
        self._controls.begin(deployment, upto)
        self._counter = SystemClock().counter
        self._engines: OrderedDict[str, KeyedEngine] = OrderedDict()
        self._statements = 0
        # The places and states of others, which no process but this one has at these places.
        self._asleep: OrderedDict[str, tuple[EnginePlace, bytes]] = OrderedDict()
        self._bytes = 0
        self._gone = 0

    def work(self, work: Work) -> Done | None:
        """Do a piece of work; None: the state of the key's engine is needed."""
        records = sorted(_records(work.chunks), key=lambda each: each.seq)
        self._controls.know(work.controls)
        engine = self._awake(work)
        if engine is None:
            if work.place is not None and not work.rebuild:
                return None
            first = records[0].seq if work.place is None else work.place.first
            engine = self._made(work, first, _records(work.kept))
        effects, entries = engine.take(records, self._controls, work.controls)
        standing = engine.standing(records)
        # A skipped one that waited for its turn is in the state before, and would wait again.
        due = engine.skipped or engine.place.since >= self._every
        checkpoint = engine.checkpoint() if due else None
        self._hold(work.key, engine)
        told = pickle.dumps(effects, PROTOCOL)
        packed = pickle.dumps(list(map(row_of, entries)), PROTOCOL) if entries else b""
        return Done(engine.place, told, packed, checkpoint, standing)

    def _awake(self, work: Work) -> KeyedEngine | None:
        """The engine of a key, woken if it sleeps; None: it is not here in the state of the work,
        since its last work was not committed, or was done elsewhere.
        """
        engine = self._release(work.key)
        if engine is not None:
            if engine.place == work.place:
                return engine
            engine.close()
        place, state = self._asleep.pop(work.key, (None, b""))
        self._bytes -= len(state)
        if place is None or place != work.place:
            return None
        return self._made(replace(work, checkpoint=(place.last, state)), place.first)

    def _made(self, work: Work, first: int, kept: Sequence[Record] = ()) -> KeyedEngine:
        """Make the engine of a key: a new one, or brought to its place."""
        begun = first - 1 if work.checkpoint is None else work.checkpoint[0]
        deployment = self._controls.in_force(self._deployment, begun)
        engine = KeyedEngine(deployment, self._counter, first, work.key, self._deadly)
        if work.place is not None:
            try:
                engine.rebuild(work.place, work.checkpoint, kept, self._controls)
            except DamagedCheckpoint as error:
                raise SparkError(
                    f"pipeline.folder: the engine of the key '{work.key}' cannot be read: "
                    f"{error}. Start the version of SensorStream that wrote it, or give "
                    "another folder (the journal is then processed again from its beginning)"
                ) from error
        return engine

    def _hold(self, key: str, engine: KeyedEngine) -> None:
        """Keep an engine for its next work; if need be, those used longest ago fall asleep."""
        self._engines[key] = engine
        self._statements += engine.size
        while len(self._engines) > 1 and self._statements > _MOST_STATEMENTS:
            self.lay_down(next(iter(self._engines)))

    def lay_down(self, key: str) -> None:
        """Keep the engine of a key, which is awake, as bytes; those asleep for longest may go."""
        engine = self._release(key)
        assert engine is not None, "the key is there"
        self._asleep[key] = engine.place, (state := engine.asleep())
        engine.close()
        self._bytes += len(state)
        # They are full of circles, which Python's own collection frees after thousands of engines.
        self._gone += 1
        if self._gone > max(_GONE, len(self._engines) // 3):
            gc.collect()
            self._gone = 0
        while self._bytes > _MOST_ASLEEP:
            _, (_, state) = self._asleep.popitem(last=False)
            self._bytes -= len(state)

    def _release(self, key: str) -> KeyedEngine | None:
        """The engine that is held awake for a key; None: there is none."""
        engine = self._engines.pop(key, None)
        if engine is not None:
            self._statements -= engine.size
        return engine

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        for worker in self._workers.values():
            worker.close()


def _records(chunks: Sequence[bytes]) -> list[Record]:
    return [record_of(row) for chunk in filter(None, chunks) for row in pickle.loads(chunk)]


def deployment_of(task: HostTask) -> Deployment:
    """The deployment of a task; raises SensorStreamError: a file is not valid, versions differ."""
    for name, here in installed_versions().items():
        if here != (expected := task.versions[name]):
            raise SparkError(
                f"the worker {gethostname()} has {name} {here}, expected {expected} as where the "
                "pipeline was started: install the same there (spark.pyspark.python names another "
                "Python)"
            )
    return unpacked(task.shipped) if task.shipped else read_deployment(task.settings)


def serve(listening: socket, task: HostTask, deployment: Deployment, deadly: DeadlyEntries) -> None:
    """Do the work that comes over the socket; one worker at a time."""
    host = EngineHost(deployment, task.url, task.upto, deadly)
    while True:
        try:
            with accepted(listening, task.secret) as connection:
                while True:
                    said = connection.recv_bytes()
                    try:
                        work: Work = pickle.loads(said)
                        answer: Done | Failed | None = host.work(work)
                    except Exception as error:
                        if deadly.in_work.now and not isinstance(error, SensorStreamError):
                            # A fault of the program counts as a death at this entry.
                            traceback.print_exc()
                            os._exit(1)
                        deadly.in_work.end()
                        answer = _failed(error)
                    connection.send(answer)
        except (AuthenticationError, EOFError, OSError):
            """The worker has gone; another one will come."""


def serve_partitions(listening: socket, folder: Path, task: HostTask, leader: int) -> None:
    """Read the deployment once, and fork a host for each partition that is asked for. So the hosts
    share the time and the memory that the deployment costs. The answer to the number of a partition
    is None when its socket is in the folder, or why there is none.
    """
    _watch(folder, leader)
    refused: Failed | None = None
    try:
        deployment = deployment_of(task)
        spare_what_stays()
    except Exception as error:
        refused = _failed(error)
    # Nobody waits for the hosts.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            with accepted(listening, task.secret) as connection:
                partition: int = connection.recv()
                if refused is None:
                    with listening_at(folder / f"{partition}.sock") as own:
                        if os.fork() == 0:
                            connection.close()
                            listening.close()
                            _be_host(own, folder, partition, task, deployment, leader)
                connection.send(refused)
        except (AuthenticationError, EOFError, OSError):
            """The worker has gone, or has to ask again."""


def _be_host(
    listening: socket,
    folder: Path,
    partition: int,
    task: HostTask,
    deployment: Deployment,
    leader: int,
) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _watch(folder, leader)
        deadly = DeadlyEntries.count(folder, partition)
        with Watchdog(deadly.in_work, task.settings.limits.entry_seconds):
            serve(listening, task, deployment, deadly)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _failed(error: Exception) -> Failed:
    if isinstance(error, SparkError):
        return Failed(error)
    return Failed(SparkError(f"{type(error).__name__}: {error}"))


def _watch(folder: Path, leader: int) -> None:
    """End this process when the query has ended: its folder is gone, or Spark's own process. Timers
    are set in each fork anew, since a fork inherits none.
    """

    def look(_number: int, _frame: object) -> None:
        try:
            os.kill(leader, 0)
        except ProcessLookupError:
            os._exit(0)
        if not folder.is_dir():
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _WATCH, _WATCH)


def main() -> None:
    """Run ``python -m sensorstream.streaming.engine_host FOLDER SOCKET LEADER``. ``SOCKET`` is the
    number of the open file, ``LEADER`` the process whose end ends this one. The task comes on
    stdin.
    """
    # Ctrl-C goes to all processes of a terminal; the command ends these when its batch is stored.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    folder, listening, leader = Path(sys.argv[1]), socket(fileno=int(sys.argv[2])), sys.argv[3]
    task: HostTask = pickle.load(sys.stdin.buffer)
    # On a machine where Spark itself does not run, whose command has locked it there.
    with suppress(BlockingIOError):
        lock_folder(folder)
    serve_partitions(listening, folder, task, int(leader))


if __name__ == "__main__":
    main()
