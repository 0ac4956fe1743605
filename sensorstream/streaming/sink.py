"""What the engines say goes to history: a batch in one transaction, each batch once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING

from sensorstream.history.pipeline import Standings
from sensorstream.history.store import PostgresStore
from sensorstream.journal.effects import merged
from sensorstream.journal.records import Effects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class HistorySink:
    """Writes each batch; runs in the driver.

    A batch is all entries between two numbers, over all keys, so the watermark of the history tells
    whether it is stored: Spark repeats the last batch after a crash, and then nothing is written.
    A batch that begins below the watermark is stored in part already, by the server in another
    mode or by a pipeline whose folder was deleted: the rest of it is written.
    """

    def __init__(self, store: PostgresStore, told: Callable[[int, int], None]) -> None:
        """``told`` gets the number of entries of each batch, and its last entry."""
        self._store = store
        self._told = told

    def __call__(self, frame: DataFrame, _batch: int) -> None:
        """Called by Spark for each batch.

        Raises:
            HistoryError: nothing was written.
        """
        table = frame.toArrow()
        parts: list[Effects] = [
            each
            for content in table.column("effects").to_pylist()
            for each in pickle.loads(content)
        ]
        entries = sum(len(each.statuses) for each in parts)
        stored = self._store.watermark()
        if not parts:
            return
        last = max(each.watermark for each in parts)
        standings = Standings(
            last, [pickle.loads(each) for each in table.column("standing").to_pylist()]
        )
        new = [each for each in parts if each.watermark > stored]
        if new:
            self._store.commit(merged(new), standings)
        else:
            self._store.place(standings)
        self._told(entries, last)
