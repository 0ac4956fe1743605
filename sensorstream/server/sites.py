"""Which web sites may talk to the server through somebody's browser.

A page of any site can make its visitor's browser send requests to a server on the visitor's machine
or network. It cannot change the headers ``Host`` and ``Origin`` of them. By *DNS rebinding* the
site's own name leads to the server: then ``Host`` is that name.

Sources: RFC 9110, sections 7.2 and 15.5.20 (421); Fetch Standard, section 3.1 (``Origin``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from sensorstream.errors import SettingsError
from sensorstream.server.problems import Problem, http_problem, respond

_READS: Final = ("GET", "HEAD")
_REMEMBERED: Final = 256
_LOCAL: Final = "localhost"


class KnownSites:
    """ASGI middleware: refuses requests to other names, and changes by pages of other sites.

    ``names`` are host names of the server; without any, one that listens on a loopback address has
    those of this machine, and another one has all. ``origins`` are sites whose pages may use it.
    """

    def __init__(
        self, app: ASGIApp, host: str, names: Sequence[str], origins: Sequence[str]
    ) -> None:
        self._app = app
        self._open = not names and not is_loopback(host)
        self._names = frozenset(map(_plain, (*names, host)))
        self._origins = frozenset(origins)
        self._is_ours = lru_cache(_REMEMBERED)(self._check)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await respond(problem)(scope, receive, send)

    def _problem(self, scope: Scope) -> Problem | None:
        hosts, origin = [], None
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origin = value.decode("latin-1")
        if len(hosts) > 1 or (not hosts and scope["http_version"] != "1.0"):
            return http_problem(400, f"expected one Host header, not {len(hosts)}")
        host = hosts[0].decode("latin-1") if hosts else ""
        if hosts and not self._is_ours(host):
            told = f"this server is not '{host[:200]}': its other names stand in server.names"
            return http_problem(421, told)
        if origin is None or scope["method"] in _READS or origin in self._origins:
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


def is_loopback(host: str) -> bool:
    """Whether a name or an address means the machine itself."""
    name = _plain(host)
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == _LOCAL or name.endswith(f".{_LOCAL}")


def check_origins(origins: Sequence[str]) -> Sequence[str]:
    """The origins as browsers write them.

    Raises:
        SettingsError: one is not ``scheme://host`` or ``scheme://host:port``.
    """
    for each in origins:
        try:
            told = urlsplit(each)
            fits = bool(told.hostname) and each == f"{told.scheme}://{told.netloc}"
        except ValueError:
            fits = False
        if not fits or each != each.lower() or "@" in each or "*" in each:
            raise SettingsError(
                f"server.origins: expected sites such as https://map.example.org, not '{each}'"
            )
    return origins


def _plain(name: str) -> str:
    return name.lower().rstrip(".").strip("[]")
