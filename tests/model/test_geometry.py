"""Geometries as they are read, moved and measured, against shapely and pyproj themselves."""

from __future__ import annotations

import json
import math

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod, Transformer

from sensorstream.errors import TermError
from sensorstream.model.geometry import (
    CRS84,
    MOST_CORNERS,
    Geometry,
    converted,
    made,
    metric_area,
    metric_buffer,
    metric_distance,
    metric_length,
    read_geometry,
    system_of,
    text_of,
    together,
)
from sensorstream.model.terms import Literal, literal
from sensorstream.model.xsd import GEO_JSON, GEO_WKT

LATITUDE_FIRST = "http://www.opengis.net/def/crs/EPSG/0/4326"
UTM = "http://www.opengis.net/def/crs/EPSG/0/25832"
GLOBE = Geod(ellps="WGS84")


def wkt(text: str) -> Geometry:
    return read_geometry(text, is_json=False)


@pytest.mark.parametrize(
    "text",
    [
        "POINT (26.1 44.4)",
        "point z(1 2 3)",
        "POINT ZM (1 2 3 4)",
        "LINESTRING (0 0, 1 1)",
        "POLYGON ((0 0, 4 0, 0 4, 0 0), (1 1, 2 1, 1 2, 1 1))",
        "MULTIPOINT (1 1, 2 2)",
        "GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (0 0, 1 1))",
        "POINT EMPTY",
        "POINT (-1.5e1 .5)",
    ],
)
def test_wkt_is_read_and_written_as_shapely_does(text: str) -> None:
    found = wkt(text)
    assert found.written == shapely.from_wkt(text)
    assert found.reference == CRS84
    assert shapely.from_wkt(text_of(found)) == found.written
    assert wkt(f"<{UTM}>{text}").reference == UTM


def test_an_empty_text_is_an_empty_geometry() -> None:
    for is_json in (False, True):
        found = read_geometry("", is_json=is_json)
        assert found.shape.is_empty
        assert found.size == 0


def test_geojson_is_read_and_written() -> None:
    text = '{"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [0, 4], [0, 0]]]}'
    found = read_geometry(text, is_json=True)
    assert found.written == shapely.from_geojson(text)
    assert json.loads(text_of(found)) == json.loads(text)


@pytest.mark.parametrize("text", ["POINT", "POINT()", "POINT(1)", "POINT(1 a)", "POINT(1e999 1)",
    "POINT(nan 1)", "POINT(Infinity 1)", f"POINT(1{'0' * 400} 1)", "POINT((1 2))", "1 1",
    "LINESTRING(0 0)", "POLYGON(0 0, 1 0, 1 1, 0 0)", "POLYGON((0 0, 1 0, 1 1))",
    "POLYGON((0 0, 1 0, 1 1, 0 0)", "POINT(1 1) POINT(1 1)", "POINT(1 1", "SRID=4326;POINT(1 1)",
    "GEOMETRYCOLLECTION(" * 50_000 + ")" * 50_000])  # fmt: skip
def test_what_is_no_wkt_is_no_value(text: str) -> None:
    with pytest.raises(TermError):
        literal(text, GEO_WKT)
    assert Literal(text, GEO_WKT).known is None


@pytest.mark.parametrize(
    "text",
    [
        "POINT(1 1)",
        "[]",
        "{}",
        '{"type": "Point"}',
        '{"type": "Point", "coordinates": ["a", 1]}',
        '{"type": "Point", "coordinates": [1e999, 1]}',
        '{"type": "Point", "coordinates": [NaN, 1]}',
        '{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]}',
        '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}}',
        '{"type": "GeometryCollection", "geometries": [' * 50_000,
        '{"type": "Geometry\\u0043ollection", "geometries": [' * 40 + "]}" * 40,
    ],
)
def test_what_is_no_geojson_of_a_geometry_is_no_value(text: str) -> None:
    with pytest.raises(TermError, match=r"GeoJSON|collections"):
        literal(text, GEO_JSON)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CIRCULARSTRING(0 0, 1 1, 2 0)", "curves"),
        ("TRIANGLE((0 0, 1 0, 1 1, 0 0))", "triangles"),
        ("<urn:other> POINT(1 1)", "not a known reference system"),
        ("<http://www.opengis.net/def/crs/EPSG/0/99999> POINT(1 1)", "EPSG/0/99999> is not"),
        ("<http://www.opengis.net/def/crs/EPSG/0/4978> POINT(1 1)", "without a plane"),
        ("POINT(0 91)", "no place on the globe"),
        ("POINT(400 0)", "no place on the globe"),
        (f"<{LATITUDE_FIRST}> POINT(91 0)", "no place on the globe"),
        ("POLYGON((0 0, 1 0, 0 0))", "surrounds nothing"),
        (f"LINESTRING({'0 0,' * MOST_CORNERS}0 0)", "10001 corners"),
    ],
)
def test_what_is_wkt_may_have_no_place(text: str, told: str) -> None:
    found = wkt(text)
    with pytest.raises(TermError, match=told):
        _ = found.shape


def test_the_order_of_axes_is_that_of_the_system() -> None:
    assert wkt(f"<{LATITUDE_FIRST}> POINT(44 26)").shape == shapely.Point(26, 44)
    assert wkt("<urn:ogc:def:crs:EPSG::4326> POINT(44 26)").shape == shapely.Point(26, 44)
    assert wkt(f"<{CRS84}> POINT(26 44)").shape == shapely.Point(26, 44)
    # Of Poland's plane the north comes first, of UTM the east.
    assert wkt("<http://www.opengis.net/def/crs/EPSG/0/2180> POINT(5 6)").shape.x == 6
    assert wkt(f"<{UTM}> POINT(5 6)").shape.x == 5


def test_a_polygon_that_crosses_itself_is_what_it_surrounds() -> None:
    crossed = "POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))"
    expected = shapely.make_valid(
        shapely.from_wkt(crossed), method="structure", keep_collapsed=False
    )
    assert wkt(crossed).shape == expected
    assert wkt(crossed).shape.area == pytest.approx(2)
    teeth = ", ".join(f"{i % 90} {i * 37 % 89}" for i in range(2000))
    with pytest.raises(TermError, match="pairs"):
        _ = wkt(f"POLYGON(({teeth}, 0 0))").shape


def test_another_geometry_is_taken_into_the_system_of_the_first() -> None:
    moved = Transformer.from_crs("EPSG:25832", "EPSG:4326", always_xy=True)
    there = wkt(f"<{UTM}> POINT(500000 6200000)")
    here = wkt(f"<{LATITUDE_FIRST}> POINT(56 9)")
    one, other = together(here, there)
    assert (one.x, one.y) == (9, 56)
    assert (other.x, other.y) == pytest.approx(moved.transform(500000, 6200000))
    back = converted(converted(there, LATITUDE_FIRST), UTM)
    assert (back.shape.x, back.shape.y) == pytest.approx((500000, 6200000))
    assert text_of(converted(here, CRS84)) == "POINT (9 56)"
    assert text_of(made(shapely.Point(1, 2), here)) == f"<{LATITUDE_FIRST}> POINT (2 1)"
    high = "http://www.opengis.net/def/crs/EPSG/0/4979"
    assert text_of(converted(wkt(f"<{high}> POINT Z(1 2 3)"), CRS84)) == "POINT Z (2 1 3)"
    measured = wkt(f"<{LATITUDE_FIRST}> POINT ZM(1 2 3 4)")
    assert text_of(converted(measured, CRS84)) == "POINT (2 1)"
    with pytest.raises(TermError, match="no place"):
        converted(wkt("POINT(99 0)"), UTM)


def test_different_systems_are_known_by_their_code() -> None:
    assert system_of(CRS84).code == system_of(LATITUDE_FIRST).code
    assert system_of(UTM).unit == 1
    # US survey feet.
    assert system_of("http://www.opengis.net/def/crs/EPSG/0/2263").unit == pytest.approx(0.3048006)


# -- metres ----------------------------------------------------------------------------------

places = st.tuples(
    st.integers(-17900, 17900).map(lambda n: n / 100),
    st.integers(-8500, 8500).map(lambda n: n / 100),
)


@settings(max_examples=100)
@given(places, places)
def test_points_are_as_far_apart_as_on_the_ellipsoid(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    found = metric_distance(wkt(f"POINT({one[0]} {one[1]})"), wkt(f"POINT({other[0]} {other[1]})"))
    assert found == pytest.approx(GLOBE.inv(*one, *other)[2], abs=1e-6)


@settings(max_examples=50)
@given(places, st.integers(-300, 300), st.integers(-300, 300))
def test_a_line_is_as_far_as_its_closest_place(
    start: tuple[float, float], east: int, north: int
) -> None:
    x, y = start
    y = y * 0.9
    line = shapely.LineString([(x, y), (x + 0.1, y + 0.05), (x + 0.15, y - 0.05)])
    point = x + east / 1000, y + north / 1000
    found = metric_distance(
        wkt(f"POINT({point[0]} {point[1]})"), wkt(shapely.to_wkt(line, rounding_precision=-1))
    )
    near = [line.interpolate(n / 500, normalized=True) for n in range(501)]
    exact = min(GLOBE.inv(*point, each.x, each.y)[2] for each in near)
    # Half of a step between two of the places.
    assert found == pytest.approx(exact, abs=40, rel=2e-3)


def test_the_shorter_way_leads_over_the_180th_meridian() -> None:
    fence = "POLYGON((178 -1, 179 -1, 179 1, 178 1, 178 -1))"
    found = metric_distance(wkt("POINT(-179.5 0)"), wkt(fence))
    assert found == pytest.approx(GLOBE.inv(179, 0, -179.5, 0)[2])
    assert metric_distance(wkt("POINT(178.5 0)"), wkt(fence)) == 0


def test_lengths_and_areas_are_those_of_the_ellipsoid() -> None:
    text = "POLYGON((8 55, 9 55, 9 56, 8 56, 8 55), (8.2 55.2, 8.4 55.2, 8.4 55.4, 8.2 55.2))"
    area, around = GLOBE.geometry_area_perimeter(shapely.orient_polygons(shapely.from_wkt(text)))
    # pyproj leaves the hole out.
    around += GLOBE.line_length([8.2, 8.4, 8.4, 8.2], [55.2, 55.2, 55.4, 55.2])
    assert metric_area(wkt(text)) == pytest.approx(abs(area))
    assert metric_length(wkt(text)) == pytest.approx(around)
    both = f"GEOMETRYCOLLECTION({text}, POINT(1 1), LINESTRING(0 0, 0 1, 1 1))"
    assert metric_area(wkt(both)) == pytest.approx(abs(area))
    line = GLOBE.line_length([0, 0, 1], [0, 1, 1])
    assert metric_length(wkt(both)) == pytest.approx(around + line)
    assert metric_length(wkt("POINT(1 1)")) == metric_area(wkt("LINESTRING(0 0, 1 1)")) == 0
    plane = wkt(f"<{UTM}> POLYGON((0 0, 100 0, 100 50, 0 50, 0 0))")
    assert (metric_area(plane), metric_length(plane)) == (5000, 300)


@settings(max_examples=20)
@given(places, st.integers(10, 50_000))
def test_a_buffer_is_as_wide_on_the_ellipsoid(start: tuple[float, float], metres: int) -> None:
    x, y = start
    found = metric_buffer(wkt(f"POINT({x * 0.9} {y * 0.9})"), metres)
    for corner in found.exterior.coords:
        assert GLOBE.inv(x * 0.9, y * 0.9, *corner)[2] == pytest.approx(metres, rel=1e-5)


def test_a_buffer_has_bounds() -> None:
    assert metric_buffer(wkt(f"<{UTM}> POINT(0 0)"), 10).area == pytest.approx(
        math.pi * 100, rel=1e-2
    )
    assert metric_buffer(wkt("POINT EMPTY"), 10).is_empty
    with pytest.raises(TermError, match="180th"):
        metric_buffer(wkt("POINT(179.999 0)"), 1000)
    with pytest.raises(TermError, match="at most 1000000"):
        metric_buffer(wkt("POINT(0 0)"), 2e6)
    with pytest.raises(TermError, match="pairs"):
        metric_buffer(wkt(f"LINESTRING({'0 0,' * 1500}0 0)"), 1)
    with pytest.raises(TermError, match="nowhere"):
        metric_distance(wkt("POINT EMPTY"), wkt("POINT(0 0)"))
