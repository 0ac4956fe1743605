"""Questions: ``query`` in SPARQL, ``sql``, and ``jobs``, long ones that a server puts to Spark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import asks, served
from sensorstream.cli.history_command import opened
from sensorstream.cli.options import (
    Command,
    address,
    all_of,
    config_option,
    server_options,
    server_url,
)
from sensorstream.cli.terminal import (
    lasting,
    print_fields,
    print_json,
    print_solutions,
    print_table,
    working,
)
from sensorstream.client.question_operations import AskedOf
from sensorstream.errors import ServerUnreachable
from sensorstream.installation import require
from sensorstream.model.frozen import frozen
from sensorstream.model.rdf_formats import RDF_FORMATS
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.archive.archive_queries import Archive
    from sensorstream.history.read_only_sql import SqlResult

_SOLUTIONS: Final = "application/sparql-results+json"
_JSON: Final = "application/json"
_TURTLE: Final = RDF_FORMATS["turtle"][0]
_KINDS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "table": ((_SOLUTIONS, _TURTLE), ()),
    "json": ((_SOLUTIONS,), (".json", ".srj")),
    "xml": (("application/sparql-results+xml",), (".xml", ".srx")),
    "csv": (("text/csv",), (".csv",)),
    "tsv": (("text/tab-separated-values",), (".tsv",)),
    "arrow": (("application/vnd.apache.arrow.stream",), (".arrow", ".arrows")),
    "parquet": (("application/vnd.apache.parquet",), (".parquet",)),
    **{form: ((kind,), ends[:1]) for form, (kind, ends) in RDF_FORMATS.items()},
}
"""The media types of each format of an answer, the best first, and the endings of its files."""
FORMATS: Final = {form: types for form, (types, _) in _KINDS.items()}
JOB_FORMATS: Final = {
    **FORMATS,
    "table": (_SOLUTIONS, _JSON, _TURTLE),
    "json": (_SOLUTIONS, _JSON),
}
"""The formats of a job, which may also answer SQL."""
OF_SUFFIX: Final = {end: form for form, (_, ends) in _KINDS.items() for end in ends}
_BINARY: Final = frozenset(("arrow", "parquet"))
_IN_MEMORY: Final = 16 * 1024 * 1024


_json_form: Final = click.option(
    "--json", "form", flag_value="json", help="The same as --format json."
)


def _answer_options(endings: str) -> Callable[[Command], Command]:
    """``--format``, ``--json`` and ``--output``, whose name may have one of these endings."""
    return all_of(
        click.option(
            "--format",
            "form",
            type=click.Choice(list(_KINDS)),
            help="By default a table, or Turtle.",
        ),
        _json_form,
        click.option(
            "--output",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=f"Write a file; without --format, its name says the format: {endings}",
        ),
    )


@frozen
class _Asked:
    """A question: the place it is asked of, and the media types that its answer may have."""

    text: str
    scope: AskedOf
    wanted: tuple[str, ...]
    quiet: bool


@click.command("query")
@click.argument("query", metavar="SPARQL")
@server_options
@click.option(
    "--on",
    "place",
    type=click.Choice(["cache", "history", "all", "spark", "archive", "ontology"]),
    default="cache",
    show_default=True,
    help="What holds now; what has left the window; both; history, on Spark; its archive; "
    "the ontology's files and what follows from them.",
)
@click.option("--at", metavar="TIME", help="Of history: what held at a time of the time line.")
@click.option("--during", metavar="A/B", help="Of history: what held at any time from A to B.")
@_answer_options(f"{', '.join(OF_SUFFIX)}.")
def command(
    query: str,
    url: str | None,
    config: Path,
    place: str,
    at: str | None,
    during: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Query the knowledge base in SPARQL: what holds now, and what once held.

    SPARQL is the query itself, or "-" to read it from standard input. The cache is that of a
    running server. History is read beside the server or without one, as "sensorstream sql" does;
    with --url the server of that address is asked. The ontology is that of the settings' files,
    with all that follows by the profile of the settings.
    """
    if at is not None and during is not None:
        raise click.UsageError("--at or --during: a query has one valid time")
    if place == "cache" and (at is not None or during is not None):
        raise click.UsageError(
            "the cache knows the present only: --at and --during need --on history, all or archive"
        )
    if place == "ontology" and not (url is None and at is None and during is None):
        raise click.UsageError(
            "--on ontology reads files, which hold always: leave --url, --at and --during out"
        )
    chosen = chosen_format(form, output)
    text = sys.stdin.read() if query == "-" else query
    asked = _Asked(text, AskedOf(on=place, at=at, during=during), FORMATS[chosen], chosen == "json")
    if place == "spark" and url is not None:
        raise click.UsageError("--on spark: this command starts Spark itself: leave --url out")
    with target(output) as out:
        media_type = _write_answer(asked, url, config, out)
        if output is None:
            show_answer(out, chosen, media_type, ends=True)


def _write_answer(asked: _Asked, url: str | None, config: Path, out: IO[bytes]) -> str:
    place = asked.scope["on"]
    if place in ("cache", "all") or url is not None:
        with (
            CommandClient(server_url(url, config)) as client,
            lasting("the server answers", quiet=asked.quiet),
        ):
            return client.write_sparql(asked.text, accepting(asked.wanted), asked.scope, out)
    write = _of_ontology if place == "ontology" else _of_history
    return write(asked, load_settings(config), out)


def statements(scope: AskedOf, url: str | None, config: Path, quiet: bool) -> str:
    """All statements of the place that a query would be asked of, in N-Triples."""
    asked = _Asked("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", scope, FORMATS["ntriples"], quiet)
    with target(None) as out:
        _write_answer(asked, url, config, out)
        out.seek(0)
        return out.read().decode()


def chosen_format(form: str | None, output: Path | None) -> str:
    """The format that is asked for, or that the name of the output says."""
    chosen = form or format_of(output)
    if chosen in _BINARY and output is None and sys.stdout.isatty():
        raise click.UsageError(f"{chosen} is binary: name a file with --output")
    return chosen


def accepting(wanted: tuple[str, ...]) -> str:
    """The header ``Accept`` of media types, the best first."""
    first, *others = wanted
    return ", ".join((first, *(f"{each};q=0.9" for each in others)))


def format_of(output: Path | None) -> str:
    """The format that the name of a file says; a table without one."""
    if output is None:
        return "table"
    form = OF_SUFFIX.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(
            f"--output {output}: its name says no format: expected --format, or one of "
            f"{', '.join(OF_SUFFIX)}"
        )
    return form


@contextmanager
def target(output: Path | None) -> Iterator[IO[bytes]]:
    """A file in memory; or the output, which is there only when all has been written."""
    if output is None:
        with SpooledTemporaryFile[bytes](max_size=_IN_MEMORY) as kept:
            yield kept
        return
    part = output.with_name(f".{output.name}.part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(output)
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _of_history(asked: _Asked, settings: Settings, out: IO[bytes]) -> str:
    from sensorstream.history.asking import answer_formats
    from sensorstream.history.asking.checked_question import ARCHIVE, SPARK, read_question
    from sensorstream.history.asking.query_run import AskingLimits, answered
    from sensorstream.history.asking.split_question import sql_question

    scope = asked.scope
    line = settings.time.timeline
    question = read_question(asked.text, line, at=scope["at"], during=scope["during"])
    with opened(settings, quiet=asked.quiet) as (url, say, stack):
        limits = AskingLimits(settings.limits.question_seconds, settings.limits.question_rows)
        if scope["on"] == SPARK:
            from sensorstream.spark.history_snapshot import HistoryPlace
            from sensorstream.spark.launch import spark_session
            from sensorstream.spark.sparql.spark_query import ask, check

            say("Spark starts and answers")
            check(sql_question(question))
            place = HistoryPlace(url, settings.archive.folder)
            with spark_session(settings.spark) as spark:
                answer = ask(spark, place, question, row_limit=limits.rows)
        elif scope["on"] == ARCHIVE:
            from sensorstream.archive.archive_queries import archive_answered

            say("DuckDB answers")
            answer = stack.enter_context(
                archive_answered(archive_of(settings, url), question, limits)
            )
        else:
            say("PostgreSQL answers")
            answer = stack.enter_context(answered(url, question, limits))
        return answer_formats.write(answer, asked.wanted, out)


def _of_ontology(asked: _Asked, settings: Settings, out: IO[bytes]) -> str:
    from sensorstream.app.questions.ontology_questions import answers
    from sensorstream.errors import Position
    from sensorstream.history.asking import answer_formats
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.sparql.answerable import check_answerable
    from sensorstream.sparql.query_parser import read_query

    parsed = read_query(asked.text, start=Position("query", 1, 1))
    check_answerable(parsed)
    with lasting("reading the ontology", quiet=asked.quiet) as say:
        ontology = deployed_ontology(settings.ontology)
        say("reasoning")
        [answer] = answers([parsed.meaning], ontology, settings.reasoning, settings.folder)
        return answer_formats.write(answer, asked.wanted, out)


def show_answer(kept: IO[bytes], form: str, media_type: str, *, ends: bool = False) -> None:
    """Print an answer; ``ends``: also a line feed at its end, if it has none."""
    kept.seek(0)
    if form == "table" and media_type == _SOLUTIONS:
        print_solutions(json.load(kept))
        return
    if form == "table" and media_type == _JSON:
        table = json.load(kept)
        print_table(table["columns"], table["rows"])
        return
    last = b""
    while piece := kept.read(1 << 16):
        click.echo(piece, nl=False)
        last = piece
    if ends and form not in _BINARY and not last.endswith(b"\n"):
        click.echo()


def archive_of(settings: Settings, url: str) -> Archive:
    """The archive of the history at ``url``; raises MissingExtra if its modules are missing."""
    require("archive", "the archive")
    from sensorstream.archive.archive_queries import Archive

    told = settings.archive
    return Archive(url, told.folder, settings.limits.question_memory)


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
@_json_form
@click.option("--csv", "form", flag_value="csv", help="The same as --format csv.")
@click.option(
    "--output",
    metavar="PATH",
    help="On Spark: a folder or an address for the executors to write to: .parquet or .csv.",
)
def sql(query: str, place: str, config: Path, form: str, output: str | None) -> None:
    """Query the history in SQL, on PostgreSQL or Spark, or its archive.

    SQL is one SELECT, or "-" to read it from standard input; the tables are the views of the
    schema "history". Works beside a running server and without one. What names the schema "live",
    the same views of the window, is asked of the running server.
    """
    if form == "arrow" and sys.stdout.isatty():
        raise click.UsageError("Arrow is binary: send it to a file (> answer.arrows) or a program")
    if output is not None and place != "spark":
        raise click.UsageError("--output: Spark's executors write it: add --on spark")
    text = sys.stdin.read() if query == "-" else query
    settings = load_settings(config)
    from sensorstream.history.read_only_sql import names_live

    if place == "history" and names_live(text):
        _sql_of_server(settings, text, form)
        return
    with opened(settings, quiet=form == "json") as (url, say, _):
        ask, doing = _PLACES[place]
        say(doing)
        if place == "history" and form in ("csv", "arrow"):
            _write(_streamed(settings, url, text, form))
            return
        if output is not None:
            ask = partial(on_spark, output=output)
        table = ask(settings, url, text)
    _show_table(table, form, settings)


def _sql_of_server(settings: Settings, text: str, form: str) -> None:
    """Show the answer of the running server, which alone knows the window."""
    from sensorstream.history.asking.answer_formats import ARROW, CSV
    from sensorstream.history.read_only_sql import SqlResult

    try:
        with CommandClient(address(settings)) as client:
            if form in ("csv", "arrow"):
                client.write_sql(text, CSV if form == "csv" else ARROW, sys.stdout.buffer)
                return
            found = client.sql(text)
    except ServerUnreachable as error:
        raise ServerUnreachable(
            f"the views of schema live show the window, which only a running server knows: {error}"
        ) from None
    _show_table(SqlResult(found.columns, found.rows, found.truncated), form, settings)


def on_history(settings: Settings, url: str, text: str) -> SqlResult:
    """The answer of PostgreSQL at ``url``."""
    from sensorstream.history.read_only_sql import run_sql

    limits = settings.limits
    return run_sql(url, text, timeout=limits.question_seconds, row_limit=limits.question_rows)


def on_spark(settings: Settings, url: str, text: str, output: str | None = None) -> SqlResult:
    """The answer of Spark over the history at ``url``, or where its executors have written it."""
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.spark.bulk_sql import run_spark_sql
    from sensorstream.spark.history_snapshot import HistoryPlace

    return run_spark_sql(
        HistoryPlace(url, settings.archive.folder),
        text,
        schema=deployed_ontology(settings.ontology).schema,
        timeline=settings.time.timeline,
        at=settings.spark,
        timeout=settings.limits.question_seconds,
        row_limit=settings.limits.question_rows,
        output=output,
    )


def on_archive(settings: Settings, url: str, text: str) -> SqlResult:
    """The answer of DuckDB over the archive of the history at ``url``."""
    archive = archive_of(settings, url)
    from sensorstream.archive.archive_queries import archive_sql
    from sensorstream.history.asking.query_run import AskingLimits
    from sensorstream.history.view_definitions import view_definitions
    from sensorstream.reasoning.ontology import deployed_ontology

    views = view_definitions(deployed_ontology(settings.ontology).schema, settings.time.timeline)
    limits = AskingLimits(settings.limits.question_seconds, settings.limits.question_rows)
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


def _show_table(table: SqlResult, form: str, settings: Settings) -> None:
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


_LOOK: Final = 0.5
"""Seconds between two looks at a job that is waited for."""
_ID: Final = click.Argument(["job_id"], metavar="ID")


@click.group("jobs")
def jobs() -> None:
    """Start long questions to Spark and read their results; list and cancel all that runs.

    A running server keeps them in a queue; its Spark answers one after the other.
    """


@served(jobs.command("start"), lambda job: click.echo(job["id"]))
@click.argument("text", metavar="TEXT")
@click.option("--language", type=click.Choice(["sql", "sparql"]), default="sql", show_default=True)
@click.option("--at", metavar="TIME", help="SPARQL: what held at a time of the time line.")
@click.option("--during", metavar="A/B", help="SPARQL: what held at any time from A to B.")
@click.option("--plan", is_flag=True, help="Not the answer, but how Spark would find it.")
@click.option(
    "--output",
    metavar="PATH",
    help="A folder or an address below spark.results for Spark to write to: .parquet or .csv.",
)
def start(client: CommandClient, text: str, **how: Any) -> dict[str, Any]:
    """Put a question into the queue; prints the id of its job.

    TEXT is the question itself, or "-" to read it from standard input.
    """
    return client.start_job(sys.stdin.read() if text == "-" else text, **how)


def _show_list(found: list[dict[str, Any]]) -> None:
    rows = []
    for each in found:
        text = f"{'plan of ' if each['plan'] else ''}{' '.join(each['text'].split())}"
        rows.append([each["id"], each["state"], _progress(each), each["rows"], text])
    print_table(("id", "state", "progress", "rows", "text"), rows)


def _show_one(found: dict[str, Any]) -> None:
    error = found["error"] and found["error"]["detail"]
    print_fields({**found, "progress": _progress(found), "error": error})


_add = partial(asks, jobs)
_add(
    "list",
    CommandClient.jobs,
    "The questions that are being answered, and all jobs that the server keeps.",
    show=_show_list,
)
_add("show", CommandClient.job, "One job: its state, and how far it is.", _ID, show=_show_one)
_add(
    "cancel",
    CommandClient.delete_job,
    "End a question; or a job, which is forgotten with its result.",
    _ID,
    says="removed {job_id}",
)


@served(jobs.command("result"))
@click.argument("job_id", metavar="ID")
@click.option("--wait", is_flag=True, help="Wait until the job has ended.")
@_answer_options(".csv, .parquet ...")
def result(
    client: CommandClient, job_id: str, wait: bool, form: str | None, output: Path | None
) -> None:
    """The rows that a job found; if it failed, its error."""
    chosen = chosen_format(form, output)
    if wait:
        _wait(client, job_id)
    with target(output) as out:
        media_type = client.write_job_result(job_id, accepting(JOB_FORMATS[chosen]), out)
        if output is None:
            show_answer(out, chosen, media_type)


def _wait(client: CommandClient, job_id: str) -> None:
    with working("the job waits") as say:
        while (job := client.job(job_id))["ended_at"] is None:
            if job["state"] == "running":
                say("Spark answers" if job["progress"] else "Spark starts", _progress(job))
            time.sleep(_LOOK)


def _progress(job: Mapping[str, Any]) -> str:
    told = job["progress"]
    return f"{told['tasks_done']} of {told['tasks']} tasks" if told and told["tasks"] else ""
