"""Incidents and silences, and the records of the outbox: alerts, reports, webhooks, deliveries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from sensorstream.errors import AlertError
from sensorstream.model.events import Alert
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.model.webhook_definition import WebhookContent, WebhookDefinition

IncidentState: TypeAlias = Literal["open", "acknowledged", "cleared"]
MOST_SILENCES: Final = 1000
"""Silences at a time."""
MOST_SAID: Final = 1000
"""Changes by people that an alert keeps."""
MOST_STARS: Final = 8
"""Signs ``*`` in a pattern: each lets the comparison begin anew."""


@frozen
class Incident:
    """The facts of an incident.

    ``id`` is that of its first alert, ``last_alert`` that of its last one, whose severity and text
    it has; ``count`` is their number. Times are application time, names that end in ``_at`` are
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


@frozen
class AlertChange:
    """A change of an incident.

    ``seq`` grows with the order of commits. ``by`` is who made it; "" the server itself. ``time``
    is application time, where the engine decided it; ``at`` is wall time, aware. ``severity`` and
    ``count`` are as they were then, ``rule``, ``kind``, ``key`` and ``first_at`` the incident's.
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
        """The name of the change among all events of receivers."""
        return f"{self.incident}.{self.seq}"


@frozen
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


def check_silence(wanted: Silence, now: datetime) -> None:
    """Check that a new silence can begin; raises AlertError if it is over or matches everything."""
    patterns = wanted.rule, wanted.key
    if patterns == (None, None) and wanted.severity is None:
        raise AlertError("a silence of everything: expected a rule, a key or a severity")
    if any(each is not None and each.count("*") > MOST_STARS for each in patterns):
        raise AlertError(f"a rule or key of a silence has at most {MOST_STARS} signs '*'")
    if wanted.ends_at <= max(now, wanted.starts_at):
        raise AlertError("the silence ends before it begins, or has ended: expected a later time")


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


DeliveryState: TypeAlias = Literal["pending", "delivered", "dead"]
"""Dead: set aside, after the last attempt or because the webhook was disabled."""


@frozen
class RaisedAlert:
    """An alert as history keeps it.

    ``seq`` grows with the order of commits: it is the cursor of paging and of the SSE stream.
    ``raised_at`` is wall time, aware; ``alert.time`` is application time.
    """

    seq: int
    alert: Alert
    raised_at: datetime

    @property
    def id(self) -> str:
        return self.alert.id


@frozen
class KeptReport:
    """A report of a continuous query, kept until it is delivered; ``data`` is JSON text by
    :func:`~sensorstream.alerts.alert_formats.report_json`, ``reported_at`` wall time, aware.
    """

    id: str
    query: str
    data: str
    reported_at: datetime


@frozen
class AlertGroup:
    """The message to one webhook about a group of alerts; ``data`` is JSON text by
    :func:`~sensorstream.alerts.alert_formats.group_json`, ``told_at`` wall time, aware.
    """

    id: str
    data: str
    told_at: datetime


@dataclass(frozen=True, slots=True)
class Webhook(WebhookContent):
    """A registered receiver of all alerts, and of the reports of the named ``queries``.

    ``secret`` is ``whsec_`` and base64, as Standard Webhooks writes it; no repr shows it. Until
    ``old_until`` the one before it signs, too. An ``output`` is a receiver that the settings name,
    without a secret.
    """

    id: str
    url: str
    secret: str = field(repr=False)
    created_at: datetime
    queries: tuple[str, ...] = ()
    output: bool = False
    old_secret: str | None = field(default=None, repr=False)
    old_until: datetime | None = None

    @property
    def definition(self) -> WebhookDefinition:
        """The webhook without its id and its secret."""
        return WebhookDefinition.of(self)

    def secrets(self, now: datetime) -> tuple[str, ...]:
        """The secrets that sign at an instant, the newest first."""
        if self.old_secret is None or self.old_until is None or self.old_until <= now:
            return (self.secret,)
        return (self.secret, self.old_secret)


Told: TypeAlias = RaisedAlert | KeptReport | AlertChange | AlertGroup
"""An event that receivers are told."""


def subject_of(told: Told) -> str:
    """The subject of an event: the key of an alert, or the name of a query; empty for a group."""
    match told:
        case RaisedAlert(alert=alert):
            return alert.key
        case KeptReport(query=query):
            return query
        case AlertChange(key=key):
            return key
        case AlertGroup():
            return ""


@frozen
class Delivery:
    """An event on its way to one webhook; ``attempts`` have failed so far."""

    id: int
    event: Told
    webhook: Webhook
    attempts: int


@frozen
class LoggedDelivery:
    """A delivery and its last attempt: its seconds, HTTP status, error, start of the answer."""

    # event_id and raised_at are those of its alert or report; query is the report's.

    id: int
    webhook_id: str
    event_id: str
    query: str | None
    raised_at: datetime
    state: DeliveryState
    attempts: int = field(metadata={"description": "attempts that failed and count"})
    next_attempt_at: datetime | None
    attempted_at: datetime | None
    seconds: float | None
    status: int | None
    answer: str | None
    error: str | None


@frozen
class WebhookState:
    """A webhook and its state; ``last`` is the delivery that was attempted last, ``failing_since``
    the time from which on all attempts have failed.
    """

    webhook: Webhook
    disabled_at: datetime | None = None
    failing_since: datetime | None = None
    last: LoggedDelivery | None = None


@frozen
class Backlog:
    """The deliveries that wait for one receiver: their number, and when the oldest was raised."""

    receiver: str
    enabled: bool
    failing_since: datetime | None
    pending: int
    oldest: datetime | None
