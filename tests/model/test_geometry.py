"""Points within polygons, against the definition for triangles, and the texts of both."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.model.geometry import MOST_CORNERS, Area, lies_within, read_area, read_point

corners = st.tuples(st.integers(-4, 4), st.integers(-4, 4))


def side(a: tuple[int, int], b: tuple[int, int], p: tuple[int, int]) -> int:
    return (b[0] - a[0]) * (p[1] - a[1]) - (p[0] - a[0]) * (b[1] - a[1])


@settings(max_examples=300)
@given(corners, corners, corners, corners)
def test_a_point_is_in_a_triangle_if_it_is_on_one_side_of_all_lines(
    a: tuple[int, int], b: tuple[int, int], c: tuple[int, int], p: tuple[int, int]
) -> None:
    assume(side(a, b, c) != 0)
    sides = [side(a, b, p), side(b, c, p), side(c, a, p)]
    expected = all(each > 0 for each in sides) or all(each < 0 for each in sides)
    ring = ", ".join(f"{x} {y}" for x, y in (a, b, c, a))
    assert lies_within(p, read_area(f"POLYGON(({ring}))")) is expected


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        # A ring that turns inwards; (3, 3) is in its bay.
        ("POLYGON((0 0, 6 0, 6 6, 3 2, 0 6, 0 0))", (1, 1), (3, 3)),
        ("POLYGON((0 0,9 0,9 9,0 9,0 0), (2 2,4 2,4 4,2 4,2 2))", (1, 3), (3, 3)),
        ("MultiPolygon (((0 0,1 0,1 1,0 0)), ((5 5,9 5,9 9,5 5)))", (8, 6), (4, 4)),
        ("POLYGON((0 0,9 0,9 9,0 9,0 0), (2 2,4 2,4 4,2 4,2 2))", (8, 8), (4, 3)),
    ],
)
def test_holes_bays_and_several_polygons(
    text: str, inside: tuple[float, float], outside: tuple[float, float]
) -> None:
    area = read_area(text)
    assert lies_within(inside, area)
    assert not lies_within(outside, area)


def test_the_reference_system_is_read() -> None:
    assert read_point("<urn:crs> POINT (-1.5e1 .5)") == ("urn:crs", (-15.0, 0.5))
    assert read_area("<urn:crs>POLYGON((0 0,1 0,1 1,0 0))") == Area(
        "urn:crs", (((0, 0), (1, 0), (1, 1), (0, 0)),)
    )


@pytest.mark.parametrize("text", ["", "POINT", "POINT()", "POINT(1)", "POINT(1 2 3)", "POINT(1 a)",
    "POINT((1 2))", "POINT Z (1 2 3)", "POINT(1e999 1)", "LINESTRING(0 0, 1 1)"])  # fmt: skip
def test_what_is_no_point_is_an_error(text: str) -> None:
    with pytest.raises(TermError, match="expected"):
        read_point(text)


@pytest.mark.parametrize(
    "text",
    [
        "POINT(1 1)",
        "POLYGON EMPTY",
        "POLYGON()",
        "POLYGON(0 0, 1 0, 1 1, 0 0)",
        "POLYGON((0 0, 1 0, 1 1))",
        "POLYGON((0 0, 1 0, 0 0))",
        "POLYGON((0 0, 1 0, 1 1, 0 0)",
        "POLYGON((0 0, 1 0, 1 1, 0 0)))",
        "POLYGON((0 0, 1 0, 1 1, 0 0) (0 0, 1 0, 1 1, 0 0))",
        "POLYGON((0 0, 1 0, 1 1, 0 0),)",
        "POLYGON(,(0 0, 1 0, 1 1, 0 0))",
        "POLYGON(((0 0, 1 0, 1 1, 0 0)))",
        "MULTIPOLYGON((0 0, 1 0, 1 1, 0 0))",
        "POLYGON" + "(" * 50_000 + ")" * 50_000,
        f"POLYGON(({'0 0,' * (MOST_CORNERS + 1)}0 0))",
        "POLYGON((0 0, 1 0, 1 1, 0 0" + " " * 1_000_000 + "))",
    ],
)
def test_what_is_no_area_is_an_error(text: str) -> None:
    with pytest.raises(TermError):
        read_area(text)
