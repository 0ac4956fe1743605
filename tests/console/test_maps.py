from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.console.drawings import (
    DEGREES,
    PLANE,
    DrawnShape,
    chosen,
    coordinates,
    drawing,
    point,
    shape_of,
)

EPSG = "http://www.opengis.net/def/crs/EPSG/0"


def line(*corners: tuple[float, float], **told: str) -> DrawnShape:
    return DrawnShape(PLANE, {"type": "LineString", "coordinates": [*map(list, corners)]}, **told)


@pytest.mark.parametrize(
    "text",
    [
        *("POINT(24.9 60.2)", " point  Z ( 24.9\n60.2 12 ) "),
        "<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(24.9 60.2)",
        *(f"<{EPSG}/{code}> Point (60.2 2.49e1)" for code in (4326, 4258, 4979)),
        '{"type": "Point", "coordinates": [24.9, 60.2]}',
    ],
)
def test_a_literal_of_geosparql_is_a_place_with_its_longitude_first(text: str) -> None:
    assert shape_of(text) == point(DEGREES, 24.9, 60.2)


def test_metres_of_a_known_system_become_degrees() -> None:
    shape = shape_of(
        f"<{EPSG}/3067> POLYGON((385000 6672000, 386000 6672000, 386000 6673000, 385000 6672000))"
    )
    assert shape is not None
    assert shape.frame == DEGREES
    for east, north in shape.corners():
        assert (east, north) == pytest.approx((24.94, 60.17), abs=0.02)


def test_what_is_no_place_on_the_globe_stays_as_it_is() -> None:
    assert shape_of("POINT(720 800)") == point(PLANE, 720, 800)
    assert shape_of("<http://example.org/hall> POINT(7 8)") == point(
        "http://example.org/hall", 7, 8
    )
    mixed = shape_of("GEOMETRYCOLLECTION(POINT(1 200), LINESTRING(0 0, 4 4))")
    assert mixed is not None
    assert [*mixed.corners()] == [(1, 200), (0, 0), (4, 4)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "POINT(1)",
            "POINT(- -)",
            "POINT EMPTY",
            "POINT(inf 1)",
            "POINT(1 2",
            "a POINT(1 2)",
            "",
            "{}",
        ),
        f"LINESTRING({', '.join(['1 2'] * 25_000)})",
        "POINT(" + " " * 500_000 + "1 2)",
    ],
)
def test_other_texts_are_no_places(text: str) -> None:
    assert shape_of(text) is None


@given(st.text(alphabet="POINTpoint()<>, 0123456789.-eEZM\n\t", max_size=60))
def test_no_text_is_a_fault(text: str) -> None:
    shape = shape_of(text)
    assert shape is None or [*shape.corners()]


def test_coordinates_are_known_by_their_names() -> None:
    assert coordinates(["hasName", "lat", "long"]) == ("long", "lat", DEGREES)
    assert coordinates(["hasXLocation", "hasYLocation"]) == ("hasXLocation", "hasYLocation", PLANE)
    assert coordinates(["hasXLocation", "lat"]) is None


def features(drawn: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        (each["properties"]["kind"], each["geometry"]["coordinates"]) for each in drawn["features"]
    ]


def test_a_way_joins_the_places_above_the_fences() -> None:
    fence = line((0, 0), (9, 9), kind="fence", name="yard", there="/console/individual")
    places = [point(PLANE, 1, 2), point(PLANE, 3, 4, kind="now")]
    drawn = drawing([*places, fence], is_a_way=True)
    assert drawn["west"] is None
    assert drawn["features"][0]["properties"] == {
        "name": "yard",
        "there": "/console/individual",
        "kind": "fence",
    }
    assert features(drawn)[1:] == [("way", [[1, 2], [3, 4]]), ("place", [1, 2]), ("now", [3, 4])]
    assert len(drawing(places[:1], is_a_way=True)["features"]) == 1


@pytest.mark.parametrize(
    ("easts", "west"), [((24, 25), 24), ((179.5, -179.5), 179.5), ((-5, 25), -5), ((10,), 10)]
)
def test_a_map_begins_after_the_widest_gap_around_the_globe(
    easts: tuple[float, ...], west: float
) -> None:
    assert drawing([point(DEGREES, each, 0) for each in easts])["west"] == west


def test_a_map_says_what_it_does_not_show() -> None:
    places = [point(DEGREES, 1, 2), point(DEGREES, 3, 4), point("http://e.org/hall", 3, 6)]
    drawn, note = chosen(places)
    assert (drawn, note) == (places[:2], "1 places of other reference systems are not drawn.")
    _, note = chosen(places[2:])
    assert note == "In the units of <http://e.org/hall>."
    many = line(*((number, 0) for number in range(15_000)))
    drawn, note = chosen([many, many])
    assert len(drawn) == 1
    assert "1 places more are not drawn" in note
