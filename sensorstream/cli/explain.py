"""``sensorstream explain``: the operators of a continuous query."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.options import server_options, server_url

if TYPE_CHECKING:
    from sensorstream.kb.index import TripleIndex
    from sensorstream.model.terms import IRI
    from sensorstream.model.timeline import Instant
    from sensorstream.sparql.algebra import Query
    from sensorstream.streams.processor import StreamProcessor

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("explain")
@click.option("--query", "query_file", type=_FILE, metavar="FILE", help="A continuous query.")
@click.option(
    "--static",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Background knowledge, which patterns outside WINDOW match: .ttl, .nt, .rdf.",
)
@click.option(
    "--events",
    type=_FILE,
    metavar="FILE",
    help="Events to run the query over first, so that the counters say something.",
)
@click.option("--name", help="Instead: a query that runs on a server.")
@server_options
@click.option(
    "--plan", "only_plan", is_flag=True, help="Print the plan only; of a file, run nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the operators as JSON.")
def command(
    query_file: Path | None,
    static: tuple[Path, ...],
    events: Path | None,
    name: str | None,
    url: str | None,
    config: Path,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Show the operators of a continuous query as a tree.

    Each line is an operator above those that feed it, with its number, the solutions it has given
    out ("+" came, "-" went), the rows it keeps, and how many use it. What cannot be kept in step
    is named, with the reason.

    With --plan: what the operators would be, before any is made, and how many rows are expected of
    patterns over --static.
    """
    if (query_file is None) is (name is None):
        raise click.UsageError("expected --query FILE, or --name NAME of a query on a server")
    if only_plan and events is not None:
        raise click.UsageError("--plan runs nothing: leave --events out")
    if query_file is not None and only_plan:
        data = {"plan": _plan(query_file, static)}
    elif query_file is not None:
        data = _offline(query_file, static, events)
    else:
        assert name is not None
        from sensorstream.cli.client import Client

        with Client(server_url(url, config)) as client:
            data = client.query_graph(name)
    if only_plan:
        data = {"plan": data["plan"]}
    if as_json:
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    from sensorstream.streams.explain import tree

    for line in data["plan"] if only_plan else tree(data):
        click.echo(line)


def _plan(query_file: Path, static: tuple[Path, ...]) -> list[str]:
    from sensorstream.network.plan.text import plan_lines
    from sensorstream.network.sources import DEFAULT

    opened = _open(query_file, static)
    plan = opened.processor.check(opened.name, opened.query, opened.named)
    return list(plan_lines(plan, {DEFAULT: opened.default}))


def _offline(query_file: Path, static: tuple[Path, ...], events: Path | None) -> dict[str, Any]:
    from sensorstream.streams.event_lines import EventLines
    from sensorstream.streams.explain import graph_data

    opened = _open(query_file, static)
    processor = opened.processor
    running = processor.register(
        opened.name, opened.text, opened.query, lambda _: None, opened.named
    )
    lines = EventLines(str(events))
    if events is not None:
        with events.open(encoding="utf-8") as source:
            for event in lines.read(source):
                processor.push(event)
    written: Callable[[Instant], object] = lines.format
    return graph_data(running, written)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A query of a file, and what it reads."""

    name: str
    text: str
    query: Query
    default: TripleIndex
    named: dict[IRI, TripleIndex]
    processor: StreamProcessor


def _open(query_file: Path, static: tuple[Path, ...]) -> _Opened:
    from sensorstream.sparql.parser import parse_query
    from sensorstream.streams.background import Background
    from sensorstream.streams.event_lines import SECOND, instant_of
    from sensorstream.streams.processor import StreamProcessor

    background = Background()
    background.read(static)
    processor = StreamProcessor(
        background.default,
        instant=instant_of,
        second=SECOND,
    )
    text = query_file.read_text(encoding="utf-8")
    query = parse_query(text, file=str(query_file), base=query_file.absolute().as_uri())
    named = background.named(query.dataset, query_file)
    name = query_file.stem if query.registration is None else str(query.registration.name)
    return _Opened(name, text, query, background.default, named, processor)
