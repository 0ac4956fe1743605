"""``sensorstream queries``: the continuous queries of a running server."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.options import count_option
from sensorstream.cli.served import add_versions, asks, served
from sensorstream.cli.terminal import (
    follow,
    print_fields,
    print_json,
    print_lines,
    print_solutions,
    rows_of,
)
from sensorstream.client.reports import QueryReport
from sensorstream.errors import SensorStreamError, ServerUnreachable, UnknownQuery

_NAME: Final = click.Argument(["name"])


@click.group("queries")
def command() -> None:
    """Register, read, follow and remove the continuous queries of a running server."""


@served(command.command("add"), json=True)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--name", help="Its name, instead of the one in its REGISTER clause.")
def add(client: Client, file: Path, name: str | None, as_json: bool) -> None:
    """Start a continuous query; FILE holds its text, "-" is standard input."""
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    try:
        made = client.register(text, name)
    except SensorStreamError as error:
        if error.position is not None:
            error.position = replace(error.position, file=str(file))
        raise
    if as_json:
        print_json(made)
        return
    for note in made["notes"]:
        place = note["position"]
        click.echo(f"{file}:{place['line']}:{place['column']}: note: {note['text']}", err=True)
    click.echo(f"registered {made['name']}")


@served(command.command("results"), json=True)
@click.argument("name")
def results(client: Client, name: str, as_json: bool) -> None:
    """The whole result of a continuous query as it is now."""
    media_type, text = client.answer(name)
    if media_type.endswith("json") and not as_json:
        print_solutions(json.loads(text))
    else:
        click.echo(text.rstrip("\n"))


@served(command.command("follow"), json=True)
@click.argument("name")
@click.option(
    "--after", metavar="ID", help='Begin after this report; "" begins with the oldest kept one.'
)
@count_option
def follow_(client: Client, name: str, after: str | None, count: int | None, as_json: bool) -> None:
    """The reports of a continuous query as they come, until Ctrl-C or until it is removed.

    Each row is a line: the time, "+" for added, "-" for removed, "=" for the whole result, and the
    values. With --json, each report is a line.
    """
    last = after or ""

    def show(report: QueryReport) -> None:
        nonlocal last
        last = report.id
        if as_json:
            print_json(_document(report))
            return
        if report.missed:
            click.echo(f"{report.missed} earlier reports are not kept any more", err=True)
        print_lines(f"{report.time} {report.operation} {line}" for line in _lines(report))

    if follow(client.follow(name, after), count, show):
        return
    try:
        client.query_state(name)
    except UnknownQuery:
        click.echo(f"{name} has been removed", err=True)
        return
    raise ServerUnreachable(f"the server ended the stream: continue with --after '{last}'")


def _document(report: QueryReport) -> dict[str, object]:
    rows = None if report.results is None else list(report.results)
    told = {"rows": rows, "graph": report.graph, "boolean": report.answer}
    return {
        "id": report.id,
        "time": report.time,
        "op": report.operation,
        "missed": report.missed,
        **{key: value for key, value in told.items() if value is not None},
    }


def _lines(report: QueryReport) -> list[str]:
    if report.results is not None:
        return [
            " ".join(f"{key}={value}" for key, value in row.items() if value is not None)
            for row in report.results
        ]
    if report.graph is not None:
        return report.graph.splitlines()
    return ["yes" if report.answer else "no"]


@served(command.command("steps"))
@click.argument("name")
@click.option("--last", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--end", is_flag=True, help="End the record instead.")
def steps(client: Client, name: str, last: int, end: bool) -> None:
    """The last instants of a query, operator by operator, one JSON object a line.

    The first call begins the record.
    """
    if end:
        client.end_steps(name)
        return
    found = client.steps(name, last)
    if not found:
        click.echo("nothing is recorded yet", err=True)
    for each in found:
        print_json(each)


def _show_one(found: dict[str, Any]) -> None:
    fields = {**found, "variables": ", ".join(found["variables"])}
    del fields["query"], fields["notes"]
    print_fields(fields)
    click.echo()
    click.echo(found["query"].strip("\n"))


def _show_graph(found: dict[str, Any]) -> None:
    from sensorstream.streams.operator_graph import tree

    print_lines(tree(found))


_add = partial(asks, command)
_add(
    "list",
    Client.queries,
    "All continuous queries, in the order of their registration.",
    show=rows_of("name", "form", "relation", "reports", "last_report", "next_report"),
)
_add(
    "show",
    Client.query_state,
    "The text and the state of a continuous query.",
    _NAME,
    show=_show_one,
)
_add(
    "graph",
    Client.query_graph,
    "The operators of a continuous query with their counters, as a tree.",
    _NAME,
    show=_show_graph,
)
_add("delete", Client.unregister, "Stop a continuous query.", _NAME, says="removed {name}")
add_versions(command, "queries")
