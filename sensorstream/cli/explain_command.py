"""``sensorstream explain``: the operators of a continuous query, or how another one is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.options import FILE, server_options, server_url
from sensorstream.cli.printers import EventPrinter
from sensorstream.cli.run_command import EngineOptions, engine_options, offline_engine
from sensorstream.cli.terminal import lasting, print_lines
from sensorstream.model.frozen import frozen

if TYPE_CHECKING:
    from sensorstream.model.timeline import Instant


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
def command(url: str | None, **given: Any) -> None:
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
    asked = _Asked(url=url, **given)
    data = asked.operators() if asked.place is None else asked.answered()
    if asked.as_json:
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
    elif asked.place is not None:
        print_lines(f"-- {heading}\n{part}\n" for heading, part in data.items() if part)
    else:
        from sensorstream.streams.operator_graph import tree

        print_lines(data["plan"] if asked.only_plan else tree(data))


@frozen
class _Asked:
    """The options that say what is to be explained."""

    sparql: str | None
    place: str | None
    at: str | None
    during: str | None
    analyze: bool
    query_file: Path | None
    events: Path | None
    made_of: EngineOptions
    name: str | None
    url: str | None
    config: Path
    only_plan: bool
    as_json: bool

    def answered(self) -> dict[str, Any]:
        """Explain how a query is answered at a place: its algebra, its SQL, the plan."""
        place = self.place
        if self.sparql is None or self.query_file is not None or self.name is not None:
            raise click.UsageError(f'--on {place} explains one query: expected "SPARQL"')
        if place == "spark" and self.url is not None:
            raise click.UsageError(
                "--on spark: this command starts Spark itself: leave --url out, or ask the "
                "server's Spark by 'sensorstream jobs start --plan'"
            )
        is_of_server = place in _OF_SERVER or self.url is not None
        if self.analyze and (is_of_server or place == "spark"):
            raise click.UsageError(
                "--analyze needs --on history or archive, without --url: leave it out"
            )
        if not is_of_server:
            return _of_history(self, self.sparql)
        with (
            CommandClient(server_url(self.url, self.config)) as client,
            lasting("the server plans the query"),
        ):
            return client.plan(self.sparql, on=str(place), at=self.at, during=self.during)

    def operators(self) -> dict[str, Any]:
        """The operators of a continuous query, or their plan alone."""
        file, name, at, during = self.query_file, self.name, self.at, self.during
        if self.sparql is not None or at is not None or during is not None or self.analyze:
            raise click.UsageError("SPARQL, --at, --during and --analyze need --on")
        if (file is None) is (name is None):
            raise click.UsageError("expected --query FILE, or --name NAME of a query on a server")
        if self.only_plan and self.events is not None:
            raise click.UsageError("--plan runs nothing: leave --events out")
        if file is not None:
            if self.only_plan:
                return {"plan": _plan(file, self.made_of.static)}
            return _explained(file, self.events, self.made_of)
        with CommandClient(server_url(self.url, self.config)) as client:
            data = client.query_graph(str(name))
        return {"plan": data["plan"]} if self.only_plan else data


def _of_history(asked: _Asked, text: str) -> dict[str, str]:
    from sensorstream.cli.history_command import opened
    from sensorstream.history.asking.checked_question import ARCHIVE, SPARK, read_question
    from sensorstream.history.asking.query_run import AskingLimits, plan_of
    from sensorstream.settings.settings_file import load_settings

    settings, place = load_settings(asked.config), str(asked.place)
    question = read_question(text, settings.time.timeline, at=asked.at, during=asked.during)
    limits = AskingLimits(settings.limits.question_seconds, settings.limits.question_rows)
    engine = {ARCHIVE: "DuckDB plans", SPARK: "Spark starts and plans"}.get(place)
    with opened(settings, f"{engine or 'PostgreSQL plans'} the query") as (url, _, _):
        if place == SPARK:
            from sensorstream.history.asking.split_question import sql_question
            from sensorstream.spark.history_snapshot import HistoryPlace
            from sensorstream.spark.launch import spark_session
            from sensorstream.spark.sparql import spark_query

            where = HistoryPlace(url, settings.archive.folder)
            spark_query.check(sql_question(question))
            with spark_session(settings.spark) as spark:
                found = spark_query.plan_of(spark, where, question)
        elif place == ARCHIVE:
            from sensorstream.archive.archive_queries import archive_plan
            from sensorstream.cli.query_command import archive_of

            archive = archive_of(settings, url)
            found = archive_plan(archive, question, limits, analyze=asked.analyze)
        else:
            found = plan_of(url, question, limits, analyze=asked.analyze)
    return {"algebra": found.algebra, "sql": found.sql, "plan": found.plan}


def _plan(query_file: Path, static: tuple[Path, ...]) -> list[str]:
    from sensorstream.app.recorded_engine import read_background
    from sensorstream.cli.run_command import OVER_TIME, read_queries, rules_over_time
    from sensorstream.errors import Position
    from sensorstream.kb.triple_index import TripleIndex
    from sensorstream.model.timeline import Timeline
    from sensorstream.network.plan.plan_text import plan_lines
    from sensorstream.network.query_sources import DEFAULT
    from sensorstream.sparql.dotr.dotr_reader import read_program
    from sensorstream.streams.event_lines import SECOND, instant_of
    from sensorstream.streams.processor import StreamProcessor
    from sensorstream.streams.query_planning import check_graphs

    background, default = read_background(static), TripleIndex()
    default.add(*background.triples())
    processor = StreamProcessor(default, instant=instant_of, second=SECOND, line=Timeline.DATETIME)
    if query_file.suffix == OVER_TIME:
        ((name, text),) = rules_over_time([query_file])
        program = read_program(text, name=name, start=Position(str(query_file), 1, 1))
        return list(plan_lines(processor.check(name, program).plan))
    ((name, _, _, query),) = read_queries([query_file], background)
    graphs = background.chosen(query.dataset, query_file)
    check_graphs(query, graphs)
    plan = processor.check(name, query, graphs).plan
    return list(plan_lines(plan, {DEFAULT: default}))


def _explained(file: Path, events: Path | None, made_of: EngineOptions) -> dict[str, Any]:
    """The operators, once the engine has taken the events."""
    from sensorstream.app.recorded_engine import read_background, recorded_events
    from sensorstream.streams.event_lines import EventLines
    from sensorstream.streams.operator_graph import graph_data

    lines = EventLines(str(events))
    if events is not None:
        with events.open(encoding="utf-8") as source:
            lines.begin(source)
    background = read_background(made_of.static)
    engine, (running, *_) = offline_engine([file], made_of, background, lines.line.value)
    with closing(engine):
        if events is not None:
            counted = EventPrinter(lines.format)
            with events.open(encoding="utf-8") as source:
                for event in recorded_events(lines, source):
                    counted.count(engine.take(event))
            if engine.held:
                click.echo(f"{engine.held} events wait, because earlier ones might come", err=True)
            counted.say_counts(made_of.lateness)
        written: Callable[[Instant], object] = lines.format
        return graph_data(running, written)
