"""``sensorstream query``: SPARQL over cache, history, both, the archive, or the ontology."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final

import click

from sensorstream.cli.options import server_options, server_url
from sensorstream.extras import require

if TYPE_CHECKING:
    from sensorstream.archive.sparql.asking import Archive
    from sensorstream.settings import Settings

_JSON: Final = "application/sparql-results+json"
_XML: Final = "application/sparql-results+xml"
_TURTLE: Final = "text/turtle"
_NTRIPLES: Final = "application/n-triples"
_FORMATS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "table": (_JSON, _TURTLE),
        "json": (_JSON,),
        "xml": (_XML,),
        "csv": ("text/csv",),
        "tsv": ("text/tab-separated-values",),
        "arrow": ("application/vnd.apache.arrow.stream",),
        "parquet": ("application/vnd.apache.parquet",),
        "turtle": (_TURTLE,),
        "ntriples": (_NTRIPLES,),
    }
)
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
class Asked:
    """What is asked of what."""

    text: str
    on: str
    at: str | None
    during: str | None


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
    "--format", "form", type=click.Choice(list(_FORMATS)), help="By default a table, or Turtle."
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
    chosen = form or format_of(output)
    if chosen in _BINARY and output is None and sys.stdout.isatty():
        raise click.UsageError(f"{chosen} is binary: name a file with --output")
    text = sys.stdin.read() if query == "-" else query
    asked = Asked(text, place, at, during)
    if place == "spark" and url is not None:
        raise click.UsageError("--on spark: this command starts Spark itself: leave --url out")
    write = _WRITERS.get(place, _of_server) if url is None else _of_server
    with target(output) as out:
        media_type = write(asked, url, config, _FORMATS[chosen], out, chosen == "json")
        if output is None:
            _show(out, chosen, media_type)


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


def _of_server(
    asked: Asked,
    url: str | None,
    config: Path,
    wanted: tuple[str, ...],
    out: IO[bytes],
    quiet: bool,
) -> str:
    from sensorstream.cli.client import Client
    from sensorstream.cli.lasting import lasting
    from sensorstream.client.questions import Scope

    first, *others = wanted
    accept = ", ".join((first, *(f"{each};q=0.9" for each in others)))
    with Client(server_url(url, config)) as client, lasting("the server answers", quiet=quiet):
        scope = Scope(asked.on, asked.at, asked.during)
        return client.write_sparql(asked.text, accept, scope, out)


def _of_history(
    asked: Asked,
    _url: str | None,
    config: Path,
    wanted: tuple[str, ...],
    out: IO[bytes],
    quiet: bool,
) -> str:
    from sensorstream.cli.lasting import lasting
    from sensorstream.history.asking import formats
    from sensorstream.history.asking.question import ARCHIVE, SPARK, read_question
    from sensorstream.history.asking.run import Limits, answered
    from sensorstream.history.opening import open_kept
    from sensorstream.settings_file import load_settings

    settings = load_settings(config)
    history, timeline = settings.history, settings.time.timeline
    question = read_question(asked.text, timeline, at=asked.at, during=asked.during)
    with ExitStack() as stack:
        say = stack.enter_context(lasting("opening the history", quiet=quiet))
        url = open_kept(history, stack)
        limits = Limits(settings.limits.question_seconds, settings.limits.question_rows)
        if asked.on == SPARK:
            from sensorstream.spark.snapshot import Place
            from sensorstream.spark.sparql.run import run_spark_sparql

            say("Spark starts and answers")
            answer = run_spark_sparql(
                Place(url, settings.archive.folder),
                question,
                master=settings.spark.master,
                row_limit=limits.rows,
            )
        elif asked.on == ARCHIVE:
            from sensorstream.archive.sparql.asking import archive_answered

            say("DuckDB answers")
            answer = stack.enter_context(
                archive_answered(archive_of(settings, url), question, limits)
            )
        else:
            say("PostgreSQL answers")
            answer = stack.enter_context(answered(url, question, limits))
        return formats.write(answer, wanted, out)


def _of_ontology(
    asked: Asked,
    _url: str | None,
    config: Path,
    wanted: tuple[str, ...],
    out: IO[bytes],
    quiet: bool,
) -> str:
    from sensorstream.app.questions.ontology import answers
    from sensorstream.cli.lasting import lasting
    from sensorstream.errors import Position
    from sensorstream.history.asking import formats
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.settings_file import load_settings
    from sensorstream.sparql.answerable import check_answerable
    from sensorstream.sparql.parser import read_query

    settings = load_settings(config)
    parsed = read_query(asked.text, start=Position("query", 1, 1))
    check_answerable(parsed)
    with lasting("reading the ontology", quiet=quiet) as say:
        ontology = deployed_ontology(settings.ontology)
        say("reasoning")
        [answer] = answers([parsed.meaning], ontology, settings.reasoning, settings.folder)
        return formats.write(answer, wanted, out)


_WRITERS: Final = MappingProxyType(
    {
        **dict.fromkeys(("history", "archive", "spark"), _of_history),
        "ontology": _of_ontology,
    }
)


def _show(kept: IO[bytes], form: str, media_type: str) -> None:
    from sensorstream.cli.terminal import print_solutions

    kept.seek(0)
    if form == "table" and media_type == _JSON:
        print_solutions(json.load(kept))
        return
    last = b""
    while piece := kept.read(1 << 16):
        click.echo(piece, nl=False)
        last = piece
    if form not in _BINARY and not last.endswith(b"\n"):
        click.echo()


def archive_of(settings: Settings, url: str) -> Archive:
    """The archive of the history at ``url``.

    Raises:
        MissingExtra: the modules that read it are not installed.
    """
    require("archive", "the archive")
    from sensorstream.archive.sparql.asking import Archive

    told = settings.archive
    return Archive(url, told.folder, settings.limits.question_memory)
