"""The contents in force on a running server: ``rules``, ``ontology`` and ``queries``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import add_versions, asks, served
from sensorstream.cli.options import (
    FILE,
    KEY,
    count_option,
    json_option,
    key_option,
    server_options,
    server_url,
)
from sensorstream.cli.terminal import (
    follow,
    lasting,
    print_fields,
    print_json,
    print_lines,
    print_solutions,
    print_table,
    rows_of,
)
from sensorstream.client.results import QueryReport
from sensorstream.errors import SensorStreamError, ServerUnreachable, UnknownQuery
from sensorstream.model.rdf_formats import RDF_TYPES

_TYPES: Final = {
    **RDF_TYPES,
    ".owx": "application/owl+xml",
    ".ofn": "text/owl-functional",
}


@click.group("rules", invoke_without_command=True)
@server_options
@json_option
@click.pass_context
def command(context: click.Context, url: str | None, config: Path, as_json: bool) -> None:
    """List the rules of a running server; read and change their files.

    Without a subcommand: the mapping rules and the semantic rules in force.
    """
    if context.invoked_subcommand is not None:
        return
    with CommandClient(server_url(url, config)) as client:
        found = client.rules()
    if as_json:
        print_json(found)
        return
    rows = [
        [each["kind"], each["name"], at and "{file}:{line}:{column}".format(**at)]
        for each in found
        for at in [each["position"]]
    ]
    print_table(("kind", "name", "place"), rows)


def _show_files(found: dict[str, Any]) -> None:
    click.echo(f"origin: {found['origin']}", err=True)
    rows = [[each["name"], each["digest"], each["on_disk"]] for each in found["files"]]
    print_table(("name", "digest", "its file"), rows)


@served(command.command("files"), _show_files)
def files(client: CommandClient) -> dict[str, Any]:
    """The rule files in force, and what the server's own files have now.

    "differs": the file was edited since; "absent": there is no such file. "sensorstream apply"
    puts edited files in force.
    """
    found = client.rule_files()
    return {key: found[key] for key in ("origin", "digest", "files")}


@served(command.command("show"), lambda found: click.echo(found["text"], nl=False))
@click.argument("name")
def show(client: CommandClient, name: str) -> dict[str, str]:
    """The text of the rule file NAME in force."""
    return {"name": name, "text": client.rule_file(name)}


@served(command.command("put"), lambda found: click.echo(f"in force, as {found['change']}"))
@click.argument("file", type=FILE)
@click.option("--name", help="Of the rule file; by default the name of FILE.")
def put(client: CommandClient, file: Path, name: str | None) -> dict[str, str]:
    """Put the rules of FILE in force, new or instead of those of this name.

    If the server refuses them, the present ones stay.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8: {error}") from None
    return {"change": client.put_rule_file(name or file.name, text)}


@served(command.command("delete"))
@click.argument("name")
def delete(client: CommandClient, name: str) -> None:
    """Take the rule file NAME out of force; what its rules have done stays."""
    click.echo(f"out of force, as {client.delete_rule_file(name)}")


add_versions(command, "rules")


@click.group("ontology")
def ontology() -> None:
    """Read or replace the ontology of a running server."""


def _show_ontology(found: dict[str, str]) -> None:
    click.echo(f"origin: {found['origin']}; {found['media_type']}", err=True)
    click.echo(found["text"].rstrip("\n"))


@served(ontology.command("show"), _show_ontology)
def show_ontology(client: CommandClient) -> dict[str, str]:
    """The text of the ontology in force; its origin is on stderr."""
    found = client.ontology()
    return {"origin": found.origin, "media_type": found.media_type, "text": found.text}


@served(ontology.command("put"), lambda found: click.echo(f"in force, as {found['change']}"))
@click.argument("file", type=FILE)
@click.option(
    "--type", "kind", type=click.Choice(sorted(set(_TYPES.values()))), help="By default by suffix."
)
def put_ontology(client: CommandClient, file: Path, kind: str | None) -> dict[str, str]:
    """Put the ontology in FILE in force, instead of the present one.

    The server takes messages in meanwhile. If it refuses the ontology, the present one stays.
    """
    kind = kind or _TYPES.get(file.suffix.lower())
    if kind is None:
        raise click.UsageError(
            f"the format of {file} is not known: give --type, or a suffix of {', '.join(_TYPES)}"
        )
    with lasting("the server changes its ontology"):
        return {"change": client.put_ontology(file.read_bytes(), kind)}


add_versions(ontology, "ontology")


_NAME: Final = click.Argument(["name"])


@click.group("queries")
def queries() -> None:
    """Register, read, follow and remove the continuous queries of a running server."""


@served(queries.command("add"), json=True)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--name", help="Its name, instead of the one in its REGISTER clause.")
def add_query(client: CommandClient, file: Path, name: str | None, as_json: bool) -> None:
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


@served(queries.command("results"), json=True)
@click.argument("name")
@key_option
def results(client: CommandClient, name: str, key: str | None, as_json: bool) -> None:
    """The whole result of a continuous query as it is now."""
    media_type, text = client.answer(name, key)
    if media_type.endswith("json") and not as_json:
        print_solutions(json.loads(text))
    else:
        click.echo(text.rstrip("\n"))


@served(queries.command("follow"), json=True)
@click.argument("name")
@click.option(
    "--after", metavar="ID", help='Begin after this report; "" begins with the oldest kept one.'
)
@count_option
def follow_(
    client: CommandClient, name: str, after: str | None, count: int | None, as_json: bool
) -> None:
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


@served(queries.command("steps"))
@click.argument("name")
@click.option("--last", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--end", is_flag=True, help="End the record instead.")
@key_option
def steps(client: CommandClient, name: str, last: int, end: bool, key: str | None) -> None:
    """The last instants of a query, operator by operator, one JSON object a line.

    The first call begins the record.
    """
    if end:
        client.end_steps(name, key)
        return
    found = client.steps(name, last, key)
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


_add = partial(asks, queries)
_add(
    "list",
    CommandClient.queries,
    "All continuous queries, in the order of their registration.",
    show=rows_of("name", "form", "relation", "reports", "last_report", "next_report"),
)
_add(
    "show",
    CommandClient.query_state,
    "The text and the state of a continuous query.",
    _NAME,
    show=_show_one,
)
_add(
    "graph",
    CommandClient.query_graph,
    "The operators of a continuous query with their counters, as a tree.",
    _NAME,
    click.Option(["--key"], metavar="KEY", help=KEY),
    show=_show_graph,
)
_add("delete", CommandClient.unregister, "Stop a continuous query.", _NAME, says="removed {name}")
add_versions(queries, "queries")
