"""``sensorstream ontology``: the ontology in force on a running server."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.cli.versions import add_versions

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


@click.group("ontology")
def command() -> None:
    """Read or replace the ontology of a running server."""


@command.command("show")
@server_options
@json_option
def show(url: str | None, config: Path, as_json: bool) -> None:
    """The text of the ontology in force; its origin is on stderr."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        found = client.ontology()
    if as_json:
        print_json({"origin": found.origin, "media_type": found.media_type, "text": found.text})
        return
    click.echo(f"origin: {found.origin}; {found.media_type}", err=True)
    click.echo(found.text.rstrip("\n"))


@command.command("put")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--type", "kind", type=click.Choice(sorted(set(_TYPES.values()))), help="By default by suffix."
)
@server_options
@json_option
def put(file: Path, kind: str | None, url: str | None, config: Path, as_json: bool) -> None:
    """Put the ontology in FILE in force, instead of the present one.

    The server takes messages in meanwhile. If it refuses the ontology, the present one stays.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.terminal import print_json

    kind = kind or _TYPES.get(file.suffix.lower())
    if kind is None:
        raise click.UsageError(
            f"the format of {file} is not known: give --type, or a suffix of {', '.join(_TYPES)}"
        )
    with (
        Client(server_url(url, config)) as client,
        lasting("the server changes its ontology", quiet=as_json),
    ):
        change = client.put_ontology(file.read_bytes(), kind)
    if as_json:
        print_json({"change": change})
    else:
        click.echo(f"in force, as {change}")


add_versions(command, "ontology")
