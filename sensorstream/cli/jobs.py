"""``sensorstream jobs``: what runs on a server for clients, and long questions to Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.query import JOB_FORMATS, accepting, chosen_format, show_answer, target
from sensorstream.cli.served import asks, served
from sensorstream.cli.terminal import print_fields, print_table, working

_LOOK: Final = 0.5
"""Seconds between two looks at a job that is waited for."""
_ID: Final = click.Argument(["job_id"], metavar="ID")


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
def start(client: Client, text: str, **how: Any) -> dict[str, Any]:
    """Put a question into the queue; prints the id of its job.

    TEXT is the question itself, or "-" to read it from standard input.
    """
    return client.start_job(sys.stdin.read() if text == "-" else text, **how)


def _show_list(found: list[dict[str, Any]]) -> None:
    rows = [
        [each["id"], each["state"], _progress(each), each["rows"], _text(each)] for each in found
    ]
    print_table(("id", "state", "progress", "rows", "text"), rows)


def _show_one(found: dict[str, Any]) -> None:
    error = found["error"] and found["error"]["detail"]
    print_fields({**found, "progress": _progress(found), "error": error})


_add = partial(asks, command)
_add(
    "list",
    Client.jobs,
    "The questions that are being answered, and all jobs that the server keeps.",
    show=_show_list,
)
_add("show", Client.job, "One job: its state, and how far it is.", _ID, show=_show_one)
_add(
    "cancel",
    Client.delete_job,
    "End a question; or a job, which is forgotten with its result.",
    _ID,
    says="removed {job_id}",
)


@served(command.command("result"))
@click.argument("job_id", metavar="ID")
@click.option("--wait", is_flag=True, help="Wait until the job has ended.")
@click.option(
    "--format", "form", type=click.Choice(list(JOB_FORMATS)), help="By default a table, or Turtle."
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
    chosen = chosen_format(form, output)
    if wait:
        _wait(client, job_id)
    with target(output) as out:
        media_type = client.write_job_result(job_id, accepting(JOB_FORMATS[chosen]), out)
        if output is None:
            show_answer(out, chosen, media_type)


def _wait(client: Client, job_id: str) -> None:
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
