"""A process that holds the engines of one partition of Spark's state.

Spark runs the tasks of a partition now in this Python worker, now in that, and may end any of
them. So the engines live in a process beside the workers: one for each partition of the state. The
first worker starts it, and every later one finds it by its socket. It may end at any time: what
rebuilds its engines is in Spark's state.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener
from pathlib import Path
from threading import Thread
from typing import Final

from sensorstream.app.collector import spare_what_stays
from sensorstream.app.wiring import Deployment, read_deployment
from sensorstream.clock import SystemClock
from sensorstream.history.journal_rows import JournalRow
from sensorstream.history.store import record_of
from sensorstream.journal.records import Record
from sensorstream.reasoning.ontology import parse_ontology
from sensorstream.streaming.chunk import PROTOCOL, pack, unpack
from sensorstream.streaming.controls import Controls
from sensorstream.streaming.keyed_engine import Kept, KeyedEngine
from sensorstream.streaming.work import Done, Failed, HostTask, Work

_WATCH: Final = 1.0
"""Seconds between two looks whether Spark still runs."""
_MOST_ENGINES: Final = 10_000
"""Engines that are held at a time; those that were used longest ago are rebuilt when needed."""
_MOST_JAVA: Final = 4
"""The same where each has a Java process for its reasoner."""


class EngineHost:
    """The engines of one partition, by key."""

    def __init__(self, deployment: Deployment, url: str) -> None:
        """``url`` is that of the history, where the journal is."""
        settings = deployment.settings
        self._deployment = deployment
        self._every = max(1, settings.history.checkpoint_every)
        self._controls = Controls(url)
        self._counter = SystemClock().counter
        self._engines: OrderedDict[str, KeyedEngine] = OrderedDict()
        java = settings.reasoning.profile in ("hermit", "pellet")
        self._most = _MOST_JAVA if java else _MOST_ENGINES

    def work(self, work: Work) -> Done | None:
        """Do it; None: the state of the key's engine is needed."""
        records = _records(work.chunks)
        records.sort(key=lambda each: each.seq)

        self._controls.know(work.controls)
        engine = self._engines.pop(work.key, None)
        if engine is not None and engine.place != work.place:
            # Its last work was not committed, or was done elsewhere.
            engine.close()
            engine = None
        if engine is None:
            if work.place is not None and not work.rebuild:
                return None
            first = records[0].seq if work.place is None else work.place.first
            engine = KeyedEngine(self._deployment, self._counter, first)
            if work.place is not None:
                since = Kept(work.checkpoint, _records(work.kept))
                engine.rebuild(work.place, since, self._controls)
        effects, entries = engine.take(records, self._controls, work.controls)
        standing = engine.standing(work.key, records)
        checkpoint = engine.checkpoint() if engine.place.since >= self._every else None
        self._engines[work.key] = engine
        if len(self._engines) > self._most:
            self._engines.popitem(last=False)[1].close()
        told = pickle.dumps(effects, PROTOCOL)
        kept = pack([_row(each) for each in entries])
        return Done(engine.place, told, kept, checkpoint, standing)

    def close(self) -> None:
        """Stop the reasoners."""
        for engine in self._engines.values():
            engine.close()


def _records(chunks: Sequence[bytes]) -> list[Record]:
    return [record_of(row) for chunk in chunks for row in unpack(chunk)]


def _row(record: Record) -> JournalRow:
    message, status = record.message, record.status
    return (
        record.seq,
        message.id,
        message.source,
        record.received_at,
        message.received,
        message.content,
        None if status is None else status.value,
        record.kind,
        record.degraded,
        record.origin,
    )


def deployment_of(task: HostTask) -> Deployment:
    """The deployment, with the ontology that was put in force.

    Raises:
        SensorStreamError: a file of the deployment is not valid on this machine.
    """
    ontology = None if task.ontology is None else parse_ontology(*task.ontology)
    return read_deployment(task.settings, ontology)


def serve(address: str, task: HostTask) -> None:
    """Do the work that comes over the socket; one worker at a time, until Spark has ended."""
    host: EngineHost | None = None
    with Listener(address, "AF_UNIX", authkey=task.secret) as listener:
        while True:
            try:
                with listener.accept() as connection:
                    while True:
                        said = connection.recv_bytes()
                        try:
                            work: Work = pickle.loads(said)
                            if host is None:
                                host = EngineHost(deployment_of(task), task.url)
                                spare_what_stays()
                            answer: Done | Failed | None = host.work(work)
                        except Exception as error:
                            answer = Failed(f"{type(error).__name__}: {error}")
                        connection.send(answer)
            except (AuthenticationError, EOFError, OSError):
                """The worker has gone; another one will come."""


def _watch(folder: Path, leader: int) -> None:
    """End this process when the query has ended: its folder is gone, or Spark's own process."""
    while folder.is_dir():
        try:
            os.kill(leader, 0)
        except ProcessLookupError:
            break
        time.sleep(_WATCH)
    os._exit(0)


def main() -> None:
    """``python -m sensorstream.streaming.engine_host SOCKET``; the task comes on stdin."""
    address = sys.argv[1]
    task: HostTask = pickle.load(sys.stdin.buffer)
    Thread(target=_watch, args=(Path(address).parent, os.getpgrp()), daemon=True).start()
    serve(address, task)


if __name__ == "__main__":
    main()
