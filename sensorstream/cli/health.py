"""``sensorstream health``: whether a running server can do its work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import json_option, rows_of, served, server_options, server_url
from sensorstream.errors import Unavailable

if TYPE_CHECKING:
    from sensorstream.cli.client import Client


@click.command("health")
@click.option(
    "--metrics", is_flag=True, help="Print the metrics instead, as Prometheus reads them."
)
@server_options
@json_option
def command(metrics: bool, url: str | None, config: Path, as_json: bool) -> None:
    """Show whether a running server can do its work, part by part.

    Exits with 3 if a part cannot.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        if metrics:
            click.echo(client.metrics(), nl=False)
            return
        held = client.alive()["held"]
        try:
            parts, ready = client.ready(), True
        except Unavailable as error:
            if error.problem is None or "parts" not in error.problem:
                raise
            parts, ready = error.problem["parts"], False
    if as_json:
        print_json({"ready": ready, "held": held, "parts": parts})
    else:
        print_table(
            ("part", "ready", "detail"),
            [
                [name, "yes" if part["ready"] else "no", part["detail"]]
                for name, part in parts.items()
            ],
        )
        click.echo(f"{held} messages wait for earlier ones")
    if not ready:
        raise click.exceptions.Exit(3)


_COLUMNS: Final = ("at", "kind", "who", "address", "method", "path", "status")


@served(click.command("audit"), rows_of(*_COLUMNS))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only changes older than this one.")
def audit(client: Client, limit: int, before: int | None) -> list[dict[str, Any]]:
    """Show who changed what on a running server.

    The newest changes come first.
    """
    return client.audit(limit, before)
