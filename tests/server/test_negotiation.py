from __future__ import annotations

import pytest

from sensorstream.server.negotiation import choose, media_type_of

OFFERED = ["application/json", "text/csv", "text/turtle"]


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/csv", "text/csv"),
        ("TEXT/CSV; charset=utf-8", "text/csv"),
        ("text/*", "text/csv"),
        ("text/*;q=0.9, text/csv;q=0.1", "text/turtle"),
        ("application/json;q=0.2, text/turtle;q=0.8", "text/turtle"),
        ("*/*;q=0.1, text/turtle", "text/turtle"),
        ("application/json;q=0, */*", "text/csv"),
        ("text/csv;q=high, text/turtle;q=0.1", "text/turtle"),
        ("text/html", None),
        ("*/*;q=0", None),
        ("nonsense", None),
        ("*/json", None),
        ("text/csv;q=7", "text/csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
    ],
)
def test_the_best_liked_offer_is_chosen(accept: str, chosen: str | None) -> None:
    assert choose(accept, OFFERED) == chosen


def test_parameters_are_no_part_of_a_media_type() -> None:
    assert media_type_of(" Text/XML ; charset=utf-8") == "text/xml"
    assert media_type_of("") == ""
