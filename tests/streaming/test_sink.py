"""A batch is stored once, however often Spark repeats it; its figures name a hot key."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from sensorstream.history.effects_writer import EngineStanding, PositionReader, Writes
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Status
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits
from sensorstream.streaming.batch_figures import BatchFigures
from sensorstream.streaming.spark_stream import HistorySink
from tests.streaming.conftest import START
from tests.streaming.stand_in import frame


def batch(*keys: Sequence[Effects]) -> Any:
    """What some keys have said."""
    said = enumerate(keys)
    told = [(each, EngineStanding(f"={key}", 1, Waits(), 5, 5, len(each))) for key, each in said]
    return frame([{"effects": pickle.dumps(e), "standing": pickle.dumps(s)} for e, s in told])


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
            figures = BatchFigures(database, 2)
            sink: Any = HistorySink(store, lambda *each: told.append(each), figures)
            first = batch([effects(1), effects(4)], [effects(3), effects(2)])
            sink(first, 0)
            sink(first, 0)
            assert store.watermark() == 4
            # The next batch begins below the watermark if the pipeline's folder was deleted.
            sink(batch([effects(3), effects(5)], [effects(4)]), 0)
            sink(batch(), 1)
            assert store.watermark() == 5
        reader = PositionReader(database)
        assert reader.read().lag == 0
        reader.close()
    assert told == [(4, 4), (4, 4), (3, 5)]


def progress(batch: int, *, idle: bool = False) -> StreamingQueryProgress:
    """As much of Spark's report on a batch as is read."""
    operator = {
        "operatorName": "transformWithStateExec",
        **dict.fromkeys(
            (
                "allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs", "numRowsUpdated",
                "numRowsRemoved", "numRowsDroppedByWatermark", "numShufflePartitions",
                "numStateStoreInstances",
            ),
            0,
        ),
        "numRowsTotal": 8,
        "memoryUsedBytes": 8_408,
        "customMetrics": {},
    }  # fmt: skip
    phases = {"triggerExecution": 11} if idle else {"addBatch": 9_542, "triggerExecution": 11_341}
    run = "00000000-0000-0000-0000-000000000001"
    return StreamingQueryProgress.fromJson(
        {
            "id": run, "runId": run, "name": None, "timestamp": "2026-01-01T00:00:00.000Z",
            "batchId": batch, "batchDuration": 11_341, "durationMs": phases, "eventTime": {},
            "stateOperators": [operator], "sources": [], "observedMetrics": {},
            "sink": {"description": "", "numOutputRows": -1, "metrics": {}},
        }
    )  # fmt: skip


def test_a_hot_key_is_named_until_the_keys_are_even(database: str) -> None:
    PostgresStore.open(database, Timeline.INTEGER).close()
    long = "k" * 500
    with closing(BatchFigures(database, 4)) as figures, closing(PositionReader(database)) as reader:
        assert not figures.measure(progress(0)), "nothing is stored yet"
        figures.stored(0, {"": 900, f"={long}": 500, "=few": 400}, {"store": 0.5})
        assert not figures.measure(progress(1)), "the report of another batch"
        assert not figures.measure(progress(0, idle=True))
        assert figures.measure(progress(0))
        batch = reader.read().batch
        assert batch is not None
        assert batch.hot is None, "of a few messages no key has too many"
        assert (batch.entries, batch.keys) == (1_800, 3)
        assert batch.seconds == {"store": 0.5, "addBatch": 9.542, "triggerExecution": 11.341}
        assert (batch.state_rows, batch.state_bytes) == (8, 8_408)
        figures.stored(1, {f"={long}": 300}, {})
        assert figures.measure(progress(1))
        batch = reader.read().batch
        assert batch is not None
        assert (batch.hot, batch.share, batch.skew) == ("k" * 100, 2 / 3, 8 / 3)
        figures.stored(2, {f"={n}": 200 for n in range(8)}, {})
        assert figures.measure(progress(2))
        batch = reader.read().batch
        assert batch is not None
        assert batch.hot is None
