"""The commands ``versions`` and ``restore`` of whatever has versions on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import served

if TYPE_CHECKING:
    from sensorstream.cli.client import Client
    from sensorstream.client.deployment import Kind


def add_versions(group: click.Group, kind: Kind) -> None:
    """Add the commands; all but the ontology have a name as their first argument."""

    def versions(client: Client, as_json: bool, change: str | None, name: str = "") -> None:
        """The versions that were put, oldest first.

        Each is named by its change: the id of the journal's entry that put it.
        """
        from sensorstream.cli.terminal import print_json, print_table

        if change is not None:
            text, _ = client.version(kind, change, name)
            click.echo(text, nl=False)
            return
        found = client.versions(kind, name)
        if as_json:
            print_json(found)
        else:
            print_table(
                ("change", "at", "by", "digest"),
                [[e["change"], e["at"], e["by"], e["digest"] or "removed"] for e in found],
            )

    def restore(client: Client, change: str, as_json: bool, name: str = "") -> None:
        """Put an earlier version in force again: the one that CHANGE has put.

        "versions" lists them. It is a change like any other, and is checked like any other.
        """
        from sensorstream.cli.terminal import print_json

        text, media_type = client.version(kind, change, name)
        made = client.put(kind, text, name, media_type=media_type)
        if as_json:
            print_json(made)
            return
        click.echo(f"{name or kind} is again as {change} has put it")
        if "secret" in made:
            click.echo(f"its secret, shown only now: {made['secret']}")

    named = click.argument("name", metavar="ID" if kind == "webhooks" else "NAME")
    text = click.option("--text", "change", metavar="CHANGE", help="Print this version's text.")
    changed = click.argument("change")
    for name, function, own in (("versions", versions, text), ("restore", restore, changed)):
        own(function)
        if kind != "ontology":
            named(function)
        served(group.command(name), json=True)(function)
