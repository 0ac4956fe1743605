"""How far a pipeline that runs elsewhere is: what is journalled, and what of it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sensorstream.history.database import connect, translating
from sensorstream.history.writer_lock import EFFECTS_LOCK

_QUERY: Final = """
    select
        coalesce((select watermark from store.progress), 0),
        (select coalesce(max(seq), 0) from store.messages),
        (select stored_at from store.pipeline),
        (select count(*) from store.engines where "until" is null),
        exists (
            select from store.engines e join store.pipeline p on e.moved <= p.moved
            where e."until" is null and e.moved is not null
        ),
        exists (
            select from pg_locks l join pg_database d on d.oid = l.database
            where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = %s
                and d.datname = current_database()
        )
"""


@dataclass(frozen=True, slots=True)
class Position:
    """Numbers of entries; and when the last batch was stored, None before the first.

    ``keys`` counts the engines that hold something; ``behind``: one of them waits for a time that
    others have reached. ``runs``: a process may write effects now.
    """

    journalled: int
    stored: int
    stored_at: datetime | None = None
    keys: int = 0
    behind: bool = False
    runs: bool = True

    @property
    def lag(self) -> int:
        """Entries that wait."""
        return self.journalled - self.stored

    def __str__(self) -> str:
        if not self.runs:
            told = f"no pipeline runs, {self.lag} entries wait: start sensorstream stream"
        else:
            told = f"{self.lag} entries wait" if self.lag else ""
        if told and self.stored_at is not None:
            told += f"; last stored {self.stored_at.isoformat(timespec='seconds')}"
        return told


class PositionReader:
    """Reads the position on a connection of its own, so in any thread."""

    def __init__(self, url: str) -> None:
        self._connection = connect(url, application="sensorstream position")
        self._connection.autocommit = True

    def read(self) -> Position:
        """The position now, all of one moment.

        Raises:
            HistoryError: the history cannot be reached.
        """
        with (
            translating("cannot read how far the pipeline is"),
            self._connection.cursor() as cursor,
        ):
            cursor.execute(_QUERY, (EFFECTS_LOCK,))
            row = cursor.fetchone() or (0, 0, None, 0, False, False)
        stored, journalled, *more = row
        return Position(journalled, stored, *more)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
