"""``sensorstream run``: continuous queries over recorded events, without a server."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sensorstream.engine.reactions import Reactions
    from sensorstream.sparql.algebra import Query
    from sensorstream.streams.event_lines import EventLines
    from sensorstream.streams.processor import StreamEvent, StreamProcessor
    from sensorstream.streams.report import Report

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("run")
@click.option(
    "--query",
    "queries",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="A continuous query; may be given several times.",
)
@click.option(
    "--rules",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Semantic rules, which react to the events; may be given several times.",
)
@click.option(
    "--events",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    required=True,
    metavar="FILE",
    help="The events, as JSON Lines in order of arrival; - reads stdin.",
)
@click.option(
    "--static",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Background knowledge, which patterns outside WINDOW match: .ttl, .nt, .rdf.",
)
@click.option(
    "--lateness",
    default="0",
    show_default=True,
    metavar="D",
    help="How late events may be: seconds, or a duration such as PT5S.",
)
@click.option(
    "--window",
    default="landmark",
    show_default=True,
    metavar="WINDOW",
    help="What the rules' knowledge base keeps of the events, such as "
    "'sliding 1000 individuals' or 'sliding PT1M'.",
)
@click.option("--stats", is_flag=True, help="Say on stderr what it cost.")
def command(
    queries: tuple[Path, ...],
    rules: tuple[Path, ...],
    events: Path,
    static: tuple[Path, ...],
    lateness: str,
    window: str,
    stats: bool,
) -> None:
    """Evaluate continuous queries and semantic rules over a file of events.

    Each line of the output is one row of one query at one time: "+" came, "-" went, "=" is part
    of the whole result; or an alert or reply of a rule. With --rules the events also enter a
    knowledge base, where the rules react and which patterns outside WINDOW match; an event whose
    rules fail is told on stderr and leaves no trace. Events that are late beyond --lateness are
    left out and counted.
    """
    from sensorstream.app.collector import spare_what_stays
    from sensorstream.app.reactions import make_reactions
    from sensorstream.errors import InternalFault
    from sensorstream.sparql.parser import parse_query
    from sensorstream.streams.background import Background
    from sensorstream.streams.event_lines import SECOND, EventLines, instant_of
    from sensorstream.streams.processor import StreamProcessor

    if not queries and not rules:
        raise click.UsageError("expected --query or --rules")
    length = _lateness(lateness)
    background = Background()
    background.read(static)
    lines = EventLines(str(events))
    reactions = make_reactions(rules, background.default, window) if rules else None
    processor = StreamProcessor(
        background.default if reactions is None else reactions.kb.index,
        instant=instant_of,
        second=SECOND,
    )
    for file in queries:
        text = file.read_text(encoding="utf-8")
        query = parse_query(text, file=str(file), base=file.absolute().as_uri())
        named = background.named(query.dataset, file)
        running = processor.register(
            _name(query, file), text, query, lambda each: _print(each, lines), named
        )
        if running.reason:
            click.echo(f"{running.name}: evaluated anew at each change: {running.reason}", err=True)
    spare_what_stays()
    start = perf_counter()
    with ExitStack() as stack:
        source: Iterable[str] = sys.stdin
        if str(events) != "-":
            source = stack.enter_context(events.open(encoding="utf-8"))
        for event in _ordered(lines.read(source), length, processor):
            if reactions is None or _react(reactions, event, processor, lines):
                processor.push(event)
    processor.finish()
    for name, error in processor.faults:
        raise InternalFault(f"query '{name}' was stopped: {type(error).__name__}: {error}")
    if processor.counts.late:
        click.echo(f"{processor.counts.late} events were late beyond {lateness}", err=True)
    if stats:
        _say_costs(processor, perf_counter() - start)


def _name(query: Query, file: Path) -> str:
    return file.stem if query.registration is None else str(query.registration.name)


def _ordered(
    events: Iterator[StreamEvent], lateness: int, processor: StreamProcessor
) -> Iterator[StreamEvent]:
    """The events in order of time: each waits until nothing earlier can come."""
    from sensorstream.engine.reorder import Disorder, ReorderBuffer

    if not lateness:
        yield from events
        return
    buffer: ReorderBuffer[StreamEvent] = ReorderBuffer(Disorder(lateness, {}, 0, sys.maxsize))
    for event in events:
        if not buffer.offer("", event.time, 0, event):
            processor.counts.late += 1
        yield from buffer.release()
    buffer.advance(1)
    yield from buffer.release()


def _react(
    reactions: Reactions, event: StreamEvent, processor: StreamProcessor, lines: EventLines
) -> bool:
    """Let an event enter the knowledge base, and print what the rules make of it.

    Returns:
        Whether the queries may have it: no, if its rules failed.
    """
    from sensorstream.errors import MessageError

    if processor.now is not None and event.time < processor.now:
        return True  # late: the queries leave it out and count it
    # What ended before the event must not see what it brings.
    processor.complete(event.time)
    time = lines.format(event.time)
    try:
        result = reactions.take_in(event.time, event.triples)
    except MessageError as error:
        processor.take_back()
        click.echo(f"the event at {time} is left out: {error}", err=True)
        return False
    for warning in result.warnings:
        click.echo(f"at {time}: {warning}", err=True)
    for alert in result.alerts:
        head = {"rule": alert.rule, "time": lines.format(alert.time), "alert": alert.text}
        _print_line({**head, "severity": alert.severity, "key": alert.key})
    for reply in result.replies:
        _print_line({"time": time, "reply": reply})
    return True


def _print_line(data: Mapping[str, object]) -> None:
    click.echo(json.dumps(data, ensure_ascii=False))


def _print(report: Report, lines: EventLines) -> None:
    from sensorstream.streams.report_data import report_text

    for text in report_text(report, lines.format(report.time)):
        click.echo(text, nl=False)


def _say_costs(processor: StreamProcessor, seconds: float) -> None:
    events = processor.counts.events
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(
        f"{events} events, {seconds:.2f} s, {events / max(seconds, 1e-9):.0f} events/s, "
        f"{peak:.0f} MiB peak memory",
        err=True,
    )


def _lateness(text: str) -> int:
    """``--lateness`` in microseconds."""
    from sensorstream.errors import TermError
    from sensorstream.model.datatypes import parse_duration
    from sensorstream.streams.event_lines import SECOND, seconds

    try:
        if text.strip().upper().startswith("P"):
            length = int(parse_duration(text.strip()).total_seconds() * SECOND)
        else:
            length = seconds(Decimal(text))
    except (TermError, InvalidOperation):
        length = -1
    if length < 0:
        raise click.BadParameter(
            f"'{text}': expected seconds, or a duration such as PT5S", param_hint="--lateness"
        )
    return length
