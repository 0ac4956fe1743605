"""``sensorstream audit``: who changed what on a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import rows_of, served

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_COLUMNS: Final = ("at", "kind", "who", "address", "method", "path", "status")


@served(click.command("audit"), rows_of(*_COLUMNS))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only changes older than this one.")
def command(client: Client, limit: int, before: int | None) -> list[dict[str, Any]]:
    """Show who changed what on a running server.

    The newest changes come first.
    """
    return client.audit(limit, before)
