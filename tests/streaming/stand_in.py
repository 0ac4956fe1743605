"""What Spark does for a pipeline, without Spark: batches of the journal, engines by key, a sink."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from sensorstream.app.control.wiring import Deployment
from sensorstream.history.effects_writer import Writes
from sensorstream.history.store import PostgresStore
from sensorstream.streaming.batch_figures import BatchFigures
from sensorstream.streaming.engine_host import EngineHost
from sensorstream.streaming.journal_source import JournalReader
from sensorstream.streaming.spark_stream import HistorySink
from sensorstream.streaming.worker_messages import Done, EnginePlace, Work

State = tuple[EnginePlace, tuple[int, bytes] | None, list[bytes]]


class StandIn:
    """A pipeline over a history; :meth:`batch` does the next batch."""

    def __init__(self, deployment: Deployment, url: str, store: PostgresStore) -> None:
        self._deployment, self._url = deployment, url
        options = {"url": url, "key": "source", "prefixes": pickle.dumps({}).hex()}
        self._reader = JournalReader(options | {"depth": "64", "batch": "1000", "parts": "2"})
        self._figures = BatchFigures(url, 2)
        self._sink: Any = HistorySink(store, lambda *_: None, self._figures)
        self.offset = self._reader.initialOffset()
        self.state: dict[str, State] = {}
        self.host = EngineHost(deployment, url)

    def lose_engines(self) -> None:
        """The process of the engines ends, and another begins."""
        self.host.close()
        self.host = EngineHost(self._deployment, self._url)

    def batch(self, *, commit: bool = True) -> list[str]:
        """Do a batch, and return its keys; without ``commit``, Spark forgets that it has stored."""
        end = self._reader.latestOffset(self.offset, self._reader.getDefaultReadLimit())
        if end == self.offset:
            return []
        rows: dict[str, list[dict[str, Any]]] = {}
        for part in self._reader.partitions(self.offset, end):
            for table in self._reader.read(part):
                for row in table.to_pylist():
                    rows.setdefault(row["key"], []).append(row)
        state = dict(self.state)
        done = {key: self._work(key, given, state) for key, given in rows.items()}
        found = {key: each for key, each in done.items() if each is not None}
        columns = {
            "effects": [each.effects for each in found.values()],
            "standing": [pickle.dumps(each.standing) for each in found.values()],
        }
        arrow = pa.table({name: pa.array(each, pa.binary()) for name, each in columns.items()})
        self._sink(SimpleNamespace(toArrow=lambda: arrow), 0)
        if commit:
            self.offset, self.state = end, state
        return sorted(found)

    def _work(self, key: str, rows: list[dict[str, Any]], state: dict[str, State]) -> Done | None:
        known = state.get(key)
        if known is None and not any(row["first"] for row in rows):
            return None
        place, checkpoint, kept = known or (None, None, [])
        controls = max(row["controls"] for row in rows)
        done = self.host.work(Work(key, place, controls, [row["entries"] for row in rows]))
        if done is None:
            again = Work(key, place, controls, [r["entries"] for r in rows], True, checkpoint, kept)
            done = self.host.work(again)
        assert done is not None
        if done.checkpoint is not None:
            state[key] = done.place, (done.place.last, done.checkpoint), []
        else:
            state[key] = done.place, checkpoint, [*kept, *filter(None, [done.entries])]
        return done

    def close(self) -> None:
        self.host.close()
        self._figures.close()


@contextmanager
def standing_in(deployment: Deployment, url: str) -> Iterator[StandIn]:
    """A pipeline that does a batch when it is told to."""
    with (
        PostgresStore.open(url, deployment.timeline, Writes.EFFECTS) as store,
        closing(StandIn(deployment, url, store)) as found,
    ):
        yield found


@contextmanager
def running(deployment: Deployment, url: str) -> Iterator[StandIn]:
    """A pipeline that does one batch after the other in a thread."""
    ended = Event()

    with standing_in(deployment, url) as found:

        def run() -> None:
            while not ended.wait(0.02):
                found.batch()

        thread = Thread(target=run)
        thread.start()
        try:
            yield found
        finally:
            ended.set()
            thread.join()
