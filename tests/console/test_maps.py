from __future__ import annotations

import re
from math import cos, radians

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.console.drawings import (
    DEGREES,
    PLANE,
    DrawnShape,
    chosen,
    coordinates,
    picture,
    shape_of,
)

EPSG = "http://www.opengis.net/def/crs/EPSG/0"
RADIUS = 6_371_008.8


def test_a_point_is_read_from_wkt() -> None:
    assert shape_of("POINT(24.9 60.2)") == DrawnShape(DEGREES, ((24.9, 60.2),))
    assert shape_of(" point  Z ( 24.9\n60.2 12 ) ") == DrawnShape(DEGREES, ((24.9, 60.2),))
    for text in (
        "POINT(1)",
        "POINT(- -)",
        "POINT EMPTY",
        "POINT(inf 1)",
        "POINT(1 2",
        "a POINT(1 2)",
    ):
        assert shape_of(text) is None


@pytest.mark.parametrize(
    "reference",
    [f"{EPSG}/4326", "urn:ogc:def:crs:EPSG::4326", f"{EPSG}/4258", f"{EPSG}/4979"],
)
def test_references_of_epsg_in_degrees_say_latitude_first(reference: str) -> None:
    assert shape_of(f"<{reference}> Point (60.2 2.4e1)") == DrawnShape(DEGREES, ((24.0, 60.2),))
    line = shape_of(f"<{reference}> LINESTRING(60 24, 61 25)")
    assert line == DrawnShape(DEGREES, lines=(((24.0, 60.0), (25.0, 61.0)),))


def test_other_references_are_kept_as_they_are() -> None:
    crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
    assert shape_of(f"<{crs84}> POINT(24 60)") == DrawnShape(DEGREES, ((24, 60),))
    assert shape_of(f"<{EPSG}/3067> POINT(385000 6672000)") == DrawnShape(
        f"{EPSG}/3067", ((385000, 6672000),)
    )
    # No place on the globe, whatever the text says.
    assert shape_of("POINT(720 800)") == DrawnShape(PLANE, ((720, 800),))


def test_lines_areas_and_collections_are_read_from_wkt() -> None:
    square = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 0.0))
    hole = ((1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 1.0))
    assert shape_of("POLYGON((0 0, 4 0, 4 4, 0 0), (1 1, 2 1, 2 2, 1 1))") == DrawnShape(
        DEGREES, rings=(square, hole)
    )
    many = "MULTIPOLYGON(((0 0,4 0,4 4,0 0)),((1 1,2 1,2 2,1 1)))"
    assert shape_of(many) == DrawnShape(DEGREES, rings=(square, hole))
    two = ((0.0, 0.0), (4.0, 4.0))
    for text in ("MULTIPOINT(0 0, 4 4)", "MULTIPOINT((0 0), (4 4))"):
        assert shape_of(text) == DrawnShape(DEGREES, two)
    assert shape_of("MULTILINESTRING((0 0,4 4),(4 4,0 0))") == DrawnShape(
        DEGREES, lines=(two, two[::-1])
    )
    mixed = f"GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(0 0, 4 4), {many})"
    assert shape_of(mixed) == DrawnShape(DEGREES, ((1.0, 2.0),), (two,), (square, hole))


@given(st.text(alphabet="POINTpoint()<>, 0123456789.-eEZM\n\t", max_size=60))
def test_no_text_is_a_fault(text: str) -> None:
    shape = shape_of(text)
    assert shape is None or list(shape.corners())


def test_coordinates_are_known_by_their_names() -> None:
    assert coordinates(["hasName", "lat", "long"]) == ("long", "lat", DEGREES)
    assert coordinates(["hasXLocation", "hasYLocation"]) == ("hasXLocation", "hasYLocation", PLANE)
    assert coordinates(["hasXLocation", "lat"]) is None


def dots(drawn: str) -> list[tuple[float, float]]:
    found = re.findall(r'<circle cx="([-.\d]+)" cy="([-.\d]+)"', drawn)
    return [(float(x), float(y)) for x, y in found]


def point(east: float, north: float, frame: str = DEGREES) -> tuple[str, DrawnShape]:
    return "", DrawnShape(frame, ((east, north),))


@given(
    st.floats(-180, 180),
    st.floats(-80, 80),
    st.floats(1, 100_000),
    st.floats(0.1, 10),
)
def test_a_metre_is_as_long_to_the_east_as_to_the_north(
    east: float, north: float, metres: float, ratio: float
) -> None:
    up = metres / RADIUS * 57.29577951308232
    aside = ratio * up / cos(radians(north + up / 2))
    (x, y), (x1, y1), (x2, y2) = dots(
        picture([point(east, north), point(east + aside, north), point(east, north + up)])
    )
    assert (x1 - x) / (y - y2) == pytest.approx(ratio, rel=0.02, abs=0.02)
    assert abs(y1 - y) < 0.02
    assert abs(x2 - x) < 0.02
    for place in ((x, y), (x1, y1), (x2, y2)):
        assert 0 <= place[0] <= 640
        assert 0 <= place[1] <= 340


def test_units_of_a_plane_are_as_long_in_both_directions() -> None:
    places = [point(0, 0, PLANE), point(10, 0, PLANE), point(0, 30, PLANE)]
    (x, y), (x1, _), (_, y2) = dots(picture(places))
    assert (y - y2) / (x1 - x) == pytest.approx(3, rel=0.01)


def test_neighbours_across_the_date_line_are_near_each_other() -> None:
    (x, _), (x1, _), (_, y2) = dots(picture([point(179.9, 0), point(-179.9, 0), point(179.9, 0.2)]))
    assert 0 < x1 - x == pytest.approx(300, rel=0.1)
    assert y2 > 0


def test_lines_and_areas_are_drawn_with_their_names() -> None:
    line = DrawnShape(PLANE, lines=(((0, 0), (10, 10)),))
    area = DrawnShape(PLANE, rings=(((0, 0), (10, 0), (10, 10), (0, 0)),))
    drawn = picture([("<road>", line), ("lake", area), ("tree", DrawnShape(PLANE, ((5, 5),)))])
    assert drawn.count('<path class="line"') == 1
    assert "<title>&lt;road&gt;</title>" in drawn
    assert drawn.index('class="area"') < drawn.index('class="line"') < drawn.index("<circle")
    assert re.search(r'class="area" fill-rule="evenodd" d="M[\d.]+ [\d.]+ L.*?Z"', drawn)


def test_a_way_joins_the_points_in_their_order() -> None:
    drawn = picture([point(0, 0, PLANE), point(10, 10, PLANE)], is_a_way=True)
    (x, y), (x1, y1) = dots(drawn)
    assert f'class="way" fill-rule="evenodd" d="M{x} {y} L{x1} {y1}"' in drawn


@pytest.mark.parametrize(
    ("size", "frame", "told"),
    [(1.0, PLANE, ">0.2<"), (30.0, PLANE, ">5<"), (0.02, DEGREES, ">500 m<"), (0.0, PLANE, ">20<")],
)
def test_a_bar_tells_how_long_a_round_length_is(size: float, frame: str, told: str) -> None:
    assert told in picture([point(0, 0, frame), point(size, 0, frame)])


def test_a_map_says_what_it_does_not_show() -> None:
    places = [point(1, 2), point(3, 4), point(385000, 6672000, f"{EPSG}/3067")]
    drawn, note = chosen(places)
    assert drawn == places[:2]
    assert "From west to east 1° to 3°, from south to north 2° to 4°." in note
    assert "1 places of other reference systems are not drawn." in note
    _, note = chosen(places[2:])
    assert f"<{EPSG}/3067>" in note
    many = DrawnShape(PLANE, tuple((number, 0) for number in range(15_000)))
    drawn, note = chosen([("", many), ("", many)])
    assert len(drawn) == 1
    assert "1 places more are not drawn" in note
