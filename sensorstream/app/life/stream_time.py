"""The time of a stream whose engines run on Spark: when it is told to all of them, and which."""

from __future__ import annotations

import logging

from sensorstream.errors import HistoryError
from sensorstream.history.database import OwnConnection
from sensorstream.journal.message import PassTime
from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits

_LOG = logging.getLogger(__name__)
_QUERY = """
    select p.moved, p.moved_at, g.watermark,
        (select coalesce(max(seq), 0) from store.messages),
        exists (
            select from store.messages where seq > g.watermark and kind <> 'message' and kind = %s
        ),
        (select min(received) from store.engines where "until" is null and received is not null),
        (select min(moved) from store.engines where "until" is null and moved is not null),
        (select min(present) from store.engines where "until" is null and present is not null)
    from store.pipeline p cross join store.progress g
"""


class StreamTime(OwnConnection):
    """Reads how far the stream's time has come, and what the engines wait for.

    Application time is what messages have brought to any engine. While all of them are silent and
    nothing waits to be processed, it goes on with the clock, for continuous queries alone
    (decision 010). Owned by one thread.
    """

    def __init__(self, url: str, since: Instant) -> None:
        """``since``: the time of arrival before which silence says nothing."""
        super().__init__(lambda: url, "sensorstream time")
        self._since = since

    def due(self, now: Instant) -> PassTime | None:
        """What is to be told to the engines at a time of arrival; None: nothing waits for it.

        One entry waits until the engines have had the one before. While the history cannot be
        read, nothing is due.
        """
        try:
            return self._due(now)
        except HistoryError as error:
            _LOG.warning("the history is unavailable, time stands still: %s", error)
            return None

    def _due(self, now: Instant) -> PassTime | None:
        with self.cursor("cannot read what the engines wait for") as cursor:
            cursor.execute(_QUERY, (PassTime.kind,))
            row = cursor.fetchone()
        if row is None or row[0] is None:
            return None
        moved, moved_at, watermark, last, told, *waits = row
        if told:
            return None
        present = moved
        if watermark == last and moved_at is not None:
            present += max(0, now - max(moved_at, self._since))
        return PassTime(moved, present) if Waits(*waits).over(now, moved, present) else None
