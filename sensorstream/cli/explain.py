"""``sensorstream explain``: the operators of a continuous query, or how another one is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.offline import FILE, engine_options, offline_engine
from sensorstream.cli.options import server_options, server_url

if TYPE_CHECKING:
    from sensorstream.engine.engine import Engine
    from sensorstream.model.timeline import Instant
    from sensorstream.streams.continuous_query import ContinuousQuery
    from sensorstream.streams.event_lines import EventLines


_OF_SERVER: Final = ("cache", "all")


@click.command("explain")
@click.argument("sparql", required=False)
@click.option(
    "--on",
    "place",
    type=click.Choice(["cache", "history", "all", "archive", "spark"]),
    help="Explain the query SPARQL of this place instead: its algebra, its SQL, the plan.",
)
@click.option("--at", metavar="TIME", help="With --on: as in sensorstream query.")
@click.option("--during", metavar="A/B", help="With --on: as in sensorstream query.")
@click.option(
    "--analyze",
    is_flag=True,
    help="With --on history or archive, without --url: run the query, for real counts.",
)
@click.option("--query", "query_file", type=FILE, metavar="FILE", help="A continuous query.")
@click.option(
    "--events",
    type=FILE,
    metavar="FILE",
    help="Events to run the query over first, so that the counters are not zero.",
)
@engine_options
@click.option("--name", help="Instead: a query that runs on a server.")
@server_options
@click.option(
    "--plan", "only_plan", is_flag=True, help="Print the plan only; with --query, nothing is run."
)
@click.option("--json", "as_json", is_flag=True, help="Print the operators as JSON.")
def command(
    sparql: str | None,
    place: str | None,
    at: str | None,
    during: str | None,
    analyze: bool,
    query_file: Path | None,
    events: Path | None,
    rules: tuple[Path, ...],
    static: tuple[Path, ...],
    window: str,
    profile: str,
    lateness: str,
    name: str | None,
    url: str | None,
    config: Path,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Show the operators of a continuous query as a tree.

    Each line is an operator, above its inputs, with its number, the solutions it has produced ("+"
    added, "-" removed), the rows it stores, and how many operators use it. A query that cannot be
    maintained incrementally is reported with the reason. Events are processed as in "sensorstream
    run".

    With --plan: the planned operators, before any is built, and the number of rows expected of
    patterns over --static.

    With --on: how Oxigraph, PostgreSQL, DuckDB or Spark answers a query that "sensorstream query"
    asks there. The server is asked with --on cache or all, and where --url is given.
    """
    if place is not None:
        if sparql is None or query_file is not None or name is not None:
            raise click.UsageError(f'--on {place} explains one query: expected "SPARQL"')
        if place == "spark" and url is not None:
            raise click.UsageError(
                "--on spark: this command starts Spark itself: leave --url out, or ask the "
                "server's Spark by 'sensorstream jobs start --plan'"
            )
        is_of_server = place in _OF_SERVER or url is not None
        if analyze and (is_of_server or place == "spark"):
            raise click.UsageError(
                "--analyze needs --on history or archive, without --url: leave it out"
            )
        if is_of_server:
            parts = _of_server(sparql, place, url, config, at, during, as_json)
        else:
            parts = _of_history(sparql, place, config, at, during, analyze, as_json)
        _show(parts, as_json)
        return
    if sparql is not None or at is not None or during is not None or analyze:
        raise click.UsageError("SPARQL, --at, --during and --analyze need --on")
    if (query_file is None) is (name is None):
        raise click.UsageError("expected --query FILE, or --name NAME of a query on a server")
    if only_plan and events is not None:
        raise click.UsageError("--plan runs nothing: leave --events out")
    if query_file is not None and only_plan:
        data = {"plan": _plan(query_file, static)}
    elif query_file is not None:
        from sensorstream.app.recorded import read_background
        from sensorstream.streams.event_lines import EventLines

        lines = EventLines(str(events))
        if events is not None:
            with events.open(encoding="utf-8") as source:
                lines.begin(source)
        engine, (running, *_) = offline_engine(
            [query_file],
            rules=rules,
            background=read_background(static),
            window=window,
            profile=profile,
            lateness=lateness,
            line=lines.line.value,
        )
        with closing(engine):
            data = _explained(engine, running, events, lines, lateness)
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
    from sensorstream.streams.operator_graph import tree

    for line in data["plan"] if only_plan else tree(data):
        click.echo(line)


def _of_server(
    text: str,
    place: str,
    url: str | None,
    config: Path,
    at: str | None,
    during: str | None,
    quiet: bool,
) -> dict[str, str]:
    from sensorstream.cli.client import Client
    from sensorstream.cli.lasting import lasting

    with (
        Client(server_url(url, config)) as client,
        lasting("the server plans the query", quiet=quiet),
    ):
        return client.plan(text, on=place, at=at, during=during)


def _of_history(
    text: str,
    place: str,
    config: Path,
    at: str | None,
    during: str | None,
    analyze: bool,
    quiet: bool,
) -> dict[str, str]:
    from sensorstream.cli.lasting import lasting
    from sensorstream.history.asking.question import ARCHIVE, SPARK, read_question
    from sensorstream.history.asking.run import Limits, plan_of
    from sensorstream.history.opening import open_kept
    from sensorstream.settings_file import load_settings

    settings = load_settings(config)
    history = settings.history
    question = read_question(text, settings.time.timeline, at=at, during=during)
    with ExitStack() as stack:
        limits = Limits(settings.limits.question_seconds, settings.limits.question_rows)
        engine = {ARCHIVE: "DuckDB plans", SPARK: "Spark starts and plans"}.get(place)
        stack.enter_context(lasting(f"{engine or 'PostgreSQL plans'} the query", quiet=quiet))
        url = open_kept(history, stack)
        if place == SPARK:
            from sensorstream.spark.snapshot import Place
            from sensorstream.spark.sparql.run import run_spark_plan

            where = Place(url, settings.archive.folder)
            found = run_spark_plan(where, question, master=settings.spark.master)
        elif place == ARCHIVE:
            from sensorstream.archive.asking import archive_plan
            from sensorstream.cli.query import archive_of

            archive = archive_of(settings, url)
            found = archive_plan(archive, question, limits, analyze=analyze)
        else:
            found = plan_of(url, question, limits, analyze=analyze)
    return {"algebra": found.algebra, "sql": found.sql, "plan": found.plan}


def _show(parts: dict[str, str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(parts, ensure_ascii=False, indent=2))
        return
    for heading, part in parts.items():
        if part:
            click.echo(f"-- {heading}\n{part}\n")


def _plan(query_file: Path, static: tuple[Path, ...]) -> list[str]:
    from sensorstream.app.recorded import read_background
    from sensorstream.cli.offline import OVER_TIME, read_queries, rules_over_time
    from sensorstream.dotr.reader import read_program
    from sensorstream.errors import Position
    from sensorstream.kb.index import TripleIndex
    from sensorstream.model.timeline import Timeline
    from sensorstream.network.plan.text import plan_lines
    from sensorstream.network.sources import DEFAULT
    from sensorstream.streams.event_lines import SECOND, instant_of
    from sensorstream.streams.planning import check_graphs
    from sensorstream.streams.processor import StreamProcessor

    background, default = read_background(static), TripleIndex()
    for triple in background.triples():
        if triple not in default:
            default.add(triple)
    processor = StreamProcessor(default, instant=instant_of, second=SECOND, line=Timeline.DATETIME)
    if query_file.suffix == OVER_TIME:
        ((name, text),) = rules_over_time([query_file])
        program = read_program(text, name=name, start=Position(str(query_file), 1, 1))
        return list(plan_lines(processor.check_rules(name, program).patterns))
    ((name, _, _, query),) = read_queries([query_file], background)
    graphs = background.named(query.dataset, query_file)
    check_graphs(query, graphs)
    plan = processor.check(name, query, graphs)
    return list(plan_lines(plan, {DEFAULT: default}))


def _explained(
    engine: Engine,
    running: ContinuousQuery,
    events: Path | None,
    lines: EventLines,
    lateness: str,
) -> dict[str, Any]:
    """The operators, once the engine has taken the events."""
    from sensorstream.app.recorded import recorded_events
    from sensorstream.cli.event_printer import EventPrinter
    from sensorstream.streams.operator_graph import graph_data

    if events is not None:
        counted = EventPrinter(lines.format)
        with events.open(encoding="utf-8") as source:
            for event in recorded_events(lines, source):
                counted.count(engine.take(event))
        if engine.held:
            click.echo(f"{engine.held} events wait, because earlier ones might come", err=True)
        counted.say_counts(lateness)
    written: Callable[[Instant], object] = lines.format
    return graph_data(running, written)
