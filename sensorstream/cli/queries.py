"""``sensorstream queries``: the continuous queries of a running server."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.following import count_option, follow
from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.cli.versions import add_versions
from sensorstream.errors import SensorStreamError, ServerUnreachable, UnknownQuery

if TYPE_CHECKING:
    from sensorstream.client.reports import QueryReport

_COLUMNS = ("name", "form", "relation", "reports", "last_report", "next_report")


@click.group("queries")
def command() -> None:
    """Register, read, follow and remove the continuous queries of a running server."""


@command.command("add")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--name", help="Its name, instead of the one in its REGISTER clause.")
@server_options
@json_option
def add(file: Path, name: str | None, url: str | None, config: Path, as_json: bool) -> None:
    """Start a continuous query; FILE holds its text, "-" is standard input."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    with Client(server_url(url, config)) as client:
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


@command.command("list")
@server_options
@json_option
def list_(url: str | None, config: Path, as_json: bool) -> None:
    """All continuous queries, in the order of their registration."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.queries()
    if as_json:
        print_json(found)
    else:
        print_table(_COLUMNS, [[each[name] for name in _COLUMNS] for each in found])


@command.command("show")
@click.argument("name")
@server_options
@json_option
def show(name: str, url: str | None, config: Path, as_json: bool) -> None:
    """The text and the state of a continuous query."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_fields, print_json

    with Client(server_url(url, config)) as client:
        found = client.query_state(name)
    if as_json:
        print_json(found)
        return
    fields = {**found, "variables": ", ".join(found["variables"])}
    del fields["query"], fields["notes"]
    print_fields(fields)
    click.echo()
    click.echo(found["query"].strip("\n"))


@command.command("results")
@click.argument("name")
@server_options
@json_option
def results(name: str, url: str | None, config: Path, as_json: bool) -> None:
    """The whole result of a continuous query as it is now."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_solutions

    with Client(server_url(url, config)) as client:
        media_type, text = client.answer(name)
    if media_type.endswith("json") and not as_json:
        print_solutions(json.loads(text))
    else:
        click.echo(text.rstrip("\n"))


@command.command("follow")
@click.argument("name")
@click.option(
    "--after", metavar="ID", help='Begin after this report; "" begins with the oldest kept one.'
)
@count_option
@server_options
@json_option
def follow_(
    name: str, after: str | None, count: int | None, url: str | None, config: Path, as_json: bool
) -> None:
    """The reports of a continuous query as they come, until Ctrl-C or until it is removed.

    Each row is a line: the time, "+" for added, "-" for removed, "=" for the whole result, and the
    values. With --json, each report is a line.
    """
    from sensorstream.cli.client import Client
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

    with Client(server_url(url, config)) as client:
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


@command.command("graph")
@click.argument("name")
@server_options
@json_option
def graph(name: str, url: str | None, config: Path, as_json: bool) -> None:
    """The operators of a continuous query with their counters, as a tree."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json
    from sensorstream.streams.operator_graph import tree

    with Client(server_url(url, config)) as client:
        found = client.query_graph(name)
    if as_json:
        print_json(found)
        return
    for line in tree(found):
        click.echo(line)


@command.command("steps")
@click.argument("name")
@click.option("--last", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--end", is_flag=True, help="End the record instead.")
@server_options
def steps(name: str, last: int, end: bool, url: str | None, config: Path) -> None:
    """The last instants of a query, operator by operator, one JSON object a line.

    The first call begins the record.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        if end:
            client.end_steps(name)
            return
        found = client.steps(name, last)
    if not found:
        click.echo("nothing is recorded yet", err=True)
    for each in found:
        print_json(each)


@command.command("delete")
@click.argument("name")
@server_options
def delete(name: str, url: str | None, config: Path) -> None:
    """Stop a continuous query."""
    from sensorstream.cli.client import Client

    with Client(server_url(url, config)) as client:
        client.unregister(name)
    click.echo(f"removed {name}")


add_versions(command, "queries")
