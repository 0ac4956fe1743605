"""``sensorstream queries``: the continuous queries of a running server."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.options import rows_of, served
from sensorstream.cli.terminal import count_option, follow
from sensorstream.cli.versions import add_versions
from sensorstream.errors import SensorStreamError, ServerUnreachable, UnknownQuery

if TYPE_CHECKING:
    from sensorstream.cli.client import Client
    from sensorstream.client.reports import QueryReport

_COLUMNS = ("name", "form", "relation", "reports", "last_report", "next_report")


@click.group("queries")
def command() -> None:
    """Register, read, follow and remove the continuous queries of a running server."""


@served(command.command("add"), json=True)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--name", help="Its name, instead of the one in its REGISTER clause.")
def add(client: Client, file: Path, name: str | None, as_json: bool) -> None:
    """Start a continuous query; FILE holds its text, "-" is standard input."""
    from sensorstream.cli.terminal import print_json

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


@served(command.command("list"), rows_of(*_COLUMNS))
def list_(client: Client) -> list[dict[str, Any]]:
    """All continuous queries, in the order of their registration."""
    return client.queries()


def _show_one(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_fields

    fields = {**found, "variables": ", ".join(found["variables"])}
    del fields["query"], fields["notes"]
    print_fields(fields)
    click.echo()
    click.echo(found["query"].strip("\n"))


@served(command.command("show"), _show_one)
@click.argument("name")
def show(client: Client, name: str) -> dict[str, Any]:
    """The text and the state of a continuous query."""
    return client.query_state(name)


@served(command.command("results"), json=True)
@click.argument("name")
def results(client: Client, name: str, as_json: bool) -> None:
    """The whole result of a continuous query as it is now."""
    from sensorstream.cli.terminal import print_solutions

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
    from sensorstream.cli.terminal import print_json

    last = after or ""

    def show(report: QueryReport) -> None:
        nonlocal last
        last = report.id
        if as_json:
            print_json(_document(report))
            return
        if report.missed:
            click.echo(f"{report.missed} earlier reports are not kept any more", err=True)
        for line in _lines(report):
            click.echo(f"{report.time} {report.operation} {line}")

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
    return {
        "id": report.id,
        "time": report.time,
        "op": report.operation,
        "missed": report.missed,
        **{
            key: value
            for key, value in (("rows", rows), ("graph", report.graph), ("boolean", report.answer))
            if value is not None
        },
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


def _show_graph(found: dict[str, Any]) -> None:
    from sensorstream.streams.operator_graph import tree

    for line in tree(found):
        click.echo(line)


@served(command.command("graph"), _show_graph)
@click.argument("name")
def graph(client: Client, name: str) -> dict[str, Any]:
    """The operators of a continuous query with their counters, as a tree."""
    return client.query_graph(name)


@served(command.command("steps"))
@click.argument("name")
@click.option("--last", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--end", is_flag=True, help="End the record instead.")
def steps(client: Client, name: str, last: int, end: bool) -> None:
    """The last instants of a query, operator by operator, one JSON object a line.

    The first call begins the record.
    """
    from sensorstream.cli.terminal import print_json

    if end:
        client.end_steps(name)
        return
    found = client.steps(name, last)
    if not found:
        click.echo("nothing is recorded yet", err=True)
    for each in found:
        print_json(each)


@served(command.command("delete"))
@click.argument("name")
def delete(client: Client, name: str) -> None:
    """Stop a continuous query."""
    client.unregister(name)
    click.echo(f"removed {name}")


add_versions(command, "queries")
