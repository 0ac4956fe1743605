"""The names of the archive's parts."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sensorstream.history.partitions import FIRST, Partition
from sensorstream.model.timeline import Instant, Timeline

_DAY: Final = timedelta(days=1) // timedelta(microseconds=1)


def name_of(partition: Partition, timeline: Timeline) -> str:
    """The day of a partition's statements, or both ends of its span: ``2014-08-01_2014-08-05``.

    On the integer line the two ends: ``0_65536``. Without a beginning: ``first_2014-08-01``.
    """
    low, high = partition.low, partition.high
    if low % _DAY == 0 and high - low == _DAY and timeline is Timeline.DATETIME:
        return _told(low, timeline)
    return f"{'first' if low == FIRST else _told(low, timeline)}_{_told(high, timeline)}"


def _told(instant: Instant, timeline: Timeline) -> str:
    # Partitions begin and end at midnight; the years that have no such text are far away.
    try:
        return timeline.format(instant).removesuffix("T00:00:00Z").replace(":", "")
    except OverflowError:
        return str(instant)
