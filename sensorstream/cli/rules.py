"""``sensorstream rules``: the rules in force on a running server."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import json_option, server_options, server_url


@click.command("rules")
@server_options
@json_option
def command(url: str | None, config: Path, as_json: bool) -> None:
    """List the mapping rules and the semantic rules of a running server."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.rules()
    if as_json:
        print_json(found)
        return
    print_table(
        ("kind", "name", "place"),
        [
            [each["kind"], each["name"], "{file}:{line}:{column}".format(**each["position"])]
            if each["position"]
            else [each["kind"], each["name"], None]
            for each in found
        ],
    )
