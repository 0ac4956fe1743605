"""A batch is stored once, however often Spark repeats it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sensorstream.history.effects_writer import EngineStanding, PositionReader, Writes
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Status
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits
from sensorstream.streaming.spark_stream import HistorySink
from tests.streaming.conftest import START


class Frame:
    """As much of a data frame as the sink uses."""

    def __init__(self, *rows: Sequence[Effects]) -> None:
        self._rows = [pickle.dumps(list(each)) for each in rows]

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        keys = range(len(self._rows))
        said = [pickle.dumps(EngineStanding(f"={key}", 1, Waits(), 5, 5)) for key in keys]
        columns = {"effects": self._rows, "standing": said}
        return pa.table({name: pa.array(each, pa.binary()) for name, each in columns.items()})


def effects(seq: int) -> Effects:
    """One entry was accepted, and raised an alert."""
    alert = Alert(f"m{seq}-1", "r", "rule", "info", "text", "key", seq, f"m{seq}")
    return Effects(seq, (), (), (alert,), (MessageStatus(seq, Status.ACCEPTED),), START)


def test_keys_are_stored_together_and_a_repetition_stores_nothing(
    database: str, record: Callable[..., Record]
) -> None:
    told: list[tuple[int, int]] = []
    with PostgresStore.open(database, Timeline.INTEGER, Writes.JOURNAL) as journal:
        journal.append([record(n, b"<a/>") for n in range(1, 6)])
        with PostgresStore.open(database, Timeline.INTEGER, Writes.EFFECTS) as store:
            sink: Any = HistorySink(store, lambda *each: told.append(each))
            first = Frame([effects(1), effects(4)], [effects(3), effects(2)])
            sink(first, 0)
            sink(first, 0)
            assert store.watermark() == 4
            # The next batch begins below the watermark if the pipeline's folder was deleted.
            sink(Frame([effects(3), effects(5)], [effects(4)]), 0)
            sink(Frame(), 1)
            assert store.watermark() == 5
        reader = PositionReader(database)
        assert reader.read().lag == 0
        reader.close()
    assert told == [(4, 4), (4, 4), (3, 5)]
