"""Printers of recorded events and of messages: for people, as Turtle, or as JSON Lines."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.terminal import print_json
from sensorstream.model.terms import Triple
from sensorstream.model.xsd import XSD

if TYPE_CHECKING:
    from sensorstream.app.why.engine_trial import TrialTrace
    from sensorstream.engine.outcome import Outcome
    from sensorstream.language.syntax import RuleFile
    from sensorstream.mapping.mapping_plan import MappedMessage
    from sensorstream.model.timeline import Instant, Timeline

_AT_ONCE: Final = 1000
"""Reports that are printed together."""
_END: Final = "at the end"
_CHANGES: Final = ("made", "asserted", "withdrawn", "inferred", "revoked")
_FAULTY: Final = ("unmatched", "rejected", "partial")


def prefixes_of(files: Iterable[RuleFile]) -> dict[str, str]:
    """The prefixes of rule files, and that of XML Schema."""
    return {"xsd": XSD} | {each.name: each.iri for file in files for each in file.prefixes}


def mapped_turtle(
    mapped: MappedMessage, prefixes: Mapping[str, str], *, merged: bool = False
) -> tuple[str, str]:
    """The statements of a message in Turtle: the prefix lines, and all the rest.

    With named graphs it is TriG, or the merge of all graphs, if ``merged``.
    """
    return _serialized(_nquads(mapped, merged=merged), prefixes)


def turtle(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> tuple[str, str]:
    """Triples in Turtle: the prefix lines, and all the rest."""
    return _serialized((f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples), prefixes)


def _nquads(mapped: MappedMessage, *, merged: bool) -> Iterator[str]:
    for event in mapped.events:
        graphs: dict[Triple, list[str]] = {}
        for triple, graph in () if merged else event.graphs:
            graphs.setdefault(triple, []).append("" if graph is None else f" {graph.n3}")
        for triple in event.triples:
            s, p, o = triple
            for place in graphs.get(triple, ("",)):
                yield f"{s.n3} {p.n3} {o.n3}{place} ."


def _serialized(nquads: Iterable[str], prefixes: Mapping[str, str]) -> tuple[str, str]:
    import pyoxigraph

    statements = pyoxigraph.parse("\n".join(nquads), format=pyoxigraph.RdfFormat.N_QUADS)
    text = io.BytesIO()
    # Turtle is TriG without named graphs.
    pyoxigraph.serialize(
        statements, text, format=pyoxigraph.RdfFormat.TRIG, prefixes=dict(prefixes)
    )
    lines = text.getvalue().decode().splitlines()
    head = [line for line in lines if line.startswith("@prefix")]
    return "\n".join(head), "\n".join(line for line in lines if not line.startswith("@prefix"))


@dataclass(slots=True)
class _Counted:
    """Counts what was taken in by status, and keeps the queries that were stopped, and why."""

    counts: Counter[str] = field(default_factory=Counter, init=False)
    stopped: list[str] = field(default_factory=list, init=False)

    def note(self, outcome: Outcome) -> bool:
        """Count an outcome; returns whether its message or event does not wait."""
        self.stopped += [each.text for each in outcome.alerts if each.kind == "query-stopped"]
        status = outcome.status.value
        if not outcome.message.id or status == "held":
            return False
        self.counts[status] += 1
        return True


@dataclass(slots=True)
class EventPrinter(_Counted):
    """Prints outcomes by time and counts them by status; ``time`` formats an instant."""

    time: Callable[[Instant], object]

    def print(self, outcome: Outcome) -> None:
        """Print the results of an outcome, after those of the messages that it released."""
        for each in (*outcome.released, outcome):
            self._print(each)

    def count(self, outcome: Outcome) -> None:
        """Count an outcome and print its faults, but not its results."""
        for each in (*outcome.released, outcome):
            self._say(each)

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
            if alert.kind in ("rule", "query"):
                head = {alert.kind: alert.rule, "time": self.time(alert.time), "alert": alert.text}
                print_json({**head, "severity": alert.severity, "key": alert.key})
        for reply in outcome.replies:
            assert outcome.time is not None
            print_json({"time": self.time(outcome.time), "reply": reply})

    def _say(self, outcome: Outcome) -> None:
        """Count an outcome, and print its faults on stderr."""
        if not self.note(outcome) or not outcome.warnings or outcome.status.value == "late":
            return
        name = f"event {outcome.message.id[1:]}"
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


@dataclass(slots=True)
class MessagePrinter(_Counted):
    """Prints the trace of each message, and counts the messages by status; has their names by id,
    and the prefixes of the Turtle.
    """

    timeline: Timeline
    prefixes: Mapping[str, str]
    as_json: bool = False
    names: dict[str, str] = field(default_factory=dict)

    def print(self, trace: TrialTrace) -> None:
        """Print the trace of a message, and of those that had waited for it."""
        for outcome in (*trace.outcome.released, trace.outcome):
            self.note(outcome)
        if self.as_json:
            changes = {
                name: [f"{s.n3} {p.n3} {o.n3} ." for s, p, o in getattr(trace, name)]
                for name in _CHANGES
            }
            data = {**self._data(trace.outcome), **changes}
            data["released"] = [self._data(each) for each in trace.outcome.released]
            print_json(data)
            return
        lines = list(self._lines(trace))
        if trace.outcome.message.id or len(lines) > 1:
            click.echo("\n".join(lines))

    @property
    def faulty(self) -> bool:
        """Whether a message was not accepted completely."""
        return any(self.counts[status] for status in _FAULTY)

    def say_counts(self) -> None:
        """Print on stderr the number of messages by status."""
        told = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        click.echo(f"messages: {told or 'none'}", err=True)

    def _lines(self, trace: TrialTrace) -> Iterator[str]:
        yield self._heading(trace.outcome)
        made = set(trace.made)
        held = trace.outcome.status.value == "held"
        yield from self._graph("will make" if held else "made", trace.made)
        for each in trace.outcome.released:
            yield f"  taken in now: {self._heading(each)}"
        # A statement that was said is no news, although it also follows from the ontology.
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
        from sensorstream.cli.stories.story_wording import alert_text, rows_of

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
        from sensorstream.alerts.alert_formats import plain_alert, plain_time
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
