"""Joins by an index of places, and fences of many queries, against all pairs and shapely."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from time import process_time
from typing import Any

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import operators
from sensorstream.network.operators import place_join
from sensorstream.network.operators.place_join import PlaceJoinOperator, PlaceMatching
from sensorstream.network.operators.thresholds import ThresholdsOperator
from sensorstream.network.plan.plan_text import plan_lines
from sensorstream.network.plan.planner import plan
from sensorstream.network.query_sources import DEFAULT, Sources
from sensorstream.network.rows import Row
from sensorstream.sparql.place_functions import GEOF, PLACE_FUNCTIONS
from sensorstream.sparql.query_parser import parse_query

AT, AREA = IRI("urn:at"), IRI("urn:area")
GLOBE = Geod(ellps="WGS84")
PAIRS = "SELECT ?s ?f { ?s <urn:at> ?p . ?f <urn:area> ?a FILTER(%s) }"
monkey = pytest.MonkeyPatch()
PREFIX = f"PREFIX geof: <{GEOF}> PREFIX geo: <http://www.opengis.net/ont/geosparql#>"


@pytest.fixture(autouse=True, scope="module")
def _undone() -> Iterator[None]:
    yield
    monkey.undo()


class Follower:
    """One query, and the sum of its changes."""

    def __init__(self, network: Network, index: TripleIndex, text: str) -> None:
        self.plan = plan(parse_query(f"{PREFIX} {text}").form.pattern, Sources())
        self.root = build(self.plan, network, {DEFAULT: index})
        self.rows = Counter(self.root.rows())
        network.listen(self.root, self.changed)

    def changed(self, added: list[Row], removed: list[Row]) -> None:
        self.rows.update(added)
        self.rows.subtract(removed)

    def check(self, expected: Counter[Any]) -> None:
        assert +self.rows == Counter(self.root.rows()) == expected


def wkt(text: str) -> Literal:
    return Literal(text, xsd.GEO_WKT)


def in_utm(shape: Any) -> Literal:
    from pyproj import Transformer

    there = Transformer.from_crs("EPSG:4326", "EPSG:25832", always_xy=True).transform
    moved = shapely.transform(shape, there, interleaved=False)
    return wkt(f"<http://www.opengis.net/def/crs/EPSG/0/25832> {moved.wkt}")


degrees = st.integers(0, 12)
points = st.tuples(degrees, degrees).map(lambda at: shapely.Point(*at))
boxes = st.tuples(degrees, degrees, st.integers(1, 4), st.integers(1, 4)).map(
    lambda box: shapely.box(box[0], box[1], box[0] + box[2], box[1] + box[3])
)
forms = st.sampled_from(
    (
        lambda shape: wkt(shape.wkt),
        lambda shape: wkt(shape.wkt),
        lambda shape: Literal(shapely.to_geojson(shape), xsd.GEO_JSON),
        lambda shape: wkt(
            "<http://www.opengis.net/def/crs/EPSG/0/4326> "
            + shapely.transform(shape, lambda x, y: (y, x), interleaved=False).wkt
        ),
        in_utm,
    )
)
junk = st.sampled_from((wkt("POINT("), wkt(""), wkt("<urn:x> POINT(1 1)"), Literal("7"), AT))
literals: Any = st.one_of(
    st.builds(lambda make, shape: make(shape), forms, st.one_of(points, boxes)), junk
)
subjects = st.integers(0, 5).map(lambda n: IRI(f"urn:s{n}"))
streams = st.lists(
    st.lists(st.tuples(subjects, st.sampled_from((AT, AREA)), literals), max_size=5), max_size=12
)


def naive(index: TripleIndex, holds: Any) -> Counter[Row]:
    """All pairs of a place and an area of which a test is true."""
    triples = [
        (s, p, o) for s, by in index.spo.items() for p, objects in by.items() for o in objects
    ]
    ats = [(s, o) for s, p, o in triples if p == AT]
    areas = [(s, o) for s, p, o in triples if p == AREA]
    return Counter((one, other) for (one, a), (other, b) in product(ats, areas) if holds(a, b))


@pytest.mark.parametrize("relation", ["sfWithin", "sfIntersects", "sfEquals", "ehMeet", "rcc8ntpp"])
@settings(max_examples=40)
@given(before=streams, stream=streams, again=st.booleans())
def test_a_join_by_places_is_that_of_all_pairs(
    relation: str, before: list[list[Triple]], stream: list[list[Triple]], again: bool
) -> None:
    holds = PLACE_FUNCTIONS[GEOF + relation]
    true = Literal("true", xsd.BOOLEAN)
    for few in (0, 16):
        monkey.setattr(place_join, "_FEW", few)
        index, network = TripleIndex(), Network()
        for triple in (each for instant in before for each in instant):
            index.add(triple)
        text = (
            f"SELECT ?s ?f {{ ?s <urn:at> ?p . ?f <urn:area> ?a FILTER(geof:{relation}(?p, ?a)) }}"
        )
        follower = Follower(network, index, text)
        assert any(isinstance(each, PlaceJoinOperator) for each in operators(follower.root))
        follower.check(naive(index, lambda a, b: holds(a, b) == true))
        # Each triple comes, goes and, half of the time, comes back.
        for instant in [*stream, *stream, *(stream if again else [])]:
            for triple in instant:
                (index.discard if triple in index else index.add)(triple)
            network.settle()
            follower.check(naive(index, lambda a, b: holds(a, b) == true))


near = st.tuples(st.integers(-1800, 1800), st.integers(-900, 900)).map(
    lambda at: wkt(f"POINT({at[0] / 10} {at[1] / 10})")
)
crowded = st.one_of(
    near,
    st.tuples(st.integers(0, 40), st.integers(0, 40)).map(
        lambda at: wkt(f"POINT({20 + at[0] / 50} {60 + at[1] / 50})")
    ),
    st.tuples(st.sampled_from((-1, 1)), st.integers(0, 20), st.integers(0, 20)).map(
        lambda at: wkt(f"POINT({at[0] * (180 - at[1] / 50)} {at[2] / 50})")
    ),
)


@settings(max_examples=60)
@given(
    stream=st.lists(
        st.lists(st.tuples(subjects, st.sampled_from((AT, AREA)), crowded), max_size=6), max_size=10
    ),
    metres=st.sampled_from((1000, 20_000, 500_000)),
)
def test_near_misses_are_those_of_all_pairs(stream: list[list[Triple]], metres: int) -> None:
    monkey.setattr(place_join, "_FEW", 0)
    index, network = TripleIndex(), Network()
    follower = Follower(network, index, PAIRS % f"geof:metricDistance(?p, ?a) < {metres}")
    assert any(isinstance(each, PlaceJoinOperator) for each in operators(follower.root))

    def holds(one: Any, other: Any) -> bool:
        a, b = shapely.from_wkt(one.lexical), shapely.from_wkt(other.lexical)
        return bool(GLOBE.inv(a.x, a.y, b.x, b.y)[2] < metres)

    for instant in [*stream, *stream]:
        for triple in instant:
            (index.discard if triple in index else index.add)(triple)
        network.settle()
        follower.check(naive(index, holds))


@settings(max_examples=40)
@given(stream=streams, fences=st.lists(boxes, min_size=1, max_size=6, unique_by=lambda b: b.wkt))
def test_queries_with_a_fence_each_share_an_index(stream: list[Any], fences: list[Any]) -> None:
    index, network = TripleIndex(), Network()
    text = 'SELECT ?s {{ ?s <urn:at> ?p FILTER(geof:sfWithin(?p, "{}"^^geo:wktLiteral)) }}'
    followers = [Follower(network, index, text.format(each.wkt)) for each in fences]
    found = {each for f in followers for each in operators(f.root)}
    assert sum(isinstance(each, ThresholdsOperator) for each in found) == 1
    holds = PLACE_FUNCTIONS[f"{GEOF}sfWithin"]
    for instant in [*stream, *stream]:
        for triple in instant:
            (index.discard if triple in index else index.add)(triple)
        network.settle()
        for follower, fence in zip(followers, fences, strict=True):
            inside: Counter[Any] = Counter(
                (s,)
                for s, by in index.spo.items()
                for o in by.get(AT, ())
                if holds(o, wkt(fence.wkt)) == Literal("true", xsd.BOOLEAN)
            )
            follower.check(inside)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s { ?s <urn:at> ?p FILTER NOT EXISTS { ?f <urn:area> ?a FILTER(%s) } }",
        "SELECT ?s { ?s <urn:at> ?p FILTER EXISTS { ?f <urn:area> ?a FILTER(%s && ?f != ?s) } }",
        "SELECT ?s ?f { ?s <urn:at> ?p OPTIONAL { ?f <urn:area> ?a FILTER(%s) } }",
        "SELECT ?s ?f { ?s <urn:at> ?p OPTIONAL { ?f <urn:area> ?a FILTER(?f != ?s && %s) } }",
    ],
)
@settings(max_examples=40)
@given(stream=streams)
def test_optional_places_are_those_of_all_pairs(text: str, stream: list[list[Triple]]) -> None:
    monkey.setattr(place_join, "_FEW", 0)
    index, network = TripleIndex(), Network()
    call = "geof:sfIntersects(?a, ?p)"
    by_index = Follower(network, index, text % call)
    # Nothing is known of IF, so all pairs are looked at.
    plain = Follower(network, index, text % f"IF(true, {call}, 1)")
    for follower, found in ((by_index, True), (plain, False)):
        places = [e for e in operators(follower.root) if isinstance(e, PlaceMatching)]
        assert bool(places) is found
    for instant in [*stream, *stream, *stream]:
        for triple in instant:
            (index.discard if triple in index else index.add)(triple)
        network.settle()
        by_index.check(+plain.rows)


def test_the_plan_names_the_index() -> None:
    text = """SELECT ?name ?title { ?s <urn:at> ?p ; <urn:name> ?name . ?f <urn:area> ?a .
        ?f <urn:title> ?title FILTER(geof:sfWithin(?p, ?a) && ?name < ?title) }"""
    lines = "\n".join(plan_lines(plan(parse_query(f"{PREFIX} {text}").form.pattern, Sources())))
    assert "Join by an index of places, filter <" in lines
    assert "Product" not in lines
    linked = (
        "SELECT * { ?s <urn:at> ?p ; <urn:in> ?f . ?f <urn:area> ?a FILTER(geof:sfWithin(?p, ?a)) }"
    )
    (line,) = plan_lines(plan(parse_query(f"{PREFIX} {linked}").form.pattern, Sources()))
    assert line.startswith("Match")


def test_parts_that_variables_link_are_joined_first() -> None:
    index, network = TripleIndex(), Network()
    text = """SELECT ?s ?n ?f { ?s <urn:at> ?p . { SELECT ?s (COUNT(*) AS ?n)
        { ?s <urn:sees> ?x } GROUP BY ?s } ?f <urn:area> ?a FILTER(geof:sfWithin(?p, ?a)) }"""
    follower = Follower(network, index, text)
    one, fence = IRI("urn:one"), IRI("urn:fence")
    triples: list[tuple[IRI, IRI, Term]] = [
        (one, AT, wkt("POINT(1 1)")),
        (one, IRI("urn:sees"), Literal("a")),
        (one, IRI("urn:sees"), Literal("b")),
        (fence, AREA, wkt("POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))")),
    ]
    for each in triples:
        index.add(each)
    network.settle()
    follower.check(Counter([(one, Literal("2", xsd.INTEGER), fence)]))


def test_a_message_costs_its_hits_among_ten_thousand_fences() -> None:
    """Processor time of 1,000 positions: a limit with much room, since machines differ."""
    index, network = TripleIndex(), Network()
    for n in range(10_000):
        fence = shapely.Point(n % 100, n // 100 - 50).buffer(0.4)
        index.add((IRI(f"urn:f{n}"), AREA, wkt(fence.wkt)))
    monkey.undo()
    follower = Follower(network, index, PAIRS % "geof:sfWithin(?p, ?a)")
    chance = random.Random(7)
    spots = [(chance.uniform(0, 99), chance.uniform(-50, 49)) for _ in range(1000)]
    tracker = IRI("urn:tracker")
    before: Triple | None = None
    hits, start = 0, process_time()
    for x, y in spots:
        now = (tracker, AT, wkt(f"POINT({x} {y})"))
        if before is not None:
            index.discard(before)
        index.add(now)
        network.settle()
        hits += sum((+follower.rows).values())
        before = now
    spent = process_time() - start
    print(f"{spent * 1000:.0f} us a message, {hits} hits")
    assert 300 < hits < 700
    assert spent < 1
