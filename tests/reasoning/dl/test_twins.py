"""What is answered about two of many twins holds of all of them, and nothing else does.

``TEST_ONTOLOGIES`` sets how many ontologies are tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from sensorstream.clock import SystemClock
from sensorstream.errors import Inconsistent, ReasonerError
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_DIFFERENT_FROM,
    OWL_SAME_AS,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
)
from sensorstream.model.xsd import XSD_INTEGER, XSD_STRING
from sensorstream.reasoning.dl import questions, twins
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.islands import Island, of_facts
from sensorstream.reasoning.dl.memo import Answer, Memo
from sensorstream.reasoning.dl.process import JavaProcess, Worker
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.questions import Questions
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.dl.value_classes import ValueClasses
from tests.reasoning.dl.test_random_ontologies import (
    BASE,
    CLASSES,
    DATA,
    ROLES,
    ontologies,
    ontology,
    resident,
)

HUBS = [IRI(f"{BASE}o1"), IRI(f"{BASE}h")]
VALUES = [Literal(str(value), XSD_INTEGER) for value in (3, 4, 5, 6)]
# Places in a part: of one member or of two.
ends = st.sampled_from(["0", "1"])
hubs = st.sampled_from(HUBS)
told = st.one_of(
    st.tuples(ends, st.just(RDF_TYPE), st.sampled_from(CLASSES)),
    st.tuples(ends, st.sampled_from(ROLES), hubs),
    st.tuples(hubs, st.sampled_from(ROLES), ends),
    st.tuples(ends, st.sampled_from(ROLES), ends),
    st.tuples(ends, st.sampled_from(DATA), st.sampled_from([*VALUES, "own"])),
    st.tuples(ends, st.sampled_from([OWL_SAME_AS, OWL_DIFFERENT_FROM]), hubs),
)
kinds = st.lists(
    st.tuples(st.sets(told, min_size=1, max_size=4), st.integers(1, 4)), min_size=1, max_size=2
)
of_hubs = st.sets(
    st.one_of(
        st.tuples(hubs, st.just(RDF_TYPE), st.sampled_from(CLASSES)),
        st.tuples(hubs, st.sampled_from(ROLES), hubs),
    ),
    max_size=3,
)


# Keys alone compare values here.
keyed = st.builds(
    "{}\n{}".format,
    ontologies().filter(lambda text: ":d" not in text and ":e" not in text),
    st.sampled_from([":A owl:hasKey ( :d ) .", ":A owl:hasKey ( :d :e ) ."]),
)


def triples_of(
    parts: Sequence[tuple[set[tuple[str, IRI, object]], int]], own: str = ""
) -> Iterator[Triple]:
    for kind, (said, count) in enumerate(parts):
        for number in range(count):
            for s, p, o in said:
                if o == "own":
                    o = Literal(f"{own}{kind}-{number}")
                subject, value = (
                    IRI(f"{BASE}m{kind}-{number}-{end}") if end in ("0", "1") else end
                    for end in (s, o)
                )
                yield subject, p, value  # type: ignore[misc]


@pytest.fixture(scope="module")
def java() -> Iterator[JavaProcess]:
    process = JavaProcess("reasoner", clock=SystemClock())
    process.launch()
    yield process
    process.close()


campaign = settings(
    max_examples=int(os.environ.get("TEST_ONTOLOGIES", "15")),
    deadline=None,
    derandomize="TEST_ONTOLOGIES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


@campaign
@given(text=st.one_of(ontologies(), keyed), parts=kinds, more=of_hubs)
def test_the_answer_about_an_island_is_the_same_with_two_of_its_twins(
    java: JavaProcess,
    text: str,
    parts: list[tuple[set[tuple[str, IRI, object]], int]],
    more: set[Triple],
) -> None:
    terminology, worker = reasoner_of(java, text)
    island = island_of(terminology, [*triples_of(parts), *sorted(more)])
    answers: list[Answer] = []
    for folded in (lambda *_: None, twins.folded):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twins, "HUB", 1)
            patch.setattr(questions, "folded", folded)
            answers += Questions(terminology, worker, 0).ask([island])
    assert answers[1] == answers[0]


def reasoner_of(java: JavaProcess, text: str) -> tuple[Terminology, Worker]:
    note(text)
    terminology = Terminology.of(ontology(text))
    try:
        worker = resident(java, "hermit", terminology.document())
    except ReasonerError:
        assume(False)
        raise
    assume(worker._consistent)
    return terminology, worker


def island_of(terminology: Terminology, triples: Sequence[Triple]) -> Island:
    nodes = (end for s, _, o in triples for end in (s, o))
    known = (n for n in nodes if n not in CLASSES and not isinstance(n, Literal))
    try:
        return of_facts(terminology, dict.fromkeys([*HUBS, *known]), triples)
    except Inconsistent:
        assume(False)
        raise


@campaign
@given(text=keyed, parts=kinds, more=of_hubs)
def test_islands_that_differ_by_values_of_their_own_have_one_answer(
    java: JavaProcess,
    text: str,
    parts: list[tuple[set[tuple[str, IRI, object]], int]],
    more: set[Triple],
) -> None:
    terminology, worker = reasoner_of(java, text)
    islands = [island_of(terminology, [*triples_of(parts, own), *more]) for own in ("", "other ")]
    asked = Questions(terminology, worker, 0)
    remembered = Questions(terminology, worker, 10)
    assert [remembered.ask([each]) for each in islands] == [asked.ask([each]) for each in islands]


def star(observations: int) -> IslandFacts:
    """One sensor, and so many observations, each with a result of its own."""
    numbers = range(1, 2 * observations, 2)
    return IslandFacts(
        [None] * (1 + 2 * observations),
        [(n, f"{BASE}A") for n in numbers],
        [(n, f"{BASE}p", 0) for n in numbers] + [(n, f"{BASE}q", n + 1) for n in numbers],
        [(n + 1, f"{BASE}d", str(n), XSD_INTEGER, None) for n in numbers],
        [],
        [],
    )


def test_observations_of_one_sensor_are_asked_about_as_two_of_them() -> None:
    values = ValueClasses(Axioms([]), frozenset())
    for observations in (10, 100):
        found = twins.folded(star(observations), values)
        assert found is not None
        assert len(found.facts.names) == 5
        assert [len(parts) for parts in found.kinds] == [observations]


def test_who_differs_from_the_others_by_what_is_told_is_asked_about() -> None:
    facts = star(20)
    facts.types.append((7, f"{BASE}B"))
    facts.different.append((9, 11))
    found = twins.folded(facts, ValueClasses(Axioms([]), frozenset()))
    assert found is not None
    assert {7, 9, 11} < set(found.kept)
    assert len(found.kept) == 5 + 6


def test_an_island_without_twins_is_asked_about_whole() -> None:
    values = ValueClasses(Axioms([]), frozenset())
    assert twins.folded(star(2), values) is None
    chain = IslandFacts([None] * 5, [], [(n, f"{BASE}p", n + 1) for n in range(4)], [], [], [])
    assert twins.folded(chain, values) is None


def test_values_that_only_keys_compare_are_alike_where_nobody_else_has_them() -> None:
    keys = BlankNode("_:keys")
    key: list[Triple] = [
        (IRI(f"{BASE}A"), IRI(f"{OWL}hasKey"), keys),
        (keys, RDF_FIRST, IRI(f"{BASE}d")),
        (keys, RDF_REST, RDF_NIL),
    ]
    numbers = range(1, 11)
    facts = IslandFacts(
        [None] * 11,
        [],
        [(n, f"{BASE}p", 0) for n in numbers],
        [(n, f"{BASE}d", f"{max(n, 3)}", XSD_STRING, None) for n in numbers],
        [],
        [],
    )
    found = twins.folded(facts, ValueClasses(Axioms(key), frozenset()))
    assert found is not None
    # Three have the same value, which are two; and two of those who have one of their own.
    assert len(found.facts.names) == 1 + 2 + 2


def test_an_answer_is_known_where_others_have_values_of_their_own() -> None:
    terminology = Terminology.of(ontology(":A owl:hasKey ( :d ) ."))
    d = IRI(f"{BASE}d")
    some: list[list[Triple]] = [
        [(IRI(f"{BASE}{n}"), d, Literal(f"{text} {n // same}")) for n in (2, 3)]
        for text, same in (("one", 1), ("one", 2), ("other", 1))
    ]
    memo = Memo(ValueClasses(Axioms(terminology.axioms), frozenset()), 10)
    alone, shared, again = (
        memo.shape(of_facts(terminology, [s for s, *_ in told], told).facts) for told in some
    )
    assert alone is not None
    assert shared is not None
    assert again is not None
    assert alone.key == again.key
    assert alone.key != shared.key
