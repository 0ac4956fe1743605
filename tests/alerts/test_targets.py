from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.alerts.targets import check_target
from sensorstream.errors import WebhookError


def test_a_public_target_is_connected_to_by_its_address() -> None:
    target = check_target(
        "https://hooks.example.org/a?b=c",
        allow_private=False,
        resolver=lambda host, port: ["93.184.216.34"],
    )
    assert target.host == "hooks.example.org"
    assert target.authority == "hooks.example.org"
    assert [str(each) for each in target.connect_to] == ["https://93.184.216.34/a?b=c"]
    assert target.secure


def test_every_address_of_a_name_may_be_tried_in_its_order() -> None:
    addresses = ["2606:2800:220:1:248:1893:25c8:1946", "93.184.216.34"]
    target = check_target(
        "http://hooks.example.org/", allow_private=False, resolver=lambda host, port: addresses
    )
    assert [each.host for each in target.connect_to] == addresses


def test_an_ipv6_address_is_written_in_brackets() -> None:
    target = check_target(
        "http://hooks.example.org:81",
        allow_private=False,
        resolver=lambda host, port: ["2606:2800:220:1:248:1893:25c8:1946"],
    )
    assert [str(each) for each in target.connect_to] == [
        "http://[2606:2800:220:1:248:1893:25c8:1946]:81"
    ]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
    ],
)
def test_no_address_of_the_inner_network_is_a_target(address: str) -> None:
    with pytest.raises(WebhookError, match="not a public address"):
        check_target("http://name.example", allow_private=False, resolver=lambda h, p: [address])


def test_one_inner_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(WebhookError, match=r"at 10\.0\.0\.1"):
        check_target(
            "http://name.example",
            allow_private=False,
            resolver=lambda h, p: ["93.184.216.34", "10.0.0.1"],
        )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1"])
def test_ways_to_write_this_machine_are_refused(host: str) -> None:
    with pytest.raises(WebhookError):
        check_target(f"http://{host}/", allow_private=False)


def test_the_settings_may_allow_private_addresses() -> None:
    target = check_target("http://127.0.0.1:9000/hook", allow_private=True)
    assert [str(each) for each in target.connect_to] == ["http://127.0.0.1:9000/hook"]


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
        ("http://example.org/a b", "white space"),
        ("http://example.org/\r\nX-A: b", "white space"),
        ("http://exa\x7fmple.org/", "not a URL"),
    ],
)
def test_what_is_no_webhook_url_is_refused_and_says_why(url: str, told: str) -> None:
    with pytest.raises(WebhookError, match=told):
        check_target(url, allow_private=True, resolver=lambda h, p: ["93.184.216.34"])


def test_a_name_beyond_ascii_is_written_as_the_network_wants_it() -> None:
    target = check_target(
        "https://bücher.example:8443/ü?ö=ß",
        allow_private=False,
        resolver=lambda host, port: ["93.184.216.34"] if host.isascii() else [],
    )
    assert target.host == "xn--bcher-kva.example"
    assert target.authority == "xn--bcher-kva.example:8443"
    assert target.connect_to[0].raw_path == b"/%C3%BC?%C3%B6=%C3%9F"


@given(st.text() | st.text().map("http://{}".format) | st.text().map("https://a/{}".format))
def test_any_text_is_a_target_or_says_why_not(text: str) -> None:
    try:
        target = check_target(text, allow_private=False, resolver=lambda h, p: ["93.184.216.34"])
    except WebhookError:
        return
    assert target.connect_to[0].host == "93.184.216.34"
    target.authority.encode("ascii")


def test_a_name_that_does_not_resolve_is_refused() -> None:
    with pytest.raises(WebhookError, match="cannot be resolved"):
        check_target("http://nowhere.invalid/", allow_private=True)
