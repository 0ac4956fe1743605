"""The processes that hold the engines: one for each partition of Spark's state.

Spark runs the tasks of a partition in changing Python workers, and may end any of them. So the
engines live in processes beside the workers: a host for each partition of the state, which every
worker finds by its socket. All hosts on a machine are forks of one process that has read the
deployment. Any of them may end at any time: Spark's state has all that rebuilds its engines.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
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
from sensorstream.streaming.deadly_entries import DeadlyEntries
from sensorstream.streaming.keyed_engine import Controls, KeyedEngine
from sensorstream.streaming.worker_messages import (
    PROTOCOL,
    Done,
    HostTask,
    Work,
    accepted,
    installed_versions,
    listening_at,
    pack,
    unpack,
)

_WATCH: Final = 1.0
"""Seconds between two looks whether Spark still runs."""
_MOST_STATEMENTS: Final = 500_000
"""Statements that the engines of a host hold, half a gigabyte; those used longest ago make room."""
_MOST_JAVA: Final = 4
"""Engines that are held where each has a Java process for its reasoner."""
_FEW: Final = 100
"""Entries that an engine may process again at each rebuilding."""


class EngineHost:
    """The engines of one partition, by key."""

    def __init__(
        self, deployment: Deployment, url: str, upto: int = 0, deadly: DeadlyEntries | None = None
    ) -> None:
        """``deployment`` is in force after the entry ``upto`` of the journal, which is in the
        history at ``url``.
        """
        self._deadly = deadly
        settings = deployment.settings
        self._deployment = deployment
        self._every = max(1, settings.history.checkpoint_every)
        self._controls = Controls(url)
        self._controls.begin(deployment, upto)
        self._counter = SystemClock().counter
        self._engines: OrderedDict[str, KeyedEngine] = OrderedDict()
        self._statements = 0
        java = settings.reasoning.profile in ("hermit", "pellet")
        self._most = _MOST_JAVA if java else None

    def work(self, work: Work) -> Done | None:
        """Do a piece of work; None: the state of the key's engine is needed."""
        records = sorted(_records(work.chunks), key=lambda each: each.seq)
        self._controls.know(work.controls)
        engine = self._release(work.key)
        rebuilt = False
        if engine is not None and engine.place != work.place:
            # Its last work was not committed, or was done elsewhere.
            engine.close()
            engine = None
        if engine is None:
            if work.place is not None and not work.rebuild:
                return None
            first = records[0].seq if work.place is None else work.place.first
            begun = first - 1 if work.checkpoint is None else work.checkpoint[0]
            deployment = self._controls.in_force(self._deployment, begun)
            engine = KeyedEngine(deployment, self._counter, first, work.key, self._deadly)
            rebuilt = work.place is not None
            if work.place is not None:
                kept = _records(work.kept)
                try:
                    engine.rebuild(work.place, work.checkpoint, kept, self._controls)
                except DamagedCheckpoint as error:
                    raise SparkError(
                        f"pipeline.folder: the engine of the key '{work.key}' cannot be read: "
                        f"{error}. Start the version of SensorStream that wrote it, or give "
                        "another folder (the journal is then processed again from its beginning)"
                    ) from error
        effects, entries = engine.take(records, self._controls, work.controls)
        standing = engine.standing(records)
        # An engine that changes places with others is soon rebuilt again.
        due = min(self._every, _FEW) if rebuilt else self._every
        if engine.skipped:
            # One that waited for its turn is in the state before, and would wait again.
            due = 0
        checkpoint = engine.checkpoint() if engine.place.since >= due else None
        self._hold(work.key, engine)
        told = pickle.dumps(effects, PROTOCOL)
        packed = pack(list(map(row_of, entries))) if entries else b""
        return Done(engine.place, told, packed, checkpoint, standing)

    def _hold(self, key: str, engine: KeyedEngine) -> None:
        """Keep an engine for its next work, if need be in the place of others."""
        self._engines[key] = engine
        self._statements += engine.size
        while len(self._engines) > 1 and (
            self._statements > _MOST_STATEMENTS
            or (self._most is not None and len(self._engines) > self._most)
        ):
            oldest = self._release(next(iter(self._engines)))
            assert oldest is not None, "the key is there"
            oldest.close()

    def _release(self, key: str) -> KeyedEngine | None:
        """The engine that is held for a key; None: there is none."""
        engine = self._engines.pop(key, None)
        if engine is not None:
            self._statements -= engine.size
        return engine

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()


def _records(chunks: Sequence[bytes]) -> list[Record]:
    return [record_of(row) for chunk in filter(None, chunks) for row in unpack(chunk)]


def deployment_of(task: HostTask) -> Deployment:
    """The deployment of a task.

    Raises:
        SensorStreamError: a file of the deployment is not valid, or versions differ.
    """
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
