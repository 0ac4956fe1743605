"""``sensorstream individuals``: the latest values of individuals, in the window or in history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sensorstream.cli.options import json_option, server_options, server_url


@click.group("individuals")
def command() -> None:
    """Show the latest values of individuals that a running server knows."""


@command.command("show")
@click.argument("iri", metavar="IRI")
@click.option("--rules", is_flag=True, help="Name the rules that derive inferred values of now.")
@server_options
@json_option
def show(iri: str, rules: bool, url: str | None, config: Path, as_json: bool) -> None:
    """Show one individual: the values it has in the window, else those it had last."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        found = client.individual(iri, rules=rules)
    if as_json:
        print_json(found)
    else:
        _show([found])


@command.command("latest")
@click.argument("class_", metavar="CLASS")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--after", default="", metavar="TEXT", help="Go on after a page, as it says.")
@server_options
@json_option
def latest(
    class_: str, limit: int, after: str, url: str | None, config: Path, as_json: bool
) -> None:
    """Show the individuals of a class, given by its IRI.

    First those in the window, by name; then those in history, who left last first.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        found = client.latest(class_, limit, after)
    if as_json:
        print_json(found)
        return
    _show(found["individuals"])
    if found["after"] is not None:
        click.echo(f"there may be more: --after {found['after']}", err=True)


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
