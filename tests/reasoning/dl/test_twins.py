"""Values of individuals' own: where keys alone compare them, it does not matter which they are.

``TEST_ONTOLOGIES`` sets how many ontologies are tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from sensorstream.errors import Inconsistent, ReasonerError
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.islands import Island, IslandQuestions, Memo, of_facts
from sensorstream.reasoning.dl.reasoner_process import JavaProcess, Worker
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
VALUES = [Literal(str(value), xsd.INTEGER) for value in (3, 4, 5, 6)]
# Places in a part: of one member or of two.
ends = st.sampled_from(["0", "1"])
hubs = st.sampled_from(HUBS)
told = st.one_of(
    st.tuples(ends, st.just(rdf.TYPE), st.sampled_from(CLASSES)),
    st.tuples(ends, st.sampled_from(ROLES), hubs),
    st.tuples(hubs, st.sampled_from(ROLES), ends),
    st.tuples(ends, st.sampled_from(ROLES), ends),
    st.tuples(ends, st.sampled_from(DATA), st.sampled_from([*VALUES, "own"])),
    st.tuples(ends, st.sampled_from([owl.SAME_AS, owl.DIFFERENT_FROM]), hubs),
)
kinds = st.lists(
    st.tuples(st.sets(told, min_size=1, max_size=4), st.integers(1, 4)), min_size=1, max_size=2
)
of_hubs = st.sets(
    st.one_of(
        st.tuples(hubs, st.just(rdf.TYPE), st.sampled_from(CLASSES)),
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


campaign = settings(
    max_examples=int(os.environ.get("TEST_ONTOLOGIES", "15")),
    derandomize="TEST_ONTOLOGIES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


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
    asked = IslandQuestions(terminology, worker, 0)
    remembered = IslandQuestions(terminology, worker, 10)
    assert [remembered.ask([each]) for each in islands] == [asked.ask([each]) for each in islands]


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
