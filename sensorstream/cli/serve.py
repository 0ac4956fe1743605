"""``sensorstream serve``: the server, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.options import base_url, config_option
from sensorstream.errors import AddressUnavailable
from sensorstream.settings import load_settings

if TYPE_CHECKING:
    from sensorstream.app.application import Application

_TURN: Final = 0.0005
"""Seconds that a thread may keep the interpreter while another one waits for it."""
_IDLE: Final = 75
"""Seconds that an unused connection stays open: longer than the minute between two reports."""
_SOON: Final = 1.0
"""Seconds after which a piece of the start is told."""
_FAREWELL: Final = 10
"""Seconds that running requests get when the server stops."""


@click.command("serve")
@config_option
@click.option("--host", help="The address to listen on; by default server.host of the settings.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port; 0 takes a free one; by default server.port of the settings.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every request.")
def command(config: Path, host: str | None, port: int | None, verbose: bool) -> None:
    """Run the server.

    Prints "listening on http://HOST:PORT" when it is ready, and until then on stderr what it does
    for more than a second. SIGTERM or Ctrl-C stops it cleanly.
    """
    # A signal during the start ends the process immediately. While it serves, uvicorn handles the
    # signals and raises them again when it has stopped: then the blocks below end in order.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: sys.exit(0))
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    # Engine and HTTP share one interpreter. With Python's default of 5 ms, a thread that returns
    # from a query or the disk waits that long for the other one: this halves the throughput.
    sys.setswitchinterval(_TURN)
    settings = load_settings(config)
    host = settings.server.host if host is None else host
    with bind(host, settings.server.port if port is None else port) as listener:
        from sensorstream.app.application import Application
        from sensorstream.app.collector import spare_what_stays
        from sensorstream.cli.lasting import lasting
        from sensorstream.inputs.inputs import Inputs

        with ExitStack() as stack:
            with lasting("starting", after=_SOON) as say:
                application = stack.enter_context(Application.open(settings, progress=say))
                say("starting the inputs")
                stack.enter_context(Inputs(application))
            spare_what_stays()
            _run(application, listener, host)


def bind(host: str, port: int) -> socket.socket:
    """Bind the address before anything else starts, to detect a taken port early. Clients cannot
    connect before uvicorn listens on it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol TCP, because otherwise asyncio keeps Nagle's algorithm and each answer waits
    # 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise AddressUnavailable(f"cannot listen on {base_url(host, port)}: {error}") from None
    return listener


def _run(application: Application, listener: socket.socket, host: str) -> None:
    import uvicorn

    from sensorstream.server.main import create_app

    class Server(uvicorn.Server):
        """Prints the address when it is ready; ends questions and event streams when it stops."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            click.echo(f"listening on {base_url(host, listener.getsockname()[1])}")

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            application.running.close()
            application.alert_feed.close()
            application.queries.feed.close()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        create_app(application),
        lifespan="off",
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_FAREWELL,
        timeout_keep_alive=_IDLE,
    )
    Server(config).run([listener])
