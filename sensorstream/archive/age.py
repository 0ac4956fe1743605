"""What is older than a length of time."""

from __future__ import annotations

from datetime import datetime

from sensorstream.history.database import one_value, opened
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
    with opened(url, "cannot read the history") as cursor:
        for each in reversed(partitions(cursor)):
            found = one_value(cursor, f'select max(valid_to) from store."{each.name}"')
            if found is not None:
                return int(found)
    return 0
