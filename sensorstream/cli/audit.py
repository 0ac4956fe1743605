"""``sensorstream audit``: who changed what on a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from sensorstream.cli.options import json_option, server_options, server_url

_COLUMNS: Final = ("at", "kind", "who", "address", "method", "path", "status")


@click.command("audit")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only changes older than this one.")
@server_options
@json_option
def command(limit: int, before: int | None, url: str | None, config: Path, as_json: bool) -> None:
    """Show who changed what on a running server.

    The newest changes come first.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.audit(limit, before)
    if as_json:
        print_json(found)
    else:
        print_table(_COLUMNS, [[str(each[name]) for name in _COLUMNS] for each in found])
