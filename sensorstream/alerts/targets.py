"""The addresses that webhooks may reach: public ones, and the networks that the settings allow.

They are checked when a webhook is registered and again at every attempt, which then connects to
exactly the address that was checked, so that a name cannot resolve to another address in between
(DNS rebinding).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

from sensorstream.errors import WebhookError
from sensorstream.model.frozen import frozen
from sensorstream.settings.settings import Network

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]

_URLS: Final = 1024
"""URLs of webhooks that are kept as they were read."""
_PORTS: Final = {"http": 80, "https": 443}
_GLOBAL: Final = IPv6Network("2000::/3")
"""The public network's addresses (RFC 4291, section 2.4; IANA's registry)."""
_NAT64: Final = IPv6Network("64:ff9b::/96")  # RFC 6052, section 2.1
# ip_address.is_global does not know all of these, or not in each version of Python.
_SPECIAL: Final = (
    IPv4Network("192.0.0.0/24"),  # protocols (RFC 6890)
    IPv4Network("192.88.99.0/24"),  # relays of 6to4 (RFC 7526)
    IPv6Network("2001::/23"),  # protocols, among them Teredo and ORCHID (RFC 2928)
    IPv6Network("2001:db8::/32"),  # documents (RFC 3849)
    IPv6Network("3fff::/20"),  # documents (RFC 9637)
)
_ISATAP: Final = (0x00005EFE, 0x02005EFE)  # RFC 5214, section 6.1


@frozen
class WebhookPlace:
    """A webhook's URL taken apart; ``host`` and ``authority``, the Host header, are ASCII."""

    host: str
    port: int
    authority: str
    target: bytes
    secure: bool


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, by the system's resolver, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def place_of(url: str) -> str:
    """Scheme and host of a webhook URL: the rest of it is often a secret."""
    import httpx

    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return "…"
    return f"{parts.scheme}://{parts.netloc.decode('ascii')}/…"


@lru_cache(_URLS)
def read_url(url: str) -> WebhookPlace:
    """The place that a webhook's URL names; nothing is looked up.

    Raises:
        WebhookError: not an absolute http(s) URL, or a URL with a user name, password, fragment
            or zone.
    """
    import httpx

    if any(sign.isspace() or ord(sign) < 0x20 for sign in url):
        raise WebhookError(
            "the webhook URL holds white space or control characters: expected them encoded, as %20"
        )
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise WebhookError(f"'{url}' is not a URL: {error}") from None
    if parts.scheme not in _PORTS or not parts.raw_host:
        raise WebhookError(f"'{url}' is not a webhook URL: expected http:// or https:// and a host")
    if parts.userinfo:
        raise WebhookError(
            "a webhook URL may not hold a user name or password: expected it without; "
            "deliveries are signed"
        )
    if parts.fragment:
        raise WebhookError(
            "a webhook URL may not hold a fragment (#…), which is never sent: expected it without"
        )
    host = parts.raw_host.decode()
    if "%" in host:
        raise WebhookError(
            f"the webhook's host '{host}' names a zone: expected the address without %…"
        )
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    if not 0 < port < 65_536:
        raise WebhookError(f"'{url}' is not a URL: there is no port {port}: expected 1 to 65535")
    secure = parts.scheme == "https"
    return WebhookPlace(host, port, parts.netloc.decode(), parts.raw_path, secure)


def check_addresses(
    place: WebhookPlace, found: Sequence[str], allowed: Sequence[Network]
) -> Sequence[Address]:
    """The addresses of a place, if a webhook may reach each of them.

    Raises:
        WebhookError: there is none, or one is neither public nor in an ``allowed`` network.
    """
    if not found:
        raise WebhookError(f"the webhook's host '{place.host}' has no address")
    addresses = [_plain(ip_address(each.partition("%")[0])) for each in found]
    for each in addresses:
        if not is_public(each) and not any(each in network for network in allowed):
            raise WebhookError(
                f"the webhook's host '{place.host}' is at {each}, which is not a public address:"
                f' webhooks.allow = ["{each}"] in the settings would allow it'
            )
    return addresses


def is_public(address: Address) -> bool:
    """Whether an address is one of the public network, also the IPv4 one inside an IPv6 one."""
    if any(address in network for network in _SPECIAL):
        return False
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    if address in _NAT64:
        return is_public(_lowest(address))
    if address not in _GLOBAL:
        return False  # local, unassigned, multicast, or IPv4 in one of the old ways
    if address.sixtofour is not None:
        return is_public(address.sixtofour)
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP and not is_public(_lowest(address)):
        return False
    return address.is_global


def _plain(address: Address) -> Address:
    """An address as IPv4, by which it is reached, if written as IPv6 (``::ffff:127.0.0.1``)."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def _lowest(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
