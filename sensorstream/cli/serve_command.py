"""``sensorstream serve``: the server, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import faulthandler
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.options import base_url, config_option, telling
from sensorstream.cli.terminal import lasting, signalled, tell
from sensorstream.errors import AddressUnavailable, SettingsError
from sensorstream.settings.settings_file import GivenSetting, read_settings

if TYPE_CHECKING:
    from ssl import SSLContext

    from sensorstream.app.application import Application
    from sensorstream.settings.settings import HttpSettings

_TURN: Final = 0.0005
"""Seconds that a thread may keep the interpreter while another one waits for it."""
_SOON: Final = 1.0
"""Seconds after which a piece of the start is told."""


@click.command("serve")
@config_option
@click.option("--host", help="The address to listen on; by default server.host of the settings.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port; 0 takes a free one; by default server.port of the settings.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every request, as log.level = info.")
def command(config: Path, host: str | None, port: int | None, verbose: bool) -> None:
    """Run the server.

    Prints "listening on http://HOST:PORT" when it is ready, and until then on stderr what it does
    for more than a second. SIGTERM, SIGHUP or Ctrl-C stops it cleanly.
    """
    # A signal during the start ends the process immediately. Later uvicorn handles the signals, and
    # raises them again when it has stopped: then the blocks below end in order.
    ending = signalled(signal.SIGTERM, signal.SIGINT, then=partial(sys.exit, 0))
    signals = click.get_current_context().with_resource(ending)
    # SIGHUP: the terminal is closed.
    signal.signal(signal.SIGHUP, lambda _number, _frame: signal.raise_signal(signal.SIGTERM))
    # Engine and HTTP share one interpreter. With Python's default of 5 ms, a thread that returns
    # from a query or the disk waits that long for the other one: this halves the throughput.
    sys.setswitchinterval(_TURN)
    from sensorstream.app.life.process_memory import collect_less

    collect_less()
    settings, given = read_settings(config)
    from sensorstream import logs

    logs.set_up(settings.log.format, "info" if verbose else settings.log.level)
    host = settings.server.host if host is None else host
    check_reach(host, settings.http)
    from sensorstream.server.tls import Certificate

    certificate = Certificate.of(settings.http)
    if settings.http.keys:
        logging.getLogger("sensorstream.audit").setLevel(logging.INFO)
    with bind(host, settings.server.port if port is None else port) as listener:
        from sensorstream.app.application import Application
        from sensorstream.app.life.in_work import InWork, Watchdog
        from sensorstream.app.life.process_memory import spare_what_stays
        from sensorstream.inputs.inputs import Inputs
        from sensorstream.server.listening import StartingServer

        faulthandler.enable()
        in_work = InWork(settings.history.folder / "in-work")
        with ExitStack() as stack:
            stack.enter_context(Watchdog(in_work, settings.limits.entry_seconds))
            tls = None if certificate is None else stack.enter_context(certificate).context
            at = base_url(host, listener.getsockname()[1], secure=tls is not None)
            stack.enter_context(telling(settings, at))
            with (
                lasting("starting", after=_SOON, tell=_telling(settings.log.format)) as doing,
                StartingServer(
                    listener,
                    settings.limits,
                    tls,
                    ailment=partial(in_work.longer_than, settings.limits.entry_seconds),
                    doing=doing.told,
                ),
            ):
                application = stack.enter_context(
                    Application.open(settings, progress=doing, in_work=in_work)
                )
                doing("starting the inputs")
                stack.enter_context(Inputs(application))
            spare_what_stays()
            if not signals:
                _run(application, listener, host, tls, given)


def _telling(form: str) -> Callable[[str], None]:
    """A function that tells a person, or a reader of JSON, of the steps of the start."""
    if form == "text":
        return tell
    log = logging.getLogger("sensorstream.start")
    log.setLevel(logging.INFO)
    return partial(log.info, "%s")


def check_reach(host: str, settings: HttpSettings) -> None:
    """Refuse, by a SettingsError, an address that others can reach if no key is needed."""
    if not settings.keys and not _is_loopback(host):
        raise SettingsError(
            f"others can reach the address '{host}', and the server needs no keys: set http.keys = "
            "true and make a key ('sensorstream keys create --name ME --role admin'), or let it "
            "listen on 127.0.0.1 (server.host)"
        )


def _is_loopback(host: str) -> bool:
    """Whether all addresses of a host are of this machine alone; "" is every address."""
    try:
        found = socket.getaddrinfo(host or None, None, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return False
    addresses = [ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    return all(each.is_loopback for each in addresses)


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


def _run(
    application: Application,
    listener: socket.socket,
    host: str,
    tls: SSLContext | None,
    given: Sequence[GivenSetting],
) -> None:
    from sensorstream.server.listening import Server

    url = base_url(host, listener.getsockname()[1], secure=tls is not None)
    ready = partial(click.echo, f"listening on {url}")
    server = Server(application, host, tls, on_ready=ready, given=given)
    server.run([listener])
