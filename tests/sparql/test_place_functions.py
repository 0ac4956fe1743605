"""The functions of GeoSPARQL, in the network and on Oxigraph, against shapely and pyproj."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from sensorstream.errors import QueryError
from sensorstream.installation import EXTRAS
from sensorstream.kb.graph_changes import QuadStore
from sensorstream.kb.oxigraph_terms import stored, term_of
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.geometry import CRS84, Geometry
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.build import build
from sensorstream.network.exact_values import exact
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.network import Network
from sensorstream.network.plan.planner import plan
from sensorstream.network.query_sources import DEFAULT, Sources
from sensorstream.sparql.algebra import FunctionCall, Variable
from sensorstream.sparql.answerable import read_answerable
from sensorstream.sparql.place_functions import GEOF, PLACE_AGGREGATES, PLACE_FUNCTIONS, RELATIONS
from sensorstream.sparql.query_parser import parse_query

LATITUDE_FIRST = "http://www.opengis.net/def/crs/EPSG/0/4326"
METRE = IRI("http://www.opengis.net/def/uom/OGC/1.0/metre")
DEGREE = IRI("http://www.opengis.net/def/uom/OGC/1.0/degree")
PAGE = Path(__file__).parents[2] / "docs" / "use" / "geography.md"
GLOBE = Geod(ellps="WGS84")
SQUARE = "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))"
LINE = "LINESTRING (0 0, 3 4)"


def wkt(text: str) -> Literal:
    return Literal(text, xsd.GEO_WKT)


def value(name: str, *terms: Term) -> Term | None:
    """The value of a function, the same in the network and in the cache."""
    names = [f"a{place}" for place in range(len(terms))]
    call = FunctionCall(IRI(GEOF + name), tuple(map(Variable, names)))
    found = value_of(call, {each: place for place, each in enumerate(names)})(terms)
    # As values of variables, which are not checked when the text is read.
    variables, written = " ".join(f"?{each}" for each in names), " ".join(e.n3 for e in terms)
    asked = ", ".join(f"?{each}" for each in names)
    query = read_answerable(
        f"SELECT (<{GEOF}{name}>({asked}) AS ?x) {{ VALUES ({variables}) {{ ({written}) }} }}"
    )
    store = QuadStore().store
    answer = exact(query, store).answer(store)
    assert isinstance(answer, ox.QuerySolutions)
    (row,) = answer
    assert (row["x"] is None) == (found is None)
    return found


def written(term: Term | None) -> Any:
    """The shape of a literal."""
    assert isinstance(term, Literal)
    assert isinstance(term.value, Geometry)
    return term.value.written


def plain(name: str, *terms: Term) -> Any:
    """The Python value of a function's result; of a geometry the shape as it is written."""
    found = value(name, *terms)
    assert isinstance(found, Literal)
    is_geometry = found.datatype in (xsd.GEO_WKT, xsd.GEO_JSON)
    return found.value.written if is_geometry else found.value  # type: ignore[union-attr]


small = st.integers(0, 4)
shapes = st.one_of(
    st.tuples(small, small).map(shapely.Point),
    st.lists(st.tuples(small, small), min_size=2, max_size=4, unique=True).map(shapely.LineString),
    st.tuples(small, small, st.integers(1, 3), st.integers(1, 3)).map(
        lambda box: shapely.box(box[0], box[1], box[0] + box[2], box[1] + box[3])
    ),
)


@settings(max_examples=150)
@given(shapes, shapes)
def test_relations_are_those_of_shapely(one: Any, other: Any) -> None:
    a, b = wkt(one.wkt), wkt(other.wkt)
    for name, relation in RELATIONS.items():
        expected = (
            getattr(shapely, relation)(one, other)
            if relation.islower()
            else any(shapely.relate_pattern(one, other, each) for each in relation.split())
        )
        assert PLACE_FUNCTIONS[GEOF + name](a, b) == Literal(str(expected).lower(), xsd.BOOLEAN)
    matrix = shapely.relate(one, other)
    assert plain("relate", a, b, Literal(matrix)) is True


@settings(max_examples=40)
@given(shapes, shapes)
def test_overlays_are_those_of_shapely(one: Any, other: Any) -> None:
    a, b = wkt(one.wkt), wkt(other.wkt)
    for name, called in (
        ("intersection", shapely.intersection),
        ("union", shapely.union),
        ("difference", shapely.difference),
        ("symDifference", shapely.symmetric_difference),
    ):
        assert shapely.equals(plain(name, a, b), called(one, other))
    assert plain("distance", a, b, DEGREE) == shapely.distance(one, other)


@pytest.mark.parametrize(
    "text", [SQUARE, LINE, "POINT (1 2)", f"MULTIPOINT ((1 1), (3 {'1'})))"[:-1]]
)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("boundary", shapely.boundary),
        ("boundingCircle", shapely.minimum_bounding_circle),
        ("centroid", shapely.centroid),
        ("convexHull", shapely.convex_hull),
        ("concaveHull", lambda shape: shapely.concave_hull(shape, ratio=0.3)),
        ("envelope", shapely.envelope),
        ("dimension", shapely.get_dimensions),
        ("coordinateDimension", lambda shape: 2),
        ("spatialDimension", lambda shape: 2),
        ("isEmpty", shapely.is_empty),
        ("isSimple", shapely.is_simple),
        ("is3D", shapely.has_z),
        ("isMeasured", shapely.has_m),
        ("numGeometries", shapely.get_num_geometries),
        ("geometryType", lambda shape: f"http://www.opengis.net/ont/sf#{shape.geom_type}"),
        ("getSRID", lambda shape: CRS84),
        ("minX", lambda shape: shape.bounds[0]),
        ("minY", lambda shape: shape.bounds[1]),
        ("maxX", lambda shape: shape.bounds[2]),
        ("maxY", lambda shape: shape.bounds[3]),
        ("asWKT", lambda shape: shape),
        ("asGeoJSON", lambda shape: shape),
    ],
)
def test_functions_of_one_geometry_are_those_of_shapely(
    text: str, name: str, expected: Callable[[Any], Any]
) -> None:
    found, known = plain(name, wkt(text)), expected(shapely.from_wkt(text))
    if isinstance(known, shapely.Geometry):
        assert shapely.equals_exact(found, known, 1e-12)
    else:
        assert found == known


AGGREGATES: dict[str, Callable[[Any], Any]] = {
    "aggBoundingBox": shapely.envelope,
    "aggBoundingCircle": shapely.minimum_bounding_circle,
    "aggCentroid": shapely.centroid,
    "aggConcaveHull": lambda whole: shapely.concave_hull(whole, ratio=0.3),
    "aggConvexHull": shapely.convex_hull,
    "aggUnion": lambda whole: shapely.union_all(whole.geoms),
}


@settings(max_examples=40)
@given(st.lists(st.lists(st.tuples(small, shapes), max_size=3), max_size=5))
def test_aggregates_are_those_of_shapely_while_geometries_come_and_go(
    stream: list[list[tuple[int, Any]]],
) -> None:
    assert {GEOF + name for name in AGGREGATES} == PLACE_AGGREGATES.keys()
    columns = " ".join(f"(<{GEOF}{name}>(?g) AS ?{name})" for name in AGGREGATES)
    query = read_answerable(f"SELECT {columns} {{ ?s <urn:g> ?g }}")
    index, network, store = TripleIndex(), Network(), QuadStore()
    root = build(plan(query.form.pattern, Sources()), network, {DEFAULT: index})
    geometry = IRI("urn:g")
    for instant in [*stream, *stream]:
        for subject, shape in instant:
            triple = (IRI(f"urn:s{subject}"), geometry, wkt(shape.wkt))
            there = triple in index
            (index.discard if there else index.add)(triple)
            quad = [ox.Quad(ox.NamedNode(triple[0]), ox.NamedNode(geometry), stored(triple[2]))]
            store.change([] if there else quad, quad if there else [])
        network.settle()
        (row,) = root.rows()
        known = [written(o) for by in index.spo.values() for o in by[geometry]]
        whole = shapely.GeometryCollection(known)
        for found, (name, expected) in zip(row, AGGREGATES.items(), strict=True):
            if not known:
                assert found is None
            elif name in ("aggBoundingBox", "aggConcaveHull", "aggConvexHull", "aggUnion"):
                assert shapely.equals(written(found), expected(whole))
            else:
                assert shapely.hausdorff_distance(written(found), expected(whole)) < 1e-9
        answer = exact(query, store.store).answer(store.store)
        assert isinstance(answer, ox.QuerySolutions)
        (solution,) = answer
        assert tuple(None if each is None else term_of(each) for each in solution) == row


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({wkt("POINT (1 2)"): 3, wkt("POINT (5 2)"): 1}, wkt("POINT (2 2)")),
        (
            dict.fromkeys((wkt("POINT (4 2)"), wkt(f"<{LATITUDE_FIRST}> POINT (2 0)")), 1),
            wkt("POINT (2 2)"),
        ),
        (
            dict.fromkeys((wkt(f"<{LATITUDE_FIRST}> POINT ({north} 0)") for north in (2, 4)), 1),
            wkt(f"<{LATITUDE_FIRST}> POINT (3 0)"),
        ),
        (
            {Literal('{"type":"Point","coordinates":[1.0,2.0]}', xsd.GEO_JSON): 1},
            Literal('{"type":"Point","coordinates":[1.0,2.0]}', xsd.GEO_JSON),
        ),
    ],
)
def test_an_aggregate_is_in_the_system_that_all_have(
    members: dict[Term, int], expected: Literal
) -> None:
    assert PLACE_AGGREGATES[GEOF + "aggCentroid"].value(members) == expected


def test_an_aggregate_with_a_member_that_is_no_geometry_has_no_value() -> None:
    rows = f'("{SQUARE}"^^<{xsd.GEO_WKT}>) ("POINT(1 1)")'
    query = read_answerable(f"SELECT (<{GEOF}aggUnion>(?g) AS ?x) {{ VALUES (?g) {{ {rows} }} }}")
    (row,) = build(plan(query.form.pattern, Sources()), Network(), {}).rows()
    assert row == (None,)


def test_measures_are_in_the_unit() -> None:
    square = shapely.from_wkt(SQUARE)
    area, around = GLOBE.geometry_area_perimeter(square)
    kilometre = IRI("http://qudt.org/vocab/unit/KiloM")
    assert plain("metricArea", wkt(SQUARE)) == pytest.approx(area)
    assert plain("area", wkt(SQUARE), METRE) == pytest.approx(area)
    assert plain("area", wkt(SQUARE), kilometre) == pytest.approx(area / 1e6)
    assert plain("area", wkt(SQUARE), IRI(f"{kilometre}2")) == pytest.approx(area / 1e6)
    assert plain("area", wkt(SQUARE), DEGREE) == 16
    for name in ("length", "perimeter"):
        assert plain(f"metric{name.title()}", wkt(SQUARE)) == pytest.approx(around)
        assert plain(name, wkt(SQUARE), kilometre) == pytest.approx(around / 1000)
        assert plain(name, wkt(SQUARE), Literal(DEGREE, xsd.ANY_URI)) == 16
    far = GLOBE.inv(4, 4, 5, 4)[2]
    assert plain("metricDistance", wkt(SQUARE), wkt("POINT(5 4)")) == pytest.approx(far)
    assert plain("distance", wkt(SQUARE), wkt("POINT(5 4)"), kilometre) == pytest.approx(far / 1000)
    ten = Literal("10", xsd.INTEGER)
    for round_ in (plain("metricBuffer", wkt("POINT(5 4)"), ten),
                   plain("buffer", wkt("POINT(5 4)"), ten, METRE)):  # fmt: skip
        assert GLOBE.inv(5, 4, *round_.exterior.coords[0])[2] == pytest.approx(10, rel=1e-5)
    wide = plain("buffer", wkt("POINT(5 4)"), ten, DEGREE)
    assert shapely.equals_exact(wide, shapely.buffer(shapely.Point(5, 4), 10), 1e-12)


def test_results_are_in_the_system_and_form_of_the_first() -> None:
    there = wkt(f"<{LATITUDE_FIRST}> POINT(44 26)")
    assert value("sfEquals", there, wkt("POINT(26 44)")) == Literal("true", xsd.BOOLEAN)
    assert value("getSRID", there) == Literal(LATITUDE_FIRST, xsd.ANY_URI)
    assert value("minX", there) == Literal("4.4E1", xsd.DOUBLE)
    assert value("centroid", there) == wkt(f"<{LATITUDE_FIRST}> POINT (44 26)")
    assert value("transform", there, IRI(CRS84)) == wkt("POINT (26 44)")
    made = value("asGeoJSON", there)
    assert made == Literal('{"type":"Point","coordinates":[26.0,44.0]}', xsd.GEO_JSON)
    found = value("centroid", made)
    assert isinstance(found, Literal)
    assert found.datatype == xsd.GEO_JSON
    assert value("geometryN", wkt("MULTIPOINT(1 1, 2 2)"), Literal("2", xsd.INTEGER)) == wkt(
        "POINT (2 2)"
    )
    flat = plain("union", wkt("POINT Z (1 2 3)"), wkt("POINT(4 5)"))
    assert flat == shapely.MultiPoint([(1, 2), (4, 5)])
    high = wkt("LINESTRING Z (0 0 3, 1 1 5)")
    assert (plain("minZ", high), plain("maxZ", high), plain("is3D", high)) == (3, 5, True)


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("sfWithin", (Literal("POINT(1 1)"), wkt(SQUARE))),
        ("sfWithin", (wkt("POINT(1"), wkt(SQUARE))),
        ("sfWithin", (IRI("urn:a"), wkt(SQUARE))),
        ("sfWithin", (wkt("<urn:other> POINT(1 1)"), wkt(SQUARE))),
        ("metricDistance", (wkt(""), wkt(SQUARE))),
        ("minX", (wkt(""),)),
        ("minZ", (wkt(SQUARE),)),
        ("boundary", (wkt("GEOMETRYCOLLECTION(POINT(1 1))"),)),
        ("relate", (wkt(SQUARE), wkt(SQUARE), Literal("T*"))),
        ("distance", (wkt(SQUARE), wkt(SQUARE), IRI("urn:mile"))),
        ("distance", (wkt(SQUARE), wkt(SQUARE), IRI("http://qudt.org/vocab/unit/M2"))),
        ("length", (wkt("<http://www.opengis.net/def/crs/EPSG/0/25832> POINT(1 1)"), DEGREE)),
        ("buffer", (wkt(SQUARE), Literal("NaN", xsd.DOUBLE), METRE)),
        ("transform", (wkt(SQUARE), IRI("urn:other"))),
        ("geometryN", (wkt(SQUARE), Literal("0", xsd.INTEGER))),
        ("geometryN", (wkt(SQUARE), Literal("2", xsd.INTEGER))),
    ],
)
def test_what_has_no_value_is_an_error(name: str, terms: tuple[Term, ...]) -> None:
    assert value(name, *terms) is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (f'sfWithin(?p, "POLYGON(())"^^<{xsd.GEO_WKT}>)', "is not WKT: .*expected e.g. POINT"),
        ('sfWithin(?p, "POLYGON((0 0))")', "no geo:wktLiteral or geo:geoJSONLiteral"),
        (f'metricDistance("POINT(0 91)"^^<{xsd.GEO_WKT}>, ?p)', "no place on the globe"),
        ("sfWithin(?p)", "expected two arguments, not 1"),
        ("aggUnion(?p)", "aggUnion cannot stand in FILTER: aggregates stand in SELECT"),
        ("sfWithin(DISTINCT ?p, ?q)", "DISTINCT is for aggregates"),
        ("distance(?p, ?q, <urn:mile>)", "<urn:mile> is no known unit"),
        ('relate(?p, ?q, "T")', "no pattern of DE-9IM"),
    ],
)
def test_a_call_that_never_has_a_value_is_refused_with_its_place(call: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        parse_query(f"PREFIX geof: <{GEOF}> SELECT * {{ FILTER(geof:{call}) }}")


def test_without_the_extra_the_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "geo", ("no_such",))
    with pytest.raises(QueryError, match=r"needs no_such.*pip install 'sensorstream\[geo\]'"):
        parse_query(f"SELECT * {{ FILTER(<{GEOF}isEmpty>(?p)) }}")


def test_the_page_names_all_functions() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("<!-- places -->")[2].partition("<!-- end of places -->")[0]
    told = set(re.findall(r"`(\w+)", table))
    assert {GEOF + name for name in told} == PLACE_FUNCTIONS.keys() | PLACE_AGGREGATES.keys()
