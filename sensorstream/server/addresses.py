"""The addresses that count as one client, and the web sites whose pages may use the server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from sensorstream.access.roles import NOBODY, Identity
from sensorstream.app.application import Application
from sensorstream.app.life.entry_queue import MessageSender
from sensorstream.errors import SettingsError
from sensorstream.server.access_rules import read_methods
from sensorstream.server.problems import Problem, http_problem
from sensorstream.settings.settings import Network

_REMEMBERED: Final = 1024
_MAPPED: Final = int(IPv6Address("::ffff:0:0"))
"""How a socket for IPv6 writes IPv4 addresses (RFC 4291, section 2.5.5.2)."""


@lru_cache(_REMEMBERED)
def client_of(host: str) -> str:
    """A host; of IPv6 its network of 64 bits, any of whose addresses one client may take."""
    address = _parse(host)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address) >> 64 << 64, 64)))
    return host if address is None else str(address)


def is_in(host: str, networks: Iterable[Network]) -> bool:
    """Whether a host is in one of some networks."""
    address = _parse(host)
    return address is not None and any(address in each for each in networks)


def with_mapped(networks: Iterable[Network]) -> list[str]:
    """Networks as text; those of IPv4 also as a socket for IPv6 writes them."""
    told = []
    for each in networks:
        told.append(str(each))
        if each.version == 4:
            base = _MAPPED + int(each.network_address)
            told.append(str(IPv6Network((base, 96 + each.prefixlen))))
    return told


def _parse(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def admitted(application: Application, scope: Scope, messages: int = 1) -> MessageSender:
    """The sender of a request with so many messages.

    Raises:
        TooFast: it has sent too many.
    """
    sender = sender_of(scope)
    application.rates.charge(sender.address, messages, time.monotonic())
    return sender


def sender_of(scope: Scope) -> MessageSender:
    """The sender of a request: the holder of its key, else an address."""
    host, port = scope.get("client") or ("", 0)
    user: Identity = scope.get("user", NOBODY)
    return MessageSender(client_of(host) if user.kind == "anonymous" else str(user), str(port))


EVERY: Final = "*"
"""All sites, in server.read_origins."""
_READS: Final = ("GET", "HEAD")
_METHODS: Final = (*_READS, "POST", "PUT", "DELETE")
_SITES_REMEMBERED: Final = 256
_LOCAL: Final = "localhost"


class KnownSites:
    """The check that refuses requests to other names, and changes by pages of other sites.

    ``names`` are host names of the server; without any, one that listens on a loopback address has
    those of this machine, and another one has all. ``origins`` are sites whose pages may use it,
    ``readers`` those whose pages may ask, too.

    A page of any site can make its visitor's browser send requests to a server on the visitor's
    machine or network. It cannot change the headers ``Host`` and ``Origin`` of them. By *DNS
    rebinding* the site's own name leads to the server: then ``Host`` is that name.

    Sources: RFC 9110, sections 7.2 and 15.5.20 (421); Fetch Standard, section 3.1 (``Origin``).
    """

    def __init__(
        self, host: str, names: Sequence[str], origins: Sequence[str], readers: Sequence[str] = ()
    ) -> None:
        self._open = not names and not is_loopback(host)
        self._names = frozenset(map(_plain, (*names, host)))
        self._origins = frozenset(origins)
        self._readers = frozenset(readers)
        self.is_ours = lru_cache(_SITES_REMEMBERED)(self._check)

    def problem(self, scope: Scope) -> Problem | None:
        """Why a request is refused; None: it is not."""
        hosts, origin = [], None
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origin = value.decode("latin-1")
        if len(hosts) > 1 or (not hosts and scope["http_version"] != "1.0"):
            return http_problem(400, f"expected one Host header, not {len(hosts)}")
        host = hosts[0].decode("latin-1") if hosts else ""
        if hosts and not self.is_ours(host):
            told = f"this server is not '{host[:200]}': its other names stand in server.names"
            return http_problem(421, told)
        if origin is None or scope["method"] in _READS or origin in self._origins:
            return None
        if not self._readers.isdisjoint((origin, EVERY)) and (
            scope["method"] == "OPTIONS" or scope["method"] in read_methods(scope["path"])
        ):
            return None
        if origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower()):
            return None
        told = f"pages of '{origin[:200]}' may only read: server.origins names those that may more"
        return http_problem(403, told)

    def _check(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if not name or set(host) & set("@/?#\\ "):
            return False
        return self._open or is_loopback(name) or _plain(name) in self._names


class SharedAnswers:
    """ASGI middleware: lets pages of other sites see answers (CORS). Those of ``origins`` may use
    every method, those of ``readers`` may read and ask; none sends the cookies of its visitor.

    Source: Fetch Standard, section 3.3.
    """

    def __init__(
        self,
        app: ASGIApp,
        origins: Sequence[str],
        readers: Sequence[str],
        exposed: Sequence[str],
    ) -> None:
        self._app = app
        self._origins = origins
        self._readers = readers
        self._exposed = exposed
        self._of: dict[tuple[str, ...], CORSMiddleware] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin")
        used = origin in self._origins
        methods = _METHODS if used else read_methods(scope["path"]) if origin is not None else ()
        if not methods:
            await self._app(scope, receive, send)
            return
        if methods not in self._of:
            self._of[methods] = CORSMiddleware(
                self._app,
                allow_origins=self._origins if used else self._readers,
                allow_methods=methods,
                allow_headers=["*"],
                expose_headers=self._exposed,
            )
        await self._of[methods](scope, receive, send)


def is_loopback(host: str) -> bool:
    """Whether a name or an address means the machine itself."""
    name = _plain(host)
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == _LOCAL or name.endswith(f".{_LOCAL}")


def check_origins(
    origins: Sequence[str], setting: str = "server.origins", every: str = ""
) -> Sequence[str]:
    """The origins of a setting as browsers write them; ``every`` may stand among them, too.

    Raises:
        SettingsError: one is not ``scheme://host`` or ``scheme://host:port``.
    """
    for each in origins:
        if each == every:
            continue
        try:
            told = urlsplit(each)
            fits = bool(told.hostname) and each == f"{told.scheme}://{told.netloc}"
        except ValueError:
            fits = False
        if not fits or each != each.lower() or "@" in each or "*" in each:
            raise SettingsError(
                f"{setting}: expected sites such as https://map.example.org, not '{each}'"
            )
    return origins


_TILES: Final = re.compile(r"https?://(?:\{s\}\.)?[\w.-]+(?::\d+)?/[^\s\"';<>]*")


def check_tiles(address: str) -> str:
    """The address of pictures of the ground; "" for none.

    Raises:
        SettingsError: it is no address with ``{z}``, ``{x}`` and ``{y}``.
    """
    fits = _TILES.fullmatch(address) and all(each in address for each in ("{z}", "{x}", "{y}"))
    if address and not fits:
        expected = "https://tile.example.org/{z}/{x}/{y}.png"
        raise SettingsError(f"server.map_tiles: expected an address as {expected}, not '{address}'")
    return address


def _plain(name: str) -> str:
    return name.lower().rstrip(".").strip("[]")
