"""Answers of SensorThings: as plain objects give them, on Oxigraph and in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from sensorstream.errors import Overrun
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.history_relations import FOREVER, PresentStatements, StandingTriple
from sensorstream.history.asking.query_answer import Row
from sensorstream.history.asking.query_run import AskingLimits, snapshot
from sensorstream.kb.graph_index import Origin
from sensorstream.kb.oxigraph_terms import triple_from_oxigraph
from sensorstream.model.timeline import Timeline
from tests.databases import Databases, make_history
from tests.server.sensorthings import naive
from tests.server.sensorthings.naive import E, Observed, Thing, World
from tests.server.sensorthings.requirements import CASES, DATA, fault_of

Truth = bool | None


@dataclass(frozen=True)
class Condition:
    """A condition: as it is written, and of an entity."""

    text: str
    holds: Callable[[Thing], Truth]


COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def compared(path: str, name: str, written: str, value: Any) -> Condition:
    def holds(thing: Thing) -> Truth:
        found = thing.value(path)
        if found is None or isinstance(found, str) != isinstance(value, str):
            return None
        return COMPARED[name](found, value)

    return Condition(f"{path} {name} {written}", holds)


def missing(path: str, name: str) -> Condition:
    return Condition(
        f"{path} {name} null", lambda each: (each.value(path) is None) == (name == "eq")
    )


def both(first: Condition, second: Condition) -> Condition:
    def holds(thing: Thing) -> Truth:
        told = first.holds(thing), second.holds(thing)
        return False if False in told else None if None in told else True

    return Condition(f"({first.text}) and ({second.text})", holds)


def either(first: Condition, second: Condition) -> Condition:
    def holds(thing: Thing) -> Truth:
        told = first.holds(thing), second.holds(thing)
        return True if True in told else None if None in told else False

    return Condition(f"({first.text}) or ({second.text})", holds)


def negated(one: Condition) -> Condition:
    def holds(thing: Thing) -> Truth:
        told = one.holds(thing)
        return None if told is None else not told

    return Condition(f"not ({one.text})", holds)


def quoted(text: str) -> str:
    return f"'{text.replace(chr(39), 2 * chr(39))}'"


LABELS = ("roof", "Tür 'A'", "cellar")
SIGNS = st.sampled_from(sorted(COMPARED))
ORDERS = st.sampled_from(["lt", "le", "gt", "ge"])
DAYS = st.integers(1, 9)
ATOMS = st.one_of(
    st.builds(lambda s, n: compared("result", s, str(n), n), SIGNS, st.integers(-2, 4)),
    st.builds(
        lambda s, n: compared("resultTime", s, m := f"2024-01-{n:02}T10:00:00Z", m), ORDERS, DAYS
    ),
    st.builds(
        lambda s, n: compared(
            "Datastream/Sensor/name", s, f"'{n.replace(chr(39), 2 * chr(39))}'", n
        ),
        SIGNS,
        st.sampled_from(LABELS),
    ),
    st.builds(
        lambda s, n: compared("Datastream/Thing/id", s, f"'{E}t{n}'", f"{E}t{n}"),
        st.sampled_from(["eq", "ne"]),
        st.integers(0, 1),
    ),
    st.builds(
        missing,
        st.sampled_from(["result", "Datastream/unitOfMeasurement/symbol", "Datastream/Thing/name"]),
        st.sampled_from(["eq", "ne"]),
    ),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(negated, inner)
    ),
    max_leaves=4,
)
RESULTS = st.one_of(st.none(), st.integers(-3, 5), st.sampled_from([0.5, 2.25]))
WORLDS = st.builds(
    World,
    st.tuples(*(st.sampled_from([None, 0, 1]) for _ in range(3))),
    st.tuples(*(st.sampled_from([None, "m"]) for _ in range(2))),
    st.tuples(*(st.sampled_from([None, *LABELS]) for _ in range(3))),
    st.lists(
        st.builds(Observed, st.integers(0, 2), st.integers(0, 1), RESULTS, DAYS), max_size=8
    ).map(tuple),
)
ORDER = st.lists(
    st.tuples(st.sampled_from(["result", "resultTime", "Datastream/Sensor/name"]), st.booleans()),
    max_size=2,
    unique_by=lambda each: each[0],
)
REQUESTS = st.tuples(WORLDS, st.none() | CONDITIONS, ORDER, st.integers(1, 4))


def ordered(things: list[Thing], order: list[tuple[str, bool]]) -> list[Thing]:
    """A missing value comes before all others."""
    for path, last in reversed(order):
        things = sorted(
            things,
            key=lambda each: (each.value(path) is not None, each.value(path) or 0),
            reverse=last,
        )
    return things


def pages(ask: naive.Ask, path: str, options: list[tuple[str, str]]) -> Iterator[Any]:
    found = naive.get(ask, path, options)
    while True:
        yield found
        if (more := found.get("@iot.nextLink")) is None:
            return
        found = naive.follow(ask, more)


def check_request(
    ask: naive.Ask, request: tuple[World, Condition | None, list[tuple[str, bool]], int]
) -> None:
    world, condition, order, top = request
    expected = world.things()["Observations"]
    options = [("$top", str(top)), ("$count", "true")]
    if condition is not None:
        expected = [each for each in expected if condition.holds(each)]
        options.append(("$filter", condition.text))
    if order:
        options.append(("$orderby", ",".join(f"{e} {'desc' if d else 'asc'}" for e, d in order)))
    # Equal ones are in the order of their ids.
    expected = ordered(expected, order)
    found = list(pages(ask, "Observations", options))
    assert {each["@iot.count"] for each in found} == {len(expected)}
    assert all(len(each["value"]) == top for each in found[:-1])
    told = [entity for page in found for entity in page["value"]]
    assert [each["@iot.id"] for each in told] == [each.id for each in expected]
    assert [(e["result"], e["phenomenonTime"]) for e in told] == [
        (e.told["result"], e.told["phenomenonTime"]) for e in expected
    ]


@settings(max_examples=60, deadline=None)
@given(REQUESTS)
def test_what_is_chosen_ordered_and_paged_is_as_defined(request: Any) -> None:
    check_request(naive.asking(naive.loaded(request[0].turtle())), request)


@settings(max_examples=25, deadline=None)
@given(WORLDS)
def test_every_link_leads_to_what_it_is_defined_to(world: World) -> None:
    ask = naive.asking(naive.loaded(world.turtle()))
    for name, things in world.things().items():
        for options in ([], [("$expand", ",".join(sorted(links_of(things))))]):
            if options == [("$expand", "")]:
                continue
            found = naive.get(ask, name, options)["value"]
            assert [each["@iot.id"] for each in found] == [each.id for each in things]
            for entity, thing in zip(found, things, strict=True):
                assert entity["@iot.selfLink"].startswith(f"{naive.HOST}/{name}('")
                assert all(entity.get(k, v) == v for k, v in thing.told.items())
                for link in links_of(things):
                    ids = sorted(each.id for each in thing.links.get(link, ()))
                    assert sorted(reached(ask, entity, link)) == ids


def links_of(things: list[Thing]) -> set[str]:
    return {link for each in things for link in each.links}


def reached(ask: naive.Ask, entity: Any, link: str) -> list[str]:
    if link in entity:
        found = entity[link]
    else:
        try:
            found = naive.follow(ask, entity[f"{link}@iot.navigationLink"])
        except HTTPException:
            return []
        found = found.get("value", found)
    found = [] if found is None else found if isinstance(found, list) else [found]
    return [each["@iot.id"] for each in found]


@pytest.fixture(scope="module")
def postgres_asks(new_database: Databases) -> Callable[[str], Any]:
    """Opens a snapshot of an empty history with data in the window."""
    url = new_database()
    make_history(url)

    def opened(turtle: str) -> Any:
        triples = [triple_from_oxigraph(each.triple) for each in naive.loaded(turtle)]

        def live(fix: Callable[[str], None]) -> PresentStatements:
            fix("")
            marks = int(Origin.STATIC)
            return PresentStatements([StandingTriple(e, marks, FOREVER) for e in triples], [])

        return snapshot(url, AskingLimits(120.0, 10_000), live)

    return opened


def in_sparql(rows: Any) -> naive.Ask:
    def ask(text: str) -> list[Row]:
        found: list[Row] = rows(read_question(text, Timeline.DATETIME))
        return found

    return ask


@settings(max_examples=6, deadline=None)
@given(request=REQUESTS)
def test_postgresql_chooses_the_same(postgres_asks: Any, request: Any) -> None:
    with postgres_asks(request[0].turtle()) as rows:
        check_request(in_sparql(rows), request)


@pytest.mark.parametrize("requirement", sorted({each.requirement for each in CASES}))
def test_a_requirement_is_met(requirement: str) -> None:
    ask = naive.asking(naive.loaded(DATA))
    for case in CASES:
        if case.requirement == requirement:
            assert fault_of(ask, case) is None


def test_requirements_are_met_in_postgresql(postgres_asks: Any) -> None:
    """Conditions with the same answer are asked at once: a question takes longer there."""
    conditions: dict[str, list[str]] = {}
    with postgres_asks(DATA) as rows:
        ask = in_sparql(rows)
        for number, case in enumerate(CASES):
            if "built-in" in case.requirement and isinstance(case.expected, str):
                conditions.setdefault(case.expected, []).append(f"({case.options[0][1]})")
            elif number % 5 == 0:
                assert fault_of(ask, case) is None
        assert len(conditions) >= 4
        for found, texts in conditions.items():
            told = naive.get(ask, "Observations", [("$filter", " and ".join(texts))])
            assert " ".join(each["@iot.id"].removeprefix(E) for each in told["value"]) == found


def test_functions_of_places_choose_in_history(postgres_asks: Any) -> None:
    around = "geography'POLYGON((25 43, 27 43, 27 45, 25 45, 25 43))'"
    with postgres_asks(DATA) as rows:
        ask = in_sparql(rows)
        every = naive.get(ask, "FeaturesOfInterest", [])["value"]
        placed = [each["@iot.id"] for each in every if each.get("feature")]
        assert len(placed) > 0
        for condition, found in (
            (f"st_within(feature, {around})", placed),
            (f"st_disjoint(feature, {around})", []),
            ("geo.distance(feature, geography'POINT(26 44.1)') lt 0.2", placed),
        ):
            told = naive.get(ask, "FeaturesOfInterest", [("$filter", condition)])["value"]
            assert [each["@iot.id"] for each in told] == found, condition


def test_an_answer_is_bounded() -> None:
    ask = naive.asking(naive.loaded(DATA))
    with pytest.raises(Overrun, match=r"more than 5 entities: .*limits\.question_rows"):
        naive.get(ask, "Observations", most=5)
    inner = "Datastream($expand=Observations($expand=Datastream($expand=Observations)))"
    with pytest.raises(Overrun, match="entities"):
        naive.get(ask, "Observations", [("$expand", inner)], most=16)


def test_an_answer_that_repeats_its_entities_is_bounded() -> None:
    ask = naive.asking(naive.loaded(DATA))
    inner = "Datastream"
    for _ in range(10):
        inner = f"Datastream($expand=Observations($expand={inner}))"
    with pytest.raises(Overrun, match="entities"):
        naive.get(ask, "Observations", [("$expand", inner)])


@pytest.mark.parametrize(
    "key",
    [
        "x> } INSERT",
        "http://a b",
        "http://a>",
        'http://a"',
        "http://a\\u003e",
        "a",
        "",
        "http://a\n",
    ],
)
def test_an_id_that_is_no_iri_is_not_there_and_asks_nothing(key: str) -> None:
    def ask(text: str) -> list[Row]:
        raise AssertionError(text)

    with pytest.raises(HTTPException) as error:
        naive.get(ask, f"Things('{key}')")
    assert error.value.status_code == 404


@pytest.mark.parametrize("text", ["'", "''", '"', "\\", "\n", "} #", '"^^<x:y>', "ä\U0001f600"])
def test_a_text_stays_a_text(text: str) -> None:
    ask = naive.asking(naive.loaded(DATA))
    written = text.replace("'", "''")
    assert naive.get(ask, "Things", [("$filter", f"name eq '{written}'")]) == {"value": []}


def test_an_entity_with_several_values_is_there_once_with_the_first() -> None:
    several = f"{DATA} :mast rdfs:label 'Mât'@fr , 'A mast'@en ; rdfs:comment 'b' ."
    ask = naive.asking(naive.loaded(several))
    options = [("$orderby", "name,description"), ("$count", "true")]
    page = naive.get(ask, "Things", options)
    assert page["@iot.count"] == 2
    assert [each["name"] for each in page["value"]] == ["A mast", "Buoy"]
    (found,) = naive.get(ask, "Things", [("$filter", "name eq 'Mât'")])["value"]
    assert found["name"] == "A mast"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1.50", 1.5),
        ("2.0", 2),
        ("1" * 400 + ".5", "1" * 400 + ".5"),
        ("9007199254740993.0", 9007199254740993),
        ("'NaN'^^xsd:double", "NaN"),
        ("1e400", "INF"),
        ("'x'^^xsd:integer", "x"),
        ("true", True),
        ("'ä'@de", "ä"),
        ("'2024-01-01'^^xsd:date", "2024-01-01"),
    ],
)
def test_a_result_is_json_of_its_value(written: str, shown: object) -> None:
    data = f"{naive.PREFIXES} :o a sosa:Observation ; sosa:hasSimpleResult {written} ."
    found = naive.get(naive.asking(naive.loaded(data)), f"Observations('{E}o')/result")
    assert found == {"result": shown}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_page_is_read_in_pieces_that_history_reads(postgres_asks: Any) -> None:
    names = range(101)
    data = naive.PREFIXES + "".join(
        f":s{n} sosa:observes :p . :t{n % 2} sosa:hosts :s{n} .\n" for n in names
    )
    with postgres_asks(data) as rows:
        options = [("$top", "100"), ("$expand", "Thing($select=name)")]
        page = naive.get(in_sparql(rows), "Datastreams", options)
    assert len(page["value"]) == 100
    assert "@iot.nextLink" in page
    assert {each["Thing"]["name"] for each in page["value"]} == {f"{E}t0", f"{E}t1"}
