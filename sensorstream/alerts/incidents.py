"""Incidents: all alerts of one rule and key, from the first until it is cleared; and silences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from sensorstream.model.timeline import Instant

IncidentState: TypeAlias = Literal["open", "acknowledged", "cleared"]
MOST_SILENCES: Final = 1000
MOST_SAID: Final = 1000
"""Changes by people that an incident keeps."""


@dataclass(frozen=True, slots=True)
class Incident:
    """What is known of an incident.

    ``id`` is that of its first alert, ``last_alert`` that of its last one, whose severity and text
    it has; ``count`` says how many there were. Times are application time, what ends in ``_at`` is
    wall time, aware. ``escalated`` is the severity it was given because nobody acknowledged it.
    ``silenced``: receivers are not told of it now. ``flapping``: it was raised and cleared so often
    that they are not told each time.
    """

    id: str
    seq: int
    rule: str
    kind: str
    key: str
    severity: str
    text: str
    state: IncidentState
    count: int
    first_time: Instant
    last_time: Instant
    first_at: datetime
    last_at: datetime
    last_alert: str
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    assignee: str | None = None
    cleared_at: datetime | None = None
    escalated: str | None = None
    reminders: int = 0
    silenced: bool = False
    flapping: bool = False


@dataclass(frozen=True, slots=True)
class AlertChange:
    """A change of an incident.

    ``seq`` grows with the order of commits. ``by`` is who made it; "" the server itself. ``time``
    is application time, where the engine decided it; ``at`` is wall time, aware. ``severity`` and
    ``count`` are as they were then, ``rule``, ``kind``, ``key`` and ``first_at`` those of the
    incident.
    """

    seq: int
    incident: str
    change: str
    at: datetime
    time: Instant | None
    by: str
    text: str
    severity: str
    count: int
    rule: str
    kind: str
    key: str
    first_at: datetime

    @property
    def id(self) -> str:
        """Names it among all that receivers are told."""
        return f"{self.incident}.{self.seq}"


@dataclass(frozen=True, slots=True)
class Silence:
    """Receivers are not told of alerts that match, from ``starts_at`` until before ``ends_at``.

    ``rule`` (of an alert of the system: its kind) and ``key`` may have ``*`` for any signs; None
    matches all. ``by`` is who made it.
    """

    id: int
    rule: str | None
    key: str | None
    severity: str | None
    starts_at: datetime
    ends_at: datetime
    by: str
    comment: str


def pattern_of(text: str | None) -> str | None:
    """A text with ``*`` for any signs as a pattern of LIKE."""
    if text is None:
        return None
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%")


def text_of_pattern(pattern: str | None) -> str | None:
    """The text of which :func:`pattern_of` has made a pattern."""
    if pattern is None:
        return None
    found, signs = [], iter(pattern)
    for sign in signs:
        found.append(next(signs) if sign == "\\" else "*" if sign == "%" else sign)
    return "".join(found)
