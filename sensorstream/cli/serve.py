"""``sensorstream serve``: the server, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path

import click

from sensorstream.cli.options import config_option
from sensorstream.settings import load_settings


@click.command("serve")
@config_option
@click.option("--host", help="The address to listen on; by default server.host of the settings.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port; 0 takes a free one; by default server.port of the settings.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log more than warnings.")
def command(config: Path, host: str | None, port: int | None, verbose: bool) -> None:
    """Run the server.

    Prints "listening on http://HOST:PORT" when it is ready. SIGTERM or Ctrl-C stops it cleanly.
    """
    # Told to stop while it starts, it leaves at once. While it serves, uvicorn takes the signals
    # and raises them again when it has stopped: then this ends the blocks below, in order.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: sys.exit(0))
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    settings = load_settings(config)

    from sensorstream.app.application import Application
    from sensorstream.server.app import create_app
    from sensorstream.server.listener import Listener

    with Application.open(settings) as application:
        listener = Listener(
            create_app(application, max_message_bytes=settings.server.max_message_bytes),
            settings.server.host if host is None else host,
            settings.server.port if port is None else port,
            before_shutdown=application.alert_feed.close,
        )
        listener.run(lambda url: click.echo(f"listening on {url}"))
