"""``sensorstream query``: SPARQL over cache, history, both, the archive, or the ontology."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.history import opened
from sensorstream.cli.options import server_options, server_url
from sensorstream.cli.terminal import lasting, print_solutions, print_table
from sensorstream.client.questions import Scope
from sensorstream.extras import require
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.archive.asking import Archive

_SOLUTIONS: Final = "application/sparql-results+json"
_JSON: Final = "application/json"
_TURTLE: Final = "text/turtle"
FORMATS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "table": (_SOLUTIONS, _TURTLE),
        "json": (_SOLUTIONS,),
        "xml": ("application/sparql-results+xml",),
        "csv": ("text/csv",),
        "tsv": ("text/tab-separated-values",),
        "arrow": ("application/vnd.apache.arrow.stream",),
        "parquet": ("application/vnd.apache.parquet",),
        "turtle": (_TURTLE,),
        "ntriples": ("application/n-triples",),
    }
)
"""The media types of each format of an answer, the best first."""
JOB_FORMATS: Final = MappingProxyType(
    {**FORMATS, "table": (_SOLUTIONS, _JSON, _TURTLE), "json": (_SOLUTIONS, _JSON)}
)
"""Those of a job, which may also answer SQL."""
_BINARY: Final = frozenset(("arrow", "parquet"))
OF_SUFFIX: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".json": "json",
        ".srj": "json",
        ".xml": "xml",
        ".srx": "xml",
        ".csv": "csv",
        ".tsv": "tsv",
        ".arrow": "arrow",
        ".arrows": "arrow",
        ".parquet": "parquet",
        ".ttl": "turtle",
        ".nt": "ntriples",
    }
)
_IN_MEMORY: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question: the place it is asked of, and the media types that its answer may have."""

    text: str
    scope: Scope
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
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), help="By default a table, or Turtle."
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Write a file; without --format, its name says the format: {', '.join(OF_SUFFIX)}.",
)
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
    asked = _Asked(text, Scope(on=place, at=at, during=during), FORMATS[chosen], chosen == "json")
    if place == "spark" and url is not None:
        raise click.UsageError("--on spark: this command starts Spark itself: leave --url out")
    with target(output) as out:
        if place in ("cache", "all") or url is not None:
            media_type = _of_server(asked, server_url(url, config), out)
        else:
            write = _of_ontology if place == "ontology" else _of_history
            media_type = write(asked, load_settings(config), out)
        if output is None:
            show_answer(out, chosen, media_type, ends=True)


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


def _of_server(asked: _Asked, url: str, out: IO[bytes]) -> str:
    with Client(url) as client, lasting("the server answers", quiet=asked.quiet):
        return client.write_sparql(asked.text, accepting(asked.wanted), asked.scope, out)


def _of_history(asked: _Asked, settings: Settings, out: IO[bytes]) -> str:
    from sensorstream.history.asking import formats
    from sensorstream.history.asking.question import ARCHIVE, SPARK, read_question
    from sensorstream.history.asking.run import Limits, answered

    scope = asked.scope
    line = settings.time.timeline
    question = read_question(asked.text, line, at=scope["at"], during=scope["during"])
    with opened(settings, quiet=asked.quiet) as (url, say, stack):
        limits = Limits(settings.limits.question_seconds, settings.limits.question_rows)
        if scope["on"] == SPARK:
            from sensorstream.spark.launch import spark_session
            from sensorstream.spark.snapshot import Place
            from sensorstream.spark.sparql.run import ask, check

            say("Spark starts and answers")
            check(question)
            place = Place(url, settings.archive.folder)
            with spark_session(settings.spark.master) as spark:
                answer = ask(spark, place, question, row_limit=limits.rows)
        elif scope["on"] == ARCHIVE:
            from sensorstream.archive.asking import archive_answered

            say("DuckDB answers")
            answer = stack.enter_context(
                archive_answered(archive_of(settings, url), question, limits)
            )
        else:
            say("PostgreSQL answers")
            answer = stack.enter_context(answered(url, question, limits))
        return formats.write(answer, asked.wanted, out)


def _of_ontology(asked: _Asked, settings: Settings, out: IO[bytes]) -> str:
    from sensorstream.app.questions.ontology import answers
    from sensorstream.errors import Position
    from sensorstream.history.asking import formats
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.sparql.answerable import check_answerable
    from sensorstream.sparql.parser import read_query

    parsed = read_query(asked.text, start=Position("query", 1, 1))
    check_answerable(parsed)
    with lasting("reading the ontology", quiet=asked.quiet) as say:
        ontology = deployed_ontology(settings.ontology)
        say("reasoning")
        [answer] = answers([parsed.meaning], ontology, settings.reasoning, settings.folder)
        return formats.write(answer, asked.wanted, out)


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
    """The archive of the history at ``url``.

    Raises:
        MissingExtra: the modules that read it are not installed.
    """
    require("archive", "the archive")
    from sensorstream.archive.asking import Archive

    told = settings.archive
    return Archive(url, told.folder, settings.limits.question_memory)
