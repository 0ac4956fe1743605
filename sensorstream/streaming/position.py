"""How far the pipeline is: the journal's last entry, and the last one whose effects are stored."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.history.database import connect, translating


@dataclass(frozen=True, slots=True)
class Position:
    """Numbers of entries."""

    journalled: int
    stored: int

    @property
    def lag(self) -> int:
        """Entries that wait."""
        return self.journalled - self.stored


class PositionReader:
    """Reads the position on a connection of its own, so in any thread."""

    def __init__(self, url: str) -> None:
        self._connection = connect(url, application="sensorstream stream progress")
        self._connection.autocommit = True

    def read(self) -> Position:
        """The position now.

        Raises:
            HistoryError: the history cannot be reached.
        """
        with translating("cannot read the watermark"), self._connection.cursor() as cursor:
            # The watermark first: it cannot be ahead of a journal that was read later.
            cursor.execute("select watermark from store.progress")
            (stored,) = cursor.fetchone() or (0,)
            cursor.execute("select coalesce(max(seq), 0) from store.messages")
            (journalled,) = cursor.fetchone() or (0,)
        return Position(journalled, stored)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
