"""Who sends a message over HTTP, and whether it may now."""

from __future__ import annotations

import time
from ipaddress import IPv6Address, IPv6Network, ip_address

from starlette.types import Scope

from sensorstream.access.roles import NOBODY, Identity
from sensorstream.app.application import Application
from sensorstream.app.waiting import Sender


def admitted(application: Application, scope: Scope, messages: int = 1) -> Sender:
    """The sender of a request with so many messages: who shows a key, else an address.

    Raises:
        TooFast: it has sent too many.
    """
    host, port = scope.get("client") or ("", 0)
    user: Identity = scope.get("user", NOBODY)
    sender = Sender(_address(host) if user.kind == "anonymous" else str(user), str(port))
    application.rates.charge(sender.address, messages, time.monotonic())
    return sender


def _address(host: str) -> str:
    """A host; of IPv6 its network of 64 bits, any of whose addresses one client may take."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address) >> 64 << 64, 64)))
