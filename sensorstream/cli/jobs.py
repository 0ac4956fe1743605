"""``sensorstream jobs``: what runs on a server for clients, and long questions to Spark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import served

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_SOLUTIONS: Final = "application/sparql-results+json"
_JSON: Final = "application/json"
_TURTLE: Final = "text/turtle"
_FORMATS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "table": (_SOLUTIONS, _JSON, _TURTLE),
        "json": (_SOLUTIONS, _JSON),
        "xml": ("application/sparql-results+xml",),
        "csv": ("text/csv",),
        "tsv": ("text/tab-separated-values",),
        "arrow": ("application/vnd.apache.arrow.stream",),
        "parquet": ("application/vnd.apache.parquet",),
        "turtle": (_TURTLE,),
        "ntriples": ("application/n-triples",),
    }
)
_BINARY: Final = frozenset(("arrow", "parquet"))
_LOOK: Final = 0.5
"""Seconds between two looks at a job that is waited for."""


@click.group("jobs")
def command() -> None:
    """Start long questions to Spark and read their results; list and cancel all that runs.

    A running server keeps them in a queue; its Spark answers one after the other.
    """


@served(command.command("start"), lambda job: click.echo(job["id"]))
@click.argument("text", metavar="TEXT")
@click.option("--language", type=click.Choice(["sql", "sparql"]), default="sql", show_default=True)
@click.option("--at", metavar="TIME", help="SPARQL: what held at a time of the time line.")
@click.option("--during", metavar="A/B", help="SPARQL: what held at any time from A to B.")
@click.option("--plan", is_flag=True, help="Not the answer, but how Spark would find it.")
def start(
    client: Client, text: str, language: str, at: str | None, during: str | None, plan: bool
) -> dict[str, Any]:
    """Put a question into the queue; prints the id of its job.

    TEXT is the question itself, or "-" to read it from standard input.
    """
    asked = sys.stdin.read() if text == "-" else text
    return client.start_job(asked, language, at=at, during=during, plan=plan)


def _show_list(found: list[dict[str, Any]]) -> None:
    from sensorstream.cli.terminal import print_table

    rows = [
        [each["id"], each["state"], _progress(each), each["rows"], _text(each)] for each in found
    ]
    print_table(("id", "state", "progress", "rows", "text"), rows)


@served(command.command("list"), _show_list)
def list_(client: Client) -> list[dict[str, Any]]:
    """The questions that are being answered, and all jobs that the server keeps."""
    return client.jobs()


def _show_one(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_fields

    error = found["error"] and found["error"]["detail"]
    print_fields({**found, "progress": _progress(found), "error": error})


@served(command.command("show"), _show_one)
@click.argument("job_id", metavar="ID")
def show(client: Client, job_id: str) -> dict[str, Any]:
    """One job: its state, and how far it is."""
    return client.job(job_id)


@served(command.command("cancel"))
@click.argument("job_id", metavar="ID")
def cancel(client: Client, job_id: str) -> None:
    """End a question; or a job, which is forgotten with its result."""
    client.delete_job(job_id)
    click.echo(f"removed {job_id}")


@served(command.command("result"))
@click.argument("job_id", metavar="ID")
@click.option("--wait", is_flag=True, help="Wait until the job has ended.")
@click.option(
    "--format", "form", type=click.Choice(list(_FORMATS)), help="By default a table, or Turtle."
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a file; without --format, its name says the format: .csv, .parquet ...",
)
def result(client: Client, job_id: str, wait: bool, form: str | None, output: Path | None) -> None:
    """The rows that a job found; if it failed, its error."""
    from sensorstream.cli.query import format_of, target

    chosen = form or format_of(output)
    if chosen in _BINARY and output is None and sys.stdout.isatty():
        raise click.UsageError(f"{chosen} is binary: name a file with --output")
    first, *others = _FORMATS[chosen]
    accept = ", ".join((first, *(f"{each};q=0.9" for each in others)))
    if wait:
        _wait(client, job_id)
    with target(output) as out:
        media_type = client.write_job_result(job_id, accept, out)
        if output is None:
            _show(out, chosen, media_type)


def _wait(client: Client, job_id: str) -> None:
    from sensorstream.cli.terminal import working

    with working("the job waits") as say:
        while (job := client.job(job_id))["ended_at"] is None:
            if job["state"] == "running":
                say("Spark answers" if job["progress"] else "Spark starts", _progress(job))
            time.sleep(_LOOK)


def _text(job: Mapping[str, Any]) -> str:
    return f"{'plan of ' if job['plan'] else ''}{' '.join(job['text'].split())}"


def _progress(job: Mapping[str, Any]) -> str:
    told = job["progress"]
    return f"{told['tasks_done']} of {told['tasks']} tasks" if told and told["tasks"] else ""


def _show(out: IO[bytes], form: str, media_type: str) -> None:
    from sensorstream.cli.terminal import print_solutions, print_table

    out.seek(0)
    if form == "table" and media_type == _SOLUTIONS:
        print_solutions(json.load(out))
    elif form == "table" and media_type == _JSON:
        table = json.load(out)
        print_table(table["columns"], table["rows"])
    else:
        while piece := out.read(1 << 16):
            click.echo(piece, nl=False)
