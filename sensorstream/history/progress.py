"""The one row of ``store.progress``: how far effects are stored, and of which time line."""

from __future__ import annotations

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.model.timeline import Timeline


def watermark(cursor: extensions.cursor) -> int:
    """The last message whose effects are stored; 0 before the first.

    Raises:
        HistoryError: the row is not there.
    """
    cursor.execute("select watermark from store.progress")
    row = cursor.fetchone()
    if row is None:
        raise row_missing()
    number: int = row[0]
    return number


def settle_timeline(cursor: extensions.cursor, timeline: Timeline, place: str) -> None:
    """Make the row for a time line, if there is none.

    Raises:
        HistoryError: it is of another time line; ``place`` says where.
    """
    cursor.execute(
        "insert into store.progress (watermark, timeline) values (0, %s) on conflict do nothing",
        (timeline.value,),
    )
    cursor.execute("select timeline from store.progress")
    row = cursor.fetchone()
    if row is None or row[0] != timeline.value:
        raise HistoryError(
            f"{place} holds times of the line '{row and row[0]}', but "
            f"time.line is '{timeline.value}'"
        )


def row_missing() -> HistoryError:
    """The row was deleted."""
    return HistoryError("store.progress is empty: the store was tampered with")
