"""``sensorstream ontology``: the ontology in force on a running server."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.options import served
from sensorstream.cli.versions import add_versions

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

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


def _show(found: dict[str, str]) -> None:
    click.echo(f"origin: {found['origin']}; {found['media_type']}", err=True)
    click.echo(found["text"].rstrip("\n"))


@served(command.command("show"), _show)
def show(client: Client) -> dict[str, str]:
    """The text of the ontology in force; its origin is on stderr."""
    found = client.ontology()
    return {"origin": found.origin, "media_type": found.media_type, "text": found.text}


@served(command.command("put"), json=True)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--type", "kind", type=click.Choice(sorted(set(_TYPES.values()))), help="By default by suffix."
)
def put(client: Client, file: Path, kind: str | None, as_json: bool) -> None:
    """Put the ontology in FILE in force, instead of the present one.

    The server takes messages in meanwhile. If it refuses the ontology, the present one stays.
    """
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.terminal import print_json

    kind = kind or _TYPES.get(file.suffix.lower())
    if kind is None:
        raise click.UsageError(
            f"the format of {file} is not known: give --type, or a suffix of {', '.join(_TYPES)}"
        )
    with lasting("the server changes its ontology", quiet=as_json):
        change = client.put_ontology(file.read_bytes(), kind)
    if as_json:
        print_json({"change": change})
    else:
        click.echo(f"in force, as {change}")


add_versions(command, "ontology")
