"""What becomes of recorded events, as JSON Lines: rows of queries, alerts, replies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from sensorstream.engine.outcome import Outcome
    from sensorstream.model.timeline import Instant

_AT_ONCE: Final = 1000
"""Reports that are printed together."""


@dataclass(slots=True)
class EventPrinter:
    """Prints outcomes in the order of their times, and counts them by status.

    ``time`` formats an instant.
    """

    time: Callable[[Instant], object]
    counts: Counter[str] = field(default_factory=Counter)
    stopped: list[str] = field(default_factory=list)
    """The queries that were stopped, and why."""

    def print(self, outcome: Outcome) -> None:
        """Print the results of an outcome, after those of the messages that it released."""
        for each in outcome.released:
            self._print(each)
        self._print(outcome)

    def count(self, outcome: Outcome) -> None:
        """Count an outcome and print its faults, but not its results."""
        for each in outcome.released:
            self._say(each)
        self._say(outcome)

    def say_counts(self, lateness: str) -> None:
        """Print on stderr how many events came too late."""
        late = self.counts["late"]
        if late:
            click.echo(f"{late} events were late beyond {lateness}", err=True)

    def _print(self, outcome: Outcome) -> None:
        self._say(outcome)
        if not (outcome.reports or outcome.alerts or outcome.replies):
            return
        from sensorstream.streams.report_data import report_text

        reacted = not outcome.alerts and not outcome.replies
        texts: list[str] = []
        for each in outcome.reports:
            if not reacted and (outcome.time is None or each.report.time >= outcome.time):
                _print_texts(texts)
                self._print_reactions(outcome)
                reacted = True
            texts.extend(report_text(each.report, self.time))
            if len(texts) >= _AT_ONCE:
                _print_texts(texts)
        _print_texts(texts)
        if not reacted:
            self._print_reactions(outcome)

    def _print_reactions(self, outcome: Outcome) -> None:
        for alert in outcome.alerts:
            if alert.kind == "query-stopped":
                self.stopped.append(alert.text)
            elif alert.kind in ("rule", "query"):
                head = {alert.kind: alert.rule, "time": self.time(alert.time), "alert": alert.text}
                _print_line({**head, "severity": alert.severity, "key": alert.key})
        for reply in outcome.replies:
            assert outcome.time is not None
            _print_line({"time": self.time(outcome.time), "reply": reply})

    def _say(self, outcome: Outcome) -> None:
        """Count an outcome, and print its faults on stderr."""
        id_ = outcome.message.id
        status = outcome.status.value
        if not id_ or status == "held":
            return
        self.counts[status] += 1
        if not outcome.warnings or status == "late":
            return
        name = f"event {id_[1:]}"
        if outcome.rejection is not None:
            told = f"{name} is left out: {outcome.rejection.code}: {outcome.rejection}"
            click.echo(told, err=True)
            return
        for warning in outcome.warnings:
            click.echo(f"{name}: {warning}", err=True)


def _print_texts(texts: list[str]) -> None:
    """Print texts, and empty the list; the output is flushed once for all of them."""
    if texts:
        click.echo("".join(texts), nl=False)
        texts.clear()


def _print_line(data: Mapping[str, object]) -> None:
    click.echo(json.dumps(data, ensure_ascii=False))
