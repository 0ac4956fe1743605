"""Alerts of the system itself: messages that were unmatched, rejected or late, and other trouble.
Of equal causes the first is reported, then the tenth, the hundredth…
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sensorstream.errors import DamagedCheckpoint, Inconsistent, Overrun, SensorStreamError
from sensorstream.model.events import Alert, Cleared, Message
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant

_KNOWN_CAUSES: Final = 1000
"""Causes that are counted apart; all further ones count as one."""
RULE_FAILED: Final = "rule-failed"
"""The kind of the alert of a rule that fails; its key is the rule's name."""
_SHOWN: Final = 10

STOPPED: Final = "query-stopped"
"""The kind of the alert of a query that was stopped; its key is the query's name."""
EMPTIED: Final = "query-emptied"
"""The kind of the alert of a query whose state could not be read; its key is the query's name."""
_DEGRADED: Final = "reasoner-degraded"


@dataclass(slots=True)
class Notices:
    """The numbers of occurrences of each cause."""

    counts: dict[str, int] = field(default_factory=dict)
    failing: dict[str, int] = field(default_factory=dict)
    """Rules that have not fired since they failed, and how often they did; 0: maybe they did."""

    def unmatched(
        self, message: Message, root: str, hint: str, now: Instant | None
    ) -> tuple[Alert, ...]:
        """Report that no mapping rule matched a message whose document element is ``root``."""
        text = f"no mapping rule matched a message <{root}>: {hint}"
        return self._raise(message, "unmatched-message", root, text, now)

    def rejected(
        self, message: Message, error: SensorStreamError, now: Instant | None
    ) -> tuple[Alert, ...]:
        """Report that a message was rejected; inconsistencies are reported every time."""
        if isinstance(error, Inconsistent):
            return (_alert(message, "inconsistency", message.id, str(error), now),)
        return self._raise(message, "rejected-message", error.code, str(error), now)

    def overrun(self, message: Message, error: Overrun, now: Instant | None) -> Alert:
        """Report that a message took more than a limit allows, and is skipped."""
        return _alert(message, "overrun", message.source, str(error), now)

    def partial(
        self, message: Message, warnings: Sequence[str], now: Instant | None
    ) -> tuple[Alert, ...]:
        """Report that parts of a document of several messages could not be taken in."""
        text = "; ".join(warnings)
        return self._raise(message, "partial-message", message.source, text, now, "-part")

    def unread(self, message: Message, text: str, now: Instant | None) -> tuple[Alert, ...]:
        """Report that a message said an axiom, from which nothing follows under the profile."""
        return self._raise(message, "axiom-unread", message.source, text, now, "-axiom")

    def left_open(
        self, message: Message, told: Sequence[str], now: Instant | None
    ) -> tuple[Alert, ...]:
        """Report that the reasoner could not answer questions, which were left open."""
        return self._raise(message, "reasoner-undecided", "reasoner", told[0], now, "-open")

    def late(self, message: Message, text: str, now: Instant | None) -> tuple[Alert, ...]:
        """Report that a message came too late for the window."""
        source = message.source
        return self._raise(message, "late-message", source, f"source '{source}' is {text}", now)

    def overflow(self, message: Message, limit: int, now: Instant | None) -> tuple[Alert, ...]:
        """Report that too many messages waited for earlier ones, and the oldest were released."""
        text = f"more than {limit} messages waited for earlier ones: the oldest were released"
        return self._raise(message, "held-overflow", "held", text, now, "-held")

    def shedding(
        self, message: Message, began: bool, budget: int, shed: int, now: Instant | None
    ) -> Alert:
        """Report that load shedding began, or ended after some individuals were shed."""
        if began:
            text = f"more than {budget} messages a second: load shedding began"
            return _alert(message, "load-shedding", "load", text, now, "-load")
        text = f"load shedding ended: {shed} individuals went to history and a synopsis only"
        return _alert(message, "load-shedding", "load", text, now, "-load", "info")

    def given_up(self, message: Message, reason: str, now: Instant | None) -> tuple[Alert, ...]:
        """Report that the synopses of a period did not enter the window: a rule fails on them."""
        return self._raise(message, "synopses-given-up", "synopses", reason, now, "-synopses")

    def passed_over(
        self, entry: Message, error: SensorStreamError, due: str, now: Instant | None, step: str
    ) -> tuple[Alert, ...]:
        """Report that rules failed at a time they were due, and are not tried again. ``step`` tells
        apart what one entry causes at several times.
        """
        text = f"what was due at {due} is passed over: {error}"
        return self._raise(entry, "passed-over", error.code, text, now, f"{step}-passed")

    def rule_failed(
        self, message: Message, error: SensorStreamError, now: Instant | None, step: str = ""
    ) -> tuple[Alert, ...]:
        """Report that the rule of an error, if any, fails; ``step`` as for :meth:`passed_over`."""
        rule = error.rule
        if not rule:
            return ()
        count = self.failing[rule] = self.failing.get(rule, 0) + 1
        if not _is_told(count):
            return ()
        text = f"the rule '{rule}' fails{_times(count)}: {error}"
        return (_alert(message, RULE_FAILED, rule, text, now, f"{step}-rule"),)

    def doubt(self, rules: Sequence[str]) -> None:
        """Count each rule as maybe failed, since a message that was rejected before is skipped."""
        if len(self.failing) < len(rules):
            for rule in rules:
                self.failing.setdefault(rule, 0)

    def worked(self, fired: Iterable[str]) -> list[str]:
        """The fired rules that had failed, or maybe had; they fail no more."""
        if not self.failing:
            return []
        return [rule for rule in fired if self.failing.pop(rule, None) is not None]

    def dropped(self, same: Collection[str]) -> list[str]:
        """The rules that had failed, or maybe had, but for the ``same``: they are not in force."""
        return self.worked([rule for rule in self.failing if rule not in same])

    def degraded(self, message: Message, reason: str, now: Instant | None) -> Alert:
        """Report that the reasoner failed: from this message on the plain profile infers."""
        text = f"the plain profile infers from now on, the reasoner is away: {reason}"
        return _alert(message, _DEGRADED, "reasoner", text, now, "-reasoner")

    def restored(
        self, message: Message, expelled: Sequence[Triple], now: Instant | None
    ) -> tuple[Alert, ...]:
        """Report that the reasoner is back; ``expelled`` are contradictions from meanwhile."""
        text = "the reasoner is back and has caught up with the window"
        alert = _alert(message, "reasoner-restored", "reasoner", text, now, "-reasoner")
        if not expelled:
            return (alert,)
        text = (
            "taken in while the reasoner was away, these contradict the ontology and left the "
            f"window: {_shown(expelled)}"
        )
        return (alert, _alert(message, "inconsistency", message.id, text, now))

    def gave_way(
        self, message: Message, whose: str, expelled: Sequence[Triple], now: Instant | None
    ) -> tuple[Alert, ...]:
        """Report the statements that left a window since another ontology took over."""
        text = f"these contradict the new ontology and left the window of {whose}: "
        return (_alert(message, "inconsistency", message.id, text + _shown(expelled), now),)

    def stopped(
        self, message: Message, query: str, entry: str, error: Exception, now: Instant | None
    ) -> Alert:
        """Report that an internal fault or its limits stopped a continuous query of the ``entry``.
        One whose part of a checkpoint cannot be read runs, but remembers nothing.
        """
        if isinstance(error, DamagedCheckpoint):
            text = f"the query '{query}' remembers nothing of before: {error}"
            return _alert(message, EMPTIED, query, text, now, f"-{entry}")
        if isinstance(error, Overrun):
            text = f"the query '{query}' was stopped: {error}"
        else:
            text = (
                f"the query '{query}' met a fault of the server and was stopped: "
                f"{type(error).__name__}: {error}"
            )
        return _alert(message, STOPPED, query, text, now, f"-{entry}")

    def told(self, message: Message, kind: str, key: str, now: Instant | None) -> Alert:
        """Report the content of an entry of the journal about the system."""
        return _alert(message, kind, key, message.content.decode(), now)

    def _raise(
        self,
        message: Message,
        kind: str,
        cause: str,
        text: str,
        now: Instant | None,
        suffix: str = "-1",
    ) -> tuple[Alert, ...]:
        key = f"{kind} {cause}"
        if key not in self.counts and len(self.counts) >= _KNOWN_CAUSES:
            key = kind
        count = self.counts[key] = self.counts.get(key, 0) + 1
        if not _is_told(count):
            return ()
        return (_alert(message, kind, cause, text + _times(count), now, suffix),)


def _shown(triples: Sequence[Triple]) -> str:
    shown = " ".join(f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples[:_SHOWN])
    return f"{shown} and {len(triples) - _SHOWN} more" if len(triples) > _SHOWN else shown


def restored_ends(told: Alert) -> tuple[Cleared, ...]:
    """The ends that come with the first alert of :meth:`Notices.restored`, its own included."""
    return (Cleared("", _DEGRADED, told.key, told.time, told.message), over(told))


def over(told: Alert) -> Cleared:
    """The end of an alert of the system that is over as soon as it is raised."""
    return Cleared(told.rule, told.kind, told.key, told.time, told.message)


def _is_told(count: int) -> bool:
    return str(count).strip("0") == "1"


def _times(count: int) -> str:
    return "" if count == 1 else f" ({count} times by now)"


def _alert(
    message: Message,
    kind: str,
    key: str,
    text: str,
    now: Instant | None,
    suffix: str = "-1",
    severity: str = "warning",
) -> Alert:
    return Alert(
        id=f"{message.id}{suffix}",
        rule="",
        kind=kind,
        severity=severity,
        text=text,
        key=key,
        time=message.received if now is None else now,
        message=message.id,
    )
