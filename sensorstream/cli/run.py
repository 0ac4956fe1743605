"""``sensorstream run``: queries and rules over recorded events or messages, without a server."""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.offline import FILE, engine_options, offline_engine

if TYPE_CHECKING:
    from sensorstream.engine.arrival import Arrived, Unmapped
    from sensorstream.engine.engine import Engine
    from sensorstream.engine.outcome import Outcome
    from sensorstream.model.events import Event
    from sensorstream.model.timeline import Instant
    from sensorstream.streams.background import Background
    from sensorstream.streams.event_lines import EventLines


_AT_ONCE: Final = 1000
"""Reports that are printed together."""


@click.command("run")
@click.option(
    "--query",
    "queries",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="A continuous query; may be given several times.",
)
@click.option(
    "--events",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="The events, as JSON Lines in order of arrival; - reads stdin.",
)
@click.option(
    "--messages",
    multiple=True,
    metavar="PATH",
    help="Instead: XML messages for --mapping, a file, a folder or ZIP archive of *.xml files; "
    "may be given several times.",
)
@click.option(
    "--mapping",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="The mapping rules of the messages: *.rules, RML or XSLT.",
)
@click.option(
    "--source",
    default="rest",
    show_default=True,
    metavar="NAME",
    help="The source that the messages come from: their stream.",
)
@click.option(
    "--line",
    type=click.Choice(["datetime", "integer"]),
    default="datetime",
    show_default=True,
    help="How the messages write their times.",
)
@engine_options
@click.option("--stats", is_flag=True, help="Print time and memory used on stderr.")
def command(
    queries: tuple[Path, ...],
    events: Path | None,
    messages: tuple[str, ...],
    mapping: tuple[Path, ...],
    source: str,
    line: str,
    rules: tuple[Path, ...],
    static: tuple[Path, ...],
    window: str,
    profile: str,
    lateness: str,
    stats: bool,
) -> None:
    """Evaluate continuous queries and semantic rules over events or messages.

    Each line of the output is one row of one query at one time ("+" added, "-" removed, "=" part of
    the whole result), or an alert or reply of a rule. Patterns outside WINDOW match the knowledge
    base: the static graph, the events in the --window, and what follows from both. An event whose
    rules fail is reported on stderr and has no effect. Events later than --lateness are left out
    and counted. Exits with 1 if a message is not accepted.
    """
    from sensorstream.app.collector import spare_what_stays
    from sensorstream.app.recorded import read_background
    from sensorstream.errors import InternalFault
    from sensorstream.streams.event_lines import EventLines

    if not queries and not rules:
        raise click.UsageError("expected --query or --rules")
    if (events is None) is (not messages):
        raise click.UsageError("expected --events FILE, or --messages PATH")
    if bool(messages) is not bool(mapping):
        raise click.UsageError("--messages and --mapping go together: expected both or neither")
    if events is not None and line != "datetime":
        raise click.UsageError("--line is for --messages: events have numbers or xsd:dateTime")
    background = read_background(static)
    engine, running = offline_engine(
        queries,
        rules=rules,
        background=background,
        window=window,
        profile=profile,
        lateness=lateness,
        line=line,
    )
    with ExitStack() as stack:
        stack.enter_context(closing(engine))
        for each in running:
            if each.reason:
                told = f"{each.name}: evaluated anew at each change: {each.reason}"
                click.echo(told, err=True)
        lines = EventLines(str(events))
        arriving: Iterable[Event | Arrived | Unmapped]
        if events is not None:
            printer = Printer(lines.format)
            arriving = _events(events, lines, stack)
        else:
            printer = Printer(_written(line))
            arriving = _messages(messages, mapping, background, line, source, printer.names)
        spare_what_stays()
        start = perf_counter()
        for arrived in arriving:
            printer.print(engine.take(arrived))
        printer.print(engine.finish())
        seconds = perf_counter() - start
    printer.say_counts(lateness, messages=bool(messages))
    if stats:
        _say_costs(engine, seconds)
    if printer.stopped:
        raise InternalFault("; ".join(printer.stopped))
    if messages and printer.faulty:
        raise click.exceptions.Exit(1)


def _events(file: Path, lines: EventLines, stack: ExitStack) -> Iterator[Event]:
    from sensorstream.app.recorded import recorded_events

    source: Iterable[str] = sys.stdin
    if str(file) != "-":
        source = stack.enter_context(file.open(encoding="utf-8"))
    return recorded_events(lines, source)


def _messages(
    paths: Iterable[str],
    mapping: Iterable[Path],
    background: Background,
    line: str,
    name: str,
    names: dict[str, str],
) -> Iterator[Arrived | Unmapped]:
    """The mapping result of each message; ``names`` gets the name of its file."""
    from sensorstream.app.recorded import parse_mapping, read_line
    from sensorstream.cli.sources import sources
    from sensorstream.clock import SystemClock
    from sensorstream.engine.arrival import Mapper
    from sensorstream.model.events import Message

    mapper = Mapper(parse_mapping(*mapping, static=background, line=line))
    timeline, clock = read_line(line), SystemClock()
    for number, source in enumerate(sources(paths), 1):
        id_ = f"m{number}"
        names[id_] = source.name
        yield mapper.map(Message(id_, source.read(), timeline.of(clock.now()), name))


def _written(line: str) -> Callable[[Instant], object]:
    from sensorstream.app.recorded import read_line

    timeline = read_line(line)
    return int if line == "integer" else timeline.format


@dataclass(slots=True)
class Printer:
    """Prints outcomes in the order of their times, and counts them by status.

    ``time`` formats an instant; ``names`` are the names of messages in the output.
    """

    time: Callable[[Instant], object]
    names: dict[str, str] = field(default_factory=dict)
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

    @property
    def faulty(self) -> bool:
        """Whether a message was not accepted completely."""
        return any(self.counts[status] for status in ("unmatched", "rejected", "partial"))

    def say_counts(self, lateness: str, *, messages: bool) -> None:
        """Print on stderr what was left out."""
        late = self.counts["late"]
        if messages:
            told = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
            click.echo(f"messages: {told or 'none'}", err=True)
        if late:
            what = "messages" if messages else "events"
            click.echo(f"{late} {what} were late beyond {lateness}", err=True)

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
            texts.extend(report_text(each.report, self.time(each.report.time)))
            if len(texts) >= _AT_ONCE:
                _print_texts(texts)
        _print_texts(texts)
        if not reacted:
            self._print_reactions(outcome)

    def _print_reactions(self, outcome: Outcome) -> None:
        for alert in outcome.alerts:
            if alert.kind == "query-stopped":
                self.stopped.append(alert.text)
            elif alert.kind == "rule":
                head = {"rule": alert.rule, "time": self.time(alert.time), "alert": alert.text}
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
        name = self.names.get(id_, f"event {id_[1:]}")
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


def _say_costs(engine: Engine, seconds: float) -> None:
    events = engine.queries.processor.counts.events
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(
        f"{events} events, {seconds:.2f} s, {events / max(seconds, 1e-9):.0f} events/s, "
        f"{peak:.0f} MiB peak memory",
        err=True,
    )
