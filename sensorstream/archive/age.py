"""What is older than a length of time."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime

from sensorstream.history.database import connect, translating
from sensorstream.history.partitions import partitions
from sensorstream.model.timeline import Instant, Timeline


def instant_ago(url: str, length: int, timeline: Timeline, now: datetime) -> Instant:
    """The instant that lies a length of the time line back.

    On the dateTime line it counts back from ``now``. Whole numbers need not be seconds of any
    clock: on the integer line it counts back from the latest end of a statement in history.

    Raises:
        HistoryError: the database cannot be read.
    """
    if timeline is Timeline.DATETIME:
        return timeline.of(now) - length
    return _latest_end(url) - length


def _latest_end(url: str) -> Instant:
    with (
        translating("cannot read the history"),
        closing(connect(url)) as connection,
        connection.cursor() as cursor,
    ):
        for each in reversed(partitions(cursor)):
            cursor.execute(f'select max(valid_to) from store."{each.name}"')
            row = cursor.fetchone()
            if row is not None and row[0] is not None:
                return int(row[0])
    return 0
