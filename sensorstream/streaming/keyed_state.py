"""The stateful operator: a key's entries go to its engine, and Spark keeps what rebuilds it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

# PySpark imports it late, in a worker, where its absence is reported as "str() failed".
import google.protobuf  # noqa: F401
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from sensorstream.streaming.host_client import HostClient
from sensorstream.streaming.worker_messages import PROTOCOL, EnginePlace, HostTask, Work

OUTPUT: Final = "key string, effects binary, standing binary"


class KeyedState(StatefulProcessor):  # type: ignore[misc]
    """The state of a key: its place, the last checkpoint of its engine, and the entries since. A
    batch appends its entries to the list; now and then a checkpoint replaces the list.
    """

    def __init__(self, folder: str, task: HostTask) -> None:
        """``folder`` is for the sockets of the hosts."""
        self._folder = folder
        self._task = task
        self._client: HostClient | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called by Spark in each task."""
        self._place = handle.getValueState("place", "first bigint, last bigint, since bigint")
        self._checkpoint = handle.getValueState("checkpoint", "last bigint, state binary")
        self._entries = handle.getListState("entries", "entries binary")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Work on a key that has entries in the batch; called by Spark for each."""
        client = self._host()
        (name,) = key
        given = list(rows)
        chunks = [bytes(each.entries) for each in given]
        controls = max(each.controls for each in given)
        found = self._place.get()
        if found is None and not any(each.first for each in given):
            return
        place = None if found is None else EnginePlace(*found)
        work = Work(name, place, controls, chunks)
        done = client.work(work)
        if done is None:
            last, state = self._checkpoint.get() or (0, None)
            checkpoint = None if state is None else (last, bytes(state))
            kept = [bytes(each) for (each,) in self._entries.get()]
            done = client.work(replace(work, rebuild=True, checkpoint=checkpoint, kept=kept))
        assert done is not None, "it was given all that it may ask for"
        if done.checkpoint is not None:
            self._checkpoint.update((done.place.last, done.checkpoint))
            self._entries.clear()
        elif done.entries:
            self._entries.appendValue((done.entries,))
        self._place.update((done.place.first, done.place.last, done.place.since))
        standing = pickle.dumps(done.standing, PROTOCOL)
        yield Row(key=name, effects=done.effects, standing=standing)

    def close(self) -> None:
        """Close the connection; called by Spark at the end of each task."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _host(self) -> HostClient:
        if self._client is None:
            task = TaskContext.get()
            assert task is not None, "Spark calls this in a task"
            self._client = HostClient(Path(self._folder), task.partitionId(), self._task)
        return self._client
