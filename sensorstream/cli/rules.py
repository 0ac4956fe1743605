"""``sensorstream rules`` and ``ontology``: what is in force on a running server."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.options import FILE, json_option, server_options, server_url
from sensorstream.cli.served import add_versions, served
from sensorstream.cli.terminal import lasting, print_json, print_table

_TYPES: Final = MappingProxyType(
    {
        ".ttl": "text/turtle",
        ".nt": "application/n-triples",
        ".rdf": "application/rdf+xml",
        ".owl": "application/rdf+xml",
        ".owx": "application/owl+xml",
        ".jsonld": "application/ld+json",
        ".ofn": "text/owl-functional",
    }
)


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
    with Client(server_url(url, config)) as client:
        found = client.rules()
    if as_json:
        print_json(found)
        return
    places = [
        "{file}:{line}:{column}".format(**each["position"]) if each["position"] else None
        for each in found
    ]
    rows = [[each["kind"], each["name"], at] for each, at in zip(found, places, strict=True)]
    print_table(("kind", "name", "place"), rows)


def _show_files(found: dict[str, Any]) -> None:
    click.echo(f"origin: {found['origin']}", err=True)
    rows = [[each["name"], each["digest"], each["on_disk"]] for each in found["files"]]
    print_table(("name", "digest", "its file"), rows)


@served(command.command("files"), _show_files)
def files(client: Client) -> dict[str, Any]:
    """The rule files in force, and what the server's own files have now.

    "differs": the file was edited since; "absent": there is no such file. "sensorstream apply"
    puts edited files in force.
    """
    found = client.rule_files()
    return {key: found[key] for key in ("origin", "digest", "files")}


@served(command.command("show"), lambda found: click.echo(found["text"], nl=False))
@click.argument("name")
def show(client: Client, name: str) -> dict[str, str]:
    """The text of the rule file NAME in force."""
    return {"name": name, "text": client.rule_file(name)}


@served(command.command("put"), lambda found: click.echo(f"in force, as {found['change']}"))
@click.argument("file", type=FILE)
@click.option("--name", help="Of the rule file; by default the name of FILE.")
def put(client: Client, file: Path, name: str | None) -> dict[str, str]:
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
def delete(client: Client, name: str) -> None:
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
def show_ontology(client: Client) -> dict[str, str]:
    """The text of the ontology in force; its origin is on stderr."""
    found = client.ontology()
    return {"origin": found.origin, "media_type": found.media_type, "text": found.text}


@served(ontology.command("put"), lambda found: click.echo(f"in force, as {found['change']}"))
@click.argument("file", type=FILE)
@click.option(
    "--type", "kind", type=click.Choice(sorted(set(_TYPES.values()))), help="By default by suffix."
)
def put_ontology(client: Client, file: Path, kind: str | None) -> dict[str, str]:
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
