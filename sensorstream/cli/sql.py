"""``sensorstream sql``: SQL over history, on PostgreSQL or on Spark, or over its archive."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.history import opened
from sensorstream.cli.options import address, config_option
from sensorstream.cli.terminal import print_json, print_table
from sensorstream.errors import ServerUnreachable
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.history.read_only_sql import SqlResult


@click.command("sql")
@click.argument("query", metavar="SQL")
@click.option(
    "--on",
    "place",
    type=click.Choice(["history", "spark", "archive"]),
    default="history",
    show_default=True,
    help="Query PostgreSQL, Spark over the same history, or the archive.",
)
@config_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "arrow"]),
    default="table",
    show_default=True,
    help="History's CSV and Arrow (a stream) have all rows; others end at limits.question_rows.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("--csv", "form", flag_value="csv", help="The same as --format csv.")
def command(query: str, place: str, config: Path, form: str) -> None:
    """Query the history in SQL, on PostgreSQL or Spark, or its archive.

    SQL is one SELECT, or "-" to read it from standard input; the tables are the views of the
    schema "history". Works beside a running server and without one. What names the schema "live",
    the same views of the window, is asked of the running server.
    """
    if form == "arrow" and sys.stdout.isatty():
        raise click.UsageError("Arrow is binary: send it to a file (> answer.arrows) or a program")
    text = sys.stdin.read() if query == "-" else query
    settings = load_settings(config)
    from sensorstream.history.read_only_sql import names_live

    if place == "history" and names_live(text):
        _of_server(settings, text, form)
        return
    with opened(settings, quiet=form == "json") as (url, say, _):
        ask, doing = _PLACES[place]
        say(doing)
        if place == "history" and form in ("csv", "arrow"):
            _write(_streamed(settings, url, text, form))
            return
        table = ask(settings, url, text)
    _show(table, form, settings)


def _of_server(settings: Settings, text: str, form: str) -> None:
    """Show the answer of the running server, which alone knows the window."""
    from sensorstream.history.read_only_sql import SqlResult
    from sensorstream.history.sql_formats import ARROW, CSV

    try:
        with Client(address(settings)) as client:
            if form in ("csv", "arrow"):
                client.write_sql(text, CSV if form == "csv" else ARROW, sys.stdout.buffer)
                return
            found = client.sql(text)
    except ServerUnreachable as error:
        raise ServerUnreachable(
            f"the views of schema live show the window, which only a running server knows: {error}"
        ) from None
    _show(SqlResult(found.columns, found.rows, found.truncated), form, settings)


def on_history(settings: Settings, url: str, text: str) -> SqlResult:
    """The answer of PostgreSQL at ``url``."""
    from sensorstream.history.read_only_sql import run_sql

    return run_sql(
        url,
        text,
        timeout=settings.limits.question_seconds,
        row_limit=settings.limits.question_rows,
    )


def on_spark(settings: Settings, url: str, text: str) -> SqlResult:
    """The answer of Spark over the history at ``url``."""
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.spark.bulk_sql import run_spark_sql
    from sensorstream.spark.snapshot import Place

    return run_spark_sql(
        Place(url, settings.archive.folder),
        text,
        schema=deployed_ontology(settings.ontology).schema,
        timeline=settings.time.timeline,
        master=settings.spark.master,
        timeout=settings.limits.question_seconds,
        row_limit=settings.limits.question_rows,
    )


def on_archive(settings: Settings, url: str, text: str) -> SqlResult:
    """The answer of DuckDB over the archive of the history at ``url``."""
    from sensorstream.cli.query import archive_of

    archive = archive_of(settings, url)
    from sensorstream.archive.asking import archive_sql
    from sensorstream.history.asking.run import Limits
    from sensorstream.history.view_definitions import view_definitions
    from sensorstream.reasoning.ontology import deployed_ontology

    views = view_definitions(deployed_ontology(settings.ontology).schema, settings.time.timeline)
    limits = Limits(settings.limits.question_seconds, settings.limits.question_rows)
    return archive_sql(archive, text, views, limits)


_PLACES: Final = {
    "history": (on_history, "PostgreSQL answers"),
    "spark": (on_spark, "Spark starts and answers"),
    "archive": (on_archive, "DuckDB answers"),
}


def _streamed(settings: Settings, url: str, text: str, form: str) -> Iterator[bytes]:
    """The whole answer of PostgreSQL, as it comes."""
    from sensorstream.history.read_only_sql import open_sql
    from sensorstream.history.sql_formats import arrow_pieces, csv_pieces

    with open_sql(url, text, timeout=settings.limits.question_seconds) as stream:
        yield from (csv_pieces if form == "csv" else arrow_pieces)(stream)


def _write(pieces: Iterable[bytes]) -> None:
    for each in pieces:
        click.echo(each, nl=False)


def _show(table: SqlResult, form: str, settings: Settings) -> None:
    from sensorstream.history.sql_formats import arrow_table, csv_table

    if form == "json":
        print_json({"columns": table.columns, "rows": table.rows, "truncated": table.truncated})
    elif form == "csv":
        _write([csv_table(table)])
    elif form == "arrow":
        _write([arrow_table(table)])
    else:
        print_table(table.columns, table.rows)
    if table.truncated:
        limit = settings.limits.question_rows
        click.echo(f"only the first {limit} rows: limits.question_rows cuts off the rest", err=True)
