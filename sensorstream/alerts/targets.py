"""Which addresses webhooks may use: no private network, unless the settings allow it.

Checked when a webhook is registered and again at every delivery; the delivery then connects to
exactly the address that was checked, so that a name cannot resolve to another address in between
(DNS rebinding).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

import httpx

from sensorstream.errors import WebhookError

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]

_PORTS: Final = {"http": 80, "https": 443}
_NAT64: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook URL taken apart, and the addresses to connect to.

    ``authority`` is for the Host header, ``host`` for the name in the TLS certificate;
    ``connect_to`` is the same URL with each checked address in the host's place, to be tried in
    this order.
    """

    host: str
    authority: str
    connect_to: tuple[httpx.URL, ...]
    secure: bool


def resolve(host: str, port: int) -> Sequence[str]:
    """All addresses of a host, by the system's resolver, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def place_of(url: str) -> str:
    """Scheme and host of a webhook URL: the rest of it is often a secret."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return "…"
    return f"{parts.scheme}://{parts.netloc.decode('ascii')}/…"


def check_target(url: str, *, allow_private: bool, resolver: Resolver = resolve) -> Target:
    """The target of a webhook, if alerts may go there.

    Raises:
        WebhookError: not an absolute http(s) URL, a URL with a user name, password or
            fragment, a name that does not resolve, or (unless ``allow_private``) any address
            of it that is not public.
    """
    if any(sign.isspace() or ord(sign) < 0x20 for sign in url):
        raise WebhookError("the webhook URL holds white space or control characters")
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise WebhookError(f"'{url}' is not a URL: {error}") from None
    if parts.scheme not in _PORTS or not parts.host:
        raise WebhookError(f"'{url}' is not a webhook URL: expected http:// or https:// and a host")
    if parts.userinfo:
        raise WebhookError("a webhook URL may not hold a user name or password")
    if parts.fragment:
        raise WebhookError("a webhook URL may not hold a fragment (#…)")
    host = parts.raw_host.decode()
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    if not 0 < port < 65_536:
        raise WebhookError(f"'{url}' is not a URL: there is no port {port}")
    try:
        addresses = resolver(host, port)
    except (OSError, UnicodeError) as error:
        raise WebhookError(f"the webhook's host '{host}' cannot be resolved: {error}") from None
    if not addresses:
        raise WebhookError(f"the webhook's host '{host}' has no address")
    checked = [ip_address(each.partition("%")[0]) for each in addresses]
    if not allow_private and (inner := [each for each in checked if not _public(each)]):
        raise WebhookError(
            f"the webhook's host '{host}' is at {inner[0]}, which is not a public address:"
            " set webhooks.allow_private = true to allow it"
        )
    return Target(
        host=host,
        authority=parts.netloc.decode(),
        connect_to=tuple(parts.copy_with(host=str(each)) for each in checked),
        secure=parts.scheme == "https",
    )


def _public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        # Addresses that carry an IPv4 one inside: IPv4-mapped, 6to4 and NAT64.
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _public(inner)
    return address.is_global and not address.is_multicast
