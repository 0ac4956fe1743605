"""Which addresses are one client, and which are proxies."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.types import Scope

from sensorstream.access.roles import NOBODY, Identity
from sensorstream.app.application import Application
from sensorstream.app.waiting import Sender
from sensorstream.settings import Network

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


def admitted(application: Application, scope: Scope, messages: int = 1) -> Sender:
    """The sender of a request with so many messages.

    Raises:
        TooFast: it has sent too many.
    """
    sender = sender_of(scope)
    application.rates.charge(sender.address, messages, time.monotonic())
    return sender


def sender_of(scope: Scope) -> Sender:
    """Who sends a request: who shows a key, else an address."""
    host, port = scope.get("client") or ("", 0)
    user: Identity = scope.get("user", NOBODY)
    return Sender(client_of(host) if user.kind == "anonymous" else str(user), str(port))
