from __future__ import annotations

import pytest

from sensorstream.console.shown_values import Viewer, named, number, when


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "", "-"),
        (1234567, "", "1,234,567"),
        ("0.3333333333333333333333333333", "", "0.333333"),
        (1234567.891, "", "1,234,568"),
        (123456789012345678, "", "1.23457e17"),
        (0.0000001, "", "1e-7"),
        (12.5, "°C", "12.5\u00a0°C"),
        (12345678, "B", "11.8\u00a0MiB"),
        (0.00123, "s", "1.23\u00a0ms"),
        (3720, "s", "1.03\u00a0h"),
        (3.7412, "/s", "3.74\u00a0/s"),
        ("NaN", "", "NaN"),
        ("a text", "s", "a text"),
    ],
)
def test_a_number_has_six_digits_and_its_unit(value: object, unit: str, text: str) -> None:
    assert number(value, unit) == text


def test_a_time_has_that_of_the_server_in_its_tooltip() -> None:
    # No page is open: the viewer's clock is UTC.
    shown = when("2026-11-28T08:14:49.093967+01:00")
    assert (shown.text, shown.hover) == ("2026-11-28 07:14:49", "2026-11-28T08:14:49.093967+01:00")
    assert when(3029).text == "3,029"
    assert when(None).text == ""


def test_an_iri_is_its_name_and_leads_to_its_page() -> None:
    shown = named("http://e.org/a#b")
    assert (shown.text, shown.hover) == ("b", "http://e.org/a#b")
    assert shown.address.endswith("/individual?iri=http%3A%2F%2Fe.org%2Fa%23b")
    assert named("Unknown").address == ""


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "America", "x" * 5000, "\0", None])
def test_a_time_zone_that_does_not_exist_changes_nothing(name: str | None) -> None:
    viewer = Viewer()
    before = viewer.zone
    viewer.read_zone(name)
    assert viewer.zone == before
    viewer.read_zone("Europe/Athens")
    assert str(viewer.zone) == "Europe/Athens"
