"""The latest reports of each continuous query, for its followers."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from threading import Lock
from typing import Final

from sensorstream.alerts.feed import AlertFeed
from sensorstream.engine.live_queries import QueryReport

_REPORTS: Final = 1000
"""The most reports kept of a query."""
_ROWS: Final = 50_000
"""The most rows and triples kept of a query, not counting its last report."""


class ReportLog:
    """Thread-safe. A follower reads from its own cursor: a slow follower does not delay the others.

    Reports that it does not read in time are dropped; the numbers of the reports show how many.
    """

    def __init__(self) -> None:
        self.feed = AlertFeed()
        """Notifies followers of new reports."""
        self._lock = Lock()
        self._reports: dict[str, deque[QueryReport]] = {}
        self._rows: dict[str, int] = {}

    def publish(self, reports: Sequence[QueryReport]) -> None:
        """Add reports whose effects are committed."""
        if not reports:
            return
        with self._lock:
            for report in reports:
                kept = self._reports.setdefault(report.entry, deque())
                kept.append(report)
                rows = self._rows.get(report.entry, 0) + _size(report)
                while len(kept) > 1 and (len(kept) > _REPORTS or rows > _ROWS):
                    rows -= _size(kept.popleft())
                self._rows[report.entry] = rows
        self.feed.announce()

    def after(self, entry: str, number: int) -> list[QueryReport]:
        """The kept reports of a registration whose number is above ``number``, in order."""
        with self._lock:
            return [each for each in self._reports.get(entry, ()) if each.number > number]

    def keep(self, entries: Collection[str]) -> None:
        """Remove the reports of all other registrations."""
        with self._lock:
            for entry in self._reports.keys() - set(entries):
                del self._reports[entry], self._rows[entry]
        # Followers of removed registrations must notice the end.
        self.feed.announce()


def _size(report: QueryReport) -> int:
    return len(report.report.rows) + len(report.report.triples or ())
