"""``sensorstream db``: the history's PostgreSQL, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.settings import HistorySettings


@click.group("db")
def command() -> None:
    """Tell other programs how to reach the history's PostgreSQL."""


@command.command("url")
@config_option
@json_option
def url(config: Path, as_json: bool) -> None:
    """Print the address and the password of the role that can only read.

    For Grafana, BI tools and psql. The embedded PostgreSQL listens on TCP only if the settings give
    it a port (history.port), and only while the server of this deployment runs.
    """
    from sqlalchemy.engine import make_url

    from sensorstream.cli.terminal import print_json

    address = reader_address(load_settings(config).history)
    if not as_json:
        click.echo(address)
        return
    parsed = make_url(address)
    print_json(
        {
            "url": address,
            "host": parsed.host,
            "port": parsed.port or 5432,
            "database": parsed.database,
            "user": parsed.username,
            "password": parsed.password,
        }
    )


def reader_address(settings: HistorySettings) -> str:
    """The URL of the role that can only read.

    Raises:
        HistoryError: the embedded PostgreSQL listens on no port, or has not run yet.
    """
    from sensorstream.errors import HistoryError
    from sensorstream.history import embedded
    from sensorstream.history.reader import reader_url

    if settings.url:
        return reader_url(settings.url)
    if not settings.port:
        raise HistoryError(
            "the embedded PostgreSQL listens on no port: set history.port (such as 5433) and start "
            "the server again"
        )
    return embedded.reader_address(settings.folder, settings.port)
