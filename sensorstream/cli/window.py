"""``sensorstream window``: the individuals in the window of a running server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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


@click.group("individuals")
def individuals() -> None:
    """Show the latest values of individuals that a running server knows."""


@served(individuals.command("show"), lambda found: _show([found]))
@click.argument("iri", metavar="IRI")
@click.option("--rules", is_flag=True, help="Name the rules that derive inferred values of now.")
def show(client: Client, iri: str, rules: bool) -> dict[str, Any]:
    """Show one individual: the values it has in the window, else those it had last."""
    return client.individual(iri, rules=rules)


def _show_page(found: Mapping[str, Any]) -> None:
    _show(found["individuals"])
    if found["after"] is not None:
        click.echo(f"there may be more: --after {found['after']}", err=True)


@served(individuals.command("latest"), _show_page)
@click.argument("class_", metavar="CLASS")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--after", default="", metavar="TEXT", help="Go on after a page, as it says.")
def latest(client: Client, class_: str, limit: int, after: str) -> dict[str, Any]:
    """Show the individuals of a class, given by its IRI.

    First those in the window, by name; then those in history, who left last first.
    """
    return client.latest(class_, limit, after)


def _show(individuals: list[Mapping[str, Any]]) -> None:
    from sensorstream.cli.terminal import print_table

    columns = ("valid_from", "valid_to", "message_id")
    print_table(
        ("iri", "property", "value", *columns, "inferred"),
        [
            [
                each["iri"],
                name,
                value["value"],
                *(value[column] for column in columns),
                (value["rule"] or "yes") if value["inferred"] else "",
            ]
            for each in individuals
            for name, values in each["properties"].items()
            for value in values
        ],
    )
