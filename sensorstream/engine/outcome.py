"""The outcome of a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.engine.engine_queries import EngineReport
from sensorstream.engine.notices import RULE_FAILED
from sensorstream.engine.query_alerts import KIND
from sensorstream.errors import SensorStreamError
from sensorstream.model.events import Alert, Cleared, Departure, Ended, Message, Status
from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.html_tables import html_table
from sensorstream.model.terms import Subject
from sensorstream.model.timeline import Instant

_COUNTED: Final = frozenset({"rule", KIND, RULE_FAILED})


@mutable
class Timings:
    """Seconds by phase of the paper's equation (10).

    t_i brings the cache knowledge base up to date: reasoning on the changes (the paper loads and
    reasons here; this knowledge base is resident). t_w moves the window and its indexes. t_m reads
    the message and applies the mapping rules. t_s evaluates the semantic rules. The work of window
    and reasoner for a rule's action counts as t_w and t_i.
    """

    t_i: float = 0.0
    t_w: float = 0.0
    t_m: float = 0.0
    t_s: float = 0.0


def counts(alert: Alert) -> bool:
    """Whether the place of a :class:`.Cleared` counts an alert: one of a rule or query."""
    return alert.kind in _COUNTED


def counted(alerts: Iterable[Alert]) -> int:
    """The number of alerts that :func:`counts` accepts."""
    return sum(alert.kind in _COUNTED for alert in alerts)


@frozen
class Withheld:
    """An individual that did not enter the window, and the filter or the class it was for."""

    name: Subject
    cause: str


@mutable
class Outcome:
    """The outcome of a message, to which the engine adds; then nobody changes it.

    ``individuals`` are those that the message describes, ``departures`` those it pushed out of the
    window, ``ended`` single statements that hold no more, ``revoked`` such of earlier messages
    whose interval a late update has proved wrong. A rejected message has its reason in
    ``rejection`` and changed nothing. ``archived`` are individuals that went straight to history.
    ``released`` are the outcomes of earlier messages that waited until this one came; ``forced`` of
    them, because too many waited. ``degraded``: the plain profile stands in for a reasoner that
    failed. ``reports`` are those of continuous queries. ``cleared`` are the ends of alerts.
    ``time`` is the application time at which it was taken in; None if it was not.
    """

    message: Message
    status: Status
    matched: tuple[str, ...] = ()
    individuals: tuple[Subject, ...] = ()
    alerts: tuple[Alert, ...] = ()
    replies: tuple[str, ...] = ()
    departures: tuple[Departure, ...] = ()
    ended: tuple[Ended, ...] = ()
    revoked: tuple[Ended, ...] = ()
    phases: Timings = field(default_factory=Timings, compare=False)
    warnings: tuple[str, ...] = ()
    rejection: SensorStreamError | None = None
    archived: tuple[Departure, ...] = ()
    released: tuple[Outcome, ...] = ()
    forced: int = 0
    degraded: bool = False
    filtered: tuple[Withheld, ...] = ()
    shed: tuple[Withheld, ...] = ()
    reports: tuple[EngineReport, ...] = ()
    time: Instant | None = None
    cleared: tuple[Cleared, ...] = ()

    def _repr_html_(self) -> str:
        told = (
            ("status", self.status.value),
            ("time", self.time),
            ("reason", self.rejection),
            ("rules", ", ".join(self.matched)),
            ("individuals", ", ".join(each.n3 for each in self.individuals)),
            *((f"alert, {each.severity}", each.text) for each in self.alerts),
            *((f"report of {each.report.query}", _size(each)) for each in self.reports),
            ("left the window", ", ".join(each.individual.name.n3 for each in self.departures)),
            ("warnings", "; ".join(self.warnings)),
        )
        rows = [each for each in told if each[1] not in (None, "")]
        return html_table((self.message.id, ""), rows)

    @property
    def timings(self) -> dict[str, float]:
        return {name: getattr(self.phases, name) for name in ("t_i", "t_w", "t_m", "t_s")}


def _size(each: EngineReport) -> str:
    report = each.report
    if report.answer is not None:
        return str(report.answer)
    if report.triples is not None:
        return f"{report.operation.value} {len(report.triples)} statements"
    return f"{report.operation.value} {len(report.rows)} rows"


_FOLLOWING: Final = ("alerts", "replies", "departures", "ended", "revoked", "reports", "released")


def following(before: Outcome | None, outcome: Outcome) -> Outcome:
    """Join the outcome of an entry with that of the time before it, if there is one."""
    if before is None:
        return outcome
    raised = counted(before.alerts)
    cleared = (replace(each, place=each.place + raised) for each in outcome.cleared)
    outcome.cleared = (*before.cleared, *cleared)
    for name in _FOLLOWING:
        setattr(outcome, name, getattr(before, name) + getattr(outcome, name))
    if outcome.status in (Status.ACCEPTED, Status.PARTIAL):
        # The reason why a message was not taken in stands alone.
        outcome.warnings = before.warnings + outcome.warnings
    return outcome
