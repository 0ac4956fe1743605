"""``sensorstream run``: continuous queries over recorded events, without a server."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
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
    required=True,
    metavar="FILE",
    help="A continuous query; may be given several times.",
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
@click.option("--stats", is_flag=True, help="Say on stderr what it cost.")
def command(
    queries: tuple[Path, ...], events: Path, static: tuple[Path, ...], lateness: str, stats: bool
) -> None:
    """Evaluate continuous queries over a file of events.

    Each line of the output is one row of one query at one time: "+" came, "-" went, "=" is part
    of the whole result. Events that are late beyond --lateness are left out and counted.
    """
    from sensorstream.app.collector import spare_what_stays
    from sensorstream.errors import InternalFault
    from sensorstream.sparql.algebra import ReportKind
    from sensorstream.sparql.parser import parse_query
    from sensorstream.streams.background import Background
    from sensorstream.streams.event_lines import SECOND, EventLines, instant_of
    from sensorstream.streams.processor import StreamProcessor

    length = _lateness(lateness)
    background = Background()
    background.read(static)
    lines = EventLines(str(events))
    processor = StreamProcessor(
        background.default, instant=instant_of, second=SECOND, report=ReportKind.INSTANT
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


def _print(report: Report, lines: EventLines) -> None:
    from sensorstream.streams.report_data import report_lines

    for line in report_lines(report, lines.format(report.time)):
        click.echo(json.dumps(line, ensure_ascii=False))


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
