from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.alerts.targets import check_addresses, is_public, read_url, resolve
from sensorstream.errors import WebhookError
from sensorstream.settings.settings import WebhookSettings

PUBLIC = ["2606:2800:220:1:248:1893:25c8:1946", "93.184.216.34"]
NAMED = read_url("https://hooks.example.org/a?b=c")


def test_every_address_of_a_name_may_be_tried_in_its_order() -> None:
    found = check_addresses(NAMED, PUBLIC, ())
    assert [str(each) for each in found] == PUBLIC
    assert NAMED.target == b"/a?b=c"
    assert (NAMED.host, NAMED.authority, NAMED.port) == (
        "hooks.example.org",
        "hooks.example.org",
        443,
    )
    assert NAMED.secure


INNER = [
    *("127.0.0.1", "127.1.2.3", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254"),
    *("100.64.0.1", "0.0.0.0", "0.1.2.3", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7"),
    *("203.0.113.9", "192.88.99.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "100::1"),
    *("2001:db8::1", "3fff::1", "5f00::1", "2001:10::1", "2001:2::1"),
    # IPv4 inside IPv6: compatible, mapped, translated, 6to4, NAT64 (also of a network), Teredo.
    *("::127.0.0.1", "::93.184.216.34", "::ffff:127.0.0.1", "::ffff:0:7f00:1", "2002:7f00:1::"),
    *("2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::5db8:d822"),
    *("64:ff9b:1:7f00:0:100::", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    # ISATAP, also with a prefix of the public network.
    *("fe80::5efe:127.0.0.1", "2606:2800::5efe:10.0.0.1", "2606:2800::200:5efe:192.168.0.1"),
]


@pytest.mark.parametrize("address", INNER)
def test_no_address_of_the_inner_network_is_a_target(address: str) -> None:
    with pytest.raises(WebhookError, match="not a public address"):
        check_addresses(NAMED, [address], ())


@pytest.mark.parametrize(
    "address",
    [*PUBLIC, "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1", "2a00:1450::5"],
)
def test_what_is_public_in_another_spelling_is_public(address: str) -> None:
    assert check_addresses(NAMED, [address], ())


@given(st.ip_addresses(v=4))
def test_each_spelling_of_an_ipv4_address_in_ipv6_is_as_public_as_itself(
    inner: IPv4Address,
) -> None:
    number = int(inner)
    for spelling in (
        IPv6Address((0x2002 << 112) + (number << 80) + 1),
        IPv6Address((0x64FF9B << 96) + number),
        IPv6Address((0x2606 << 112) + (0x5EFE << 32) + number),
    ):
        assert is_public(spelling) == is_public(inner)
    (mapped,) = map(ip_address, [f"::ffff:{inner}"])
    assert not is_public(mapped)  # check_addresses turns it into the address inside


@given(st.ip_addresses())
def test_no_address_that_python_calls_local_is_public(address: IPv4Address | IPv6Address) -> None:
    if address.is_private or address.is_multicast or address.is_reserved:
        # Python before 3.11.4 calls all of 6to4 private, whatever is inside.
        inside = isinstance(address, IPv6Address) and (
            address in ip_network("64:ff9b::/96") or address.sixtofour is not None
        )
        assert inside or not is_public(address)


def test_one_inner_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(WebhookError, match=r"at 10\.0\.0\.1"):
        check_addresses(NAMED, ["93.184.216.34", "10.0.0.1"], ())


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "localhost.", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]"),
        *("2130706433", "0x7f.1", "0x7f000001", "017700000001", "127.1", "0177.0.0.1", "0"),
        *("\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021"),
    ],
)
def test_ways_to_write_this_machine_are_refused(host: str) -> None:
    try:
        place = read_url(f"http://{host}/")
        found = resolve(place.host, place.port)
    except (WebhookError, OSError):
        return
    with pytest.raises(WebhookError, match="not a public address"):
        check_addresses(place, found, ())


def test_the_settings_may_allow_networks() -> None:
    place = read_url("http://127.0.0.1:9000/hook")
    allowed = [ip_network("127.0.0.0/8"), ip_network("fd00::/8")]
    assert check_addresses(place, ["127.0.0.1"], allowed) == [IPv4Address("127.0.0.1")]
    assert check_addresses(place, ["::ffff:127.0.0.1"], allowed) == [IPv4Address("127.0.0.1")]
    assert check_addresses(place, ["fd00::1"], allowed)
    with pytest.raises(WebhookError, match=r'webhooks.allow = \["10.0.0.1"\]'):
        check_addresses(place, ["127.0.0.1", "10.0.0.1"], allowed)


def test_a_new_deployment_allows_none(tmp_path: Path) -> None:
    from sensorstream.cli.init_command import TEMPLATES, make_workspace
    from sensorstream.settings.settings_file import load_settings

    for template in TEMPLATES.values():
        made = load_settings(make_workspace(tmp_path / template.name, template), {})
        assert made.webhooks == WebhookSettings()
    assert WebhookSettings().allow == ()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://example.org/", "expected http"),
        ("example.org/hook", "expected http"),
        ("http:///hook", "expected http"),
        ("http://user:pw@example.org/", "user name or password"),
        ("http://example.org/#part", "fragment"),
        ("http://example.org:99999/", "not a URL"),
        ("http://example.org:0/", "not a URL"),
        ("http://[::1/", "not a URL"),
        ("http://[fe80::1%25eth0]/", "names a zone"),
        ("http://example.org/a b", "white space"),
        ("http://example.org/\r\nX-A: b", "white space"),
        ("http://exa\x7fmple.org/", "not a URL"),
    ],
)
def test_what_is_no_webhook_url_is_refused_and_says_why(url: str, told: str) -> None:
    with pytest.raises(WebhookError, match=told):
        read_url(url)


def test_a_name_beyond_ascii_is_written_as_the_network_wants_it() -> None:
    place = read_url("https://bücher.example:8443/ü?ö=ß")
    assert place.host == "xn--bcher-kva.example"
    assert place.authority == "xn--bcher-kva.example:8443"
    assert place.target == b"/%C3%BC?%C3%B6=%C3%9F"


def test_a_name_that_is_no_name_of_the_network_is_refused_when_it_is_looked_up() -> None:
    place = read_url("http://xn--/")
    with pytest.raises((OSError, UnicodeError)):
        resolve(place.host, place.port)


@given(st.text() | st.text().map("http://{}".format) | st.text().map("https://a/{}".format))
def test_any_text_is_a_target_or_says_why_not(text: str) -> None:
    try:
        place = read_url(text)
    except WebhookError:
        return
    assert place.host
    place.authority.encode("ascii")


def test_a_name_without_address_is_refused() -> None:
    with pytest.raises(WebhookError, match="has no address"):
        check_addresses(NAMED, [], ())
