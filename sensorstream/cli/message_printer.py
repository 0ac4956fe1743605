"""What becomes of each message, for people or as one line of JSON a message."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.turtle import turtle

if TYPE_CHECKING:
    from sensorstream.app.why.trial import Trace
    from sensorstream.engine.outcome import Outcome
    from sensorstream.model.terms import Triple
    from sensorstream.model.timeline import Timeline

_END = "at the end"
_FAULTY = ("unmatched", "rejected", "partial")


@dataclass(slots=True)
class MessagePrinter:
    """Prints the trace of each message, and counts the messages by status.

    ``names`` are the names of the messages by id; ``prefixes`` those of the Turtle.
    """

    timeline: Timeline
    prefixes: Mapping[str, str]
    as_json: bool = False
    names: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    stopped: list[str] = field(default_factory=list)
    """The queries that were stopped, and why."""

    def print(self, trace: Trace) -> None:
        """Print what a message came to, and those that had waited for it."""
        outcomes = (*trace.outcome.released, trace.outcome)
        for outcome in outcomes:
            if outcome.message.id and outcome.status.value != "held":
                self.counts[outcome.status.value] += 1
            self.stopped += [a.text for a in outcome.alerts if a.kind == "query-stopped"]
        if self.as_json:
            data = {**self._data(trace.outcome), **_changes(trace)}
            data["released"] = [self._data(each) for each in trace.outcome.released]
            click.echo(json.dumps(data, ensure_ascii=False))
            return
        lines = list(self._lines(trace))
        if trace.outcome.message.id or len(lines) > 1:
            click.echo("\n".join(lines))

    @property
    def faulty(self) -> bool:
        """Whether a message was not accepted completely."""
        return any(self.counts[status] for status in _FAULTY)

    def say_counts(self) -> None:
        """Print on stderr what became of the messages, counted."""
        told = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        click.echo(f"messages: {told or 'none'}", err=True)

    def _lines(self, trace: Trace) -> Iterator[str]:
        yield self._heading(trace.outcome)
        made = set(trace.made)
        held = trace.outcome.status.value == "held"
        yield from self._graph("will make" if held else "made", trace.made)
        for each in trace.outcome.released:
            yield f"  taken in now: {self._heading(each)}"
        # What also follows from the ontology, but was said, is no news to a reader.
        news = [triple for triple in trace.inferred if triple not in made]
        yield from self._graph("inferred", news)
        if not held and not trace.outcome.released:
            more = [triple for triple in trace.asserted if triple not in made]
            yield from self._graph("inserted by rules", more)
        else:
            yield from self._graph("asserted", trace.asserted)
        yield from self._graph("removed", trace.withdrawn)
        yield from self._graph("inferred no more", trace.revoked)
        for outcome in (*trace.outcome.released, trace.outcome):
            yield from self._reactions(outcome)

    def _heading(self, outcome: Outcome) -> str:
        name, status = self._name(outcome), outcome.status.value
        if not outcome.message.id:
            return name
        if outcome.rejection is not None:
            return f"{name}: {status}: {outcome.rejection.code}: {outcome.rejection}"
        text = f"{name}: {status}"
        if outcome.matched:
            text += f" by {', '.join(outcome.matched)}"
        if outcome.time is not None:
            text += f", time {self.timeline.format(outcome.time)}"
        return "; ".join((text, *outcome.warnings))

    def _name(self, outcome: Outcome) -> str:
        id_ = outcome.message.id
        return self.names.get(id_, id_) if id_ else _END

    def _graph(self, what: str, triples: Sequence[Triple]) -> Iterator[str]:
        if triples:
            yield f"  {what}"
            _, body = turtle(triples, self.prefixes)
            yield from (f"    {line.expandtabs(4)}" for line in body.strip().splitlines())

    def _reactions(self, outcome: Outcome) -> Iterator[str]:
        from sensorstream.stories.rows import rows_of
        from sensorstream.stories.wording import alert_text

        for alert in outcome.alerts:
            if alert.kind in ("rule", "query"):
                yield f"  alert   {alert_text(alert)}"
            elif alert.kind == "query-stopped":
                yield f"  alert   {alert.text}"
        for reply in outcome.replies:
            yield f"  reply   {reply}"
        for told in outcome.reports:
            time = self.timeline.format(told.report.time)
            for row in rows_of(told.report):
                yield f"  report  {row.text(self.prefixes)}  at {time}"

    def _data(self, outcome: Outcome) -> dict[str, Any]:
        from sensorstream.alerts.cloudevents import plain_alert, plain_time
        from sensorstream.streams.report_data import report_data

        line, rejection = self.timeline, outcome.rejection
        return {
            "message": self._name(outcome) if outcome.message.id else None,
            "status": outcome.status.value if outcome.message.id else None,
            "time": None if outcome.time is None else plain_time(outcome.time, line),
            "matched": outcome.matched,
            "individuals": outcome.individuals,
            "alerts": [plain_alert(each, line) for each in outcome.alerts],
            "replies": outcome.replies,
            "reports": [
                report_data(each.report, lambda time: plain_time(time, line))
                for each in outcome.reports
            ],
            "warnings": outcome.warnings,
            "code": None if rejection is None else rejection.code,
        }


def _changes(trace: Trace) -> dict[str, list[str]]:
    return {
        "made": _statements(trace.made),
        "asserted": _statements(trace.asserted),
        "withdrawn": _statements(trace.withdrawn),
        "inferred": _statements(trace.inferred),
        "revoked": _statements(trace.revoked),
    }


def _statements(triples: Iterable[Triple]) -> list[str]:
    return [f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples]
