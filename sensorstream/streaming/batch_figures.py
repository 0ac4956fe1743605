"""The figures of the last batch, which the server shows: Spark's own, and the load of each key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sensorstream.history.database import OwnConnection
from sensorstream.history.effects_writer import BatchProgress, store_progress
from sensorstream.journal.key_routing import CONTROL

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

_ENOUGH: Final = 1_000
"""Messages after which the busiest key is found anew; in a few, one key is always alone."""
_LONGEST: Final = 100
"""Characters of a key that are shown: it comes from messages."""


class BatchFigures:
    """The figures of the last batch. :meth:`stored` is called in a thread of Spark's, the rest in
    another.
    """

    def __init__(self, url: str, tasks: int) -> None:
        """``tasks`` may work at a time."""
        self._history = OwnConnection(lambda: url, "sensorstream progress")
        self._tasks = tasks
        self._loads: Counter[str] = Counter()
        self._busiest = ("", 0.0)
        self._last: tuple[int, int, int, Mapping[str, float]] | None = None
        self._known: int | None = None

    def stored(self, batch: int, loads: Mapping[str, int], seconds: Mapping[str, float]) -> None:
        """Note a batch that is stored: the entries of each key, and the time of its phases."""
        self._loads.update({key: count for key, count in loads.items() if key != CONTROL})
        total = self._loads.total()
        if total >= _ENOUGH:
            ((key, most),) = self._loads.most_common(1)
            self._busiest = (key.removeprefix("=")[:_LONGEST], most / total)
            self._loads.clear()
        self._last = (batch, sum(loads.values()), len(loads), seconds)

    def tell(self, query: StreamingQuery) -> None:
        """Store the figures of the last batch, unless they are; raises HistoryError."""
        if self._last is None or self._last[0] == self._known:
            return
        progress = query.lastProgress
        if progress is not None and self.measure(progress):
            self._known = progress.batchId

    def measure(self, progress: StreamingQueryProgress) -> bool:
        """Store the figures of a batch; False if it is not the one that was stored last."""
        last = self._last
        if last is None or progress.batchId != last[0] or "addBatch" not in progress.durationMs:
            return False
        parts = max((each.numShufflePartitions for each in progress.stateOperators), default=0)
        spark = {name: ms / 1000 for name, ms in progress.durationMs.items()}
        told = BatchProgress(
            last[1],
            last[2],
            {**last[3], **spark},
            sum(each.numRowsTotal for each in progress.stateOperators),
            sum(each.memoryUsedBytes for each in progress.stateOperators),
            *self._busiest,
            min(self._tasks, parts or self._tasks),
        )
        with self._history.cursor("cannot store the figures of a batch") as cursor:
            store_progress(cursor, told)
        return True

    def close(self) -> None:
        self._history.close()
