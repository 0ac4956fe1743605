"""``sensorstream window``: the individuals in the window of a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import served

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_COLUMNS = ("iri", "time", "entered", "statements", "message_id", "types")


@served(click.command("window"), json=True)
@click.option("--limit", type=click.IntRange(0, 100_000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
def command(client: Client, limit: int, offset: int, as_json: bool) -> None:
    """Show the window of a running server and its individuals, oldest first."""
    from sensorstream.cli.terminal import print_fields, print_json, print_table

    found = client.window(limit, offset)
    if as_json:
        print_json(found)
        return
    print_fields(
        {name: each for name, each in found.items() if name not in ("individuals", "next")}
    )
    click.echo()
    rows = [{**each, "types": " ".join(each["types"])} for each in found["individuals"]]
    print_table(_COLUMNS, [[row[name] for name in _COLUMNS] for row in rows])
    if found["next"]:
        click.echo(f"{found['total'] - offset - len(rows)} more: use --offset or --limit", err=True)
