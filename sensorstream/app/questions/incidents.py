"""What people do with alerts, and silences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from sensorstream.alerts.records import AlertChange, Incident, IncidentState, Silence
from sensorstream.clock import Clock
from sensorstream.errors import AlertError
from sensorstream.history.incidents import PostgresIncidents

MOST_STARS: Final = 8
"""Signs ``*`` in a pattern: each lets the comparison begin anew."""


class Incidents:
    """What server and command line may do with alerts once they are raised. Thread-safe.

    What names an alert or a silence raises :class:`.UnknownAlert` or :class:`.UnknownSilence` if
    there is none.
    """

    def __init__(self, kept: PostgresIncidents, clock: Clock, announce: Callable[[], None]) -> None:
        """``announce`` is called when something has changed that receivers are told of."""
        self._kept = kept
        self._clock = clock
        self._announce = announce

    def list(
        self, state: IncidentState | None, limit: int, before: int | None = None
    ) -> Sequence[Incident]:
        """Incidents with a ``seq`` below one, the last opened first; None: what is not cleared."""
        return self._kept.list(state, limit, before, self._clock.now())

    def one(self, alert: str) -> Incident:
        """The incident that an alert belongs to."""
        return self._kept.one(alert, self._clock.now())

    def history(self, alert: str, limit: int, after: int = 0) -> Sequence[AlertChange]:
        """The changes of an incident with a ``seq`` above one, oldest first."""
        return self._kept.history(alert, limit, after, self._clock.now())

    def changes_after(self, seq: int, limit: int) -> Sequence[AlertChange]:
        """The changes of all incidents with a ``seq`` above one, oldest first."""
        return self._kept.changes_after(seq, limit)

    def last_change(self) -> int:
        """The ``seq`` of the last change; 0: there is none."""
        return self._kept.last_change()

    def acknowledge(self, alert: str, by: str, said: str = "") -> Incident:
        """Somebody sees to it: reminders end.

        Raises:
            AlertError: it is cleared.
        """
        return self._told(self._kept.acknowledge(alert, by, said, self._clock.now()))

    def clear(self, alert: str, by: str, said: str = "") -> Incident:
        """It has ended: the next alert of its rule and key opens another."""
        return self._told(self._kept.clear(alert, by, said, self._clock.now()))

    def comment(self, alert: str, by: str, said: str) -> Incident:
        """Somebody says something of it.

        Raises:
            AlertError: too much has been said.
        """
        return self._told(self._kept.comment(alert, by, said, self._clock.now()))

    def assign(self, alert: str, by: str, to: str) -> Incident:
        """It is for somebody; "": for nobody in particular.

        Raises:
            AlertError: too much has been said.
        """
        return self._told(self._kept.assign(alert, by, to, self._clock.now()))

    def silences(self) -> Sequence[Silence]:
        """Those that have not ended, in the order in which they were made."""
        return self._kept.silences(self._clock.now())

    def silence(
        self,
        rule: str | None,
        key: str | None,
        severity: str | None,
        ends_at: datetime,
        by: str,
        comment: str = "",
        starts_at: datetime | None = None,
    ) -> Silence:
        """Begin a silence, now or at ``starts_at``; see :class:`.Silence`.

        Raises:
            AlertError: it matches all there is, or has ended, or there are too many.
        """
        now = self._clock.now()
        starts = now if starts_at is None else starts_at
        if rule is None and key is None and severity is None:
            raise AlertError("a silence of everything: expected a rule, a key or a severity")
        if any(each is not None and each.count("*") > MOST_STARS for each in (rule, key)):
            raise AlertError(f"a rule or key of a silence has at most {MOST_STARS} signs '*'")
        if ends_at <= max(now, starts):
            raise AlertError(
                "the silence ends before it begins, or has ended: expected a later time"
            )
        return self._kept.silence(
            Silence(0, rule, key, severity, starts, ends_at, by, comment), now
        )

    def end_silence(self, silence: int) -> None:
        """Tell receivers again of what it matched, at once of what is open still."""
        self._kept.end_silence(silence, self._clock.now())
        self._announce()

    def _told(self, incident: Incident) -> Incident:
        self._announce()
        return incident
