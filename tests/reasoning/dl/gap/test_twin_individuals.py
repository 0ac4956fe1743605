"""What follows is the same whether twins are told of or two of them, after every change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from sensorstream.errors import Inconsistent, OntologyError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.gap import twin_individuals
from sensorstream.reasoning.dl.reasoner_process import JavaProcess
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.dl.value_classes import ValueClasses
from tests.effort import examples
from tests.reasoning.dl.test_random_ontologies import BASE, marks_of, ontologies, ontology
from tests.reasoning.dl.test_twins import keyed, kinds, of_hubs, reasoner_of, triples_of

# Parts of some kinds, and which of them come and go at each step.
steps = st.lists(
    st.tuples(st.sets(st.integers(0, 30), max_size=4), st.sets(st.integers(0, 30), max_size=3)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(
    text=st.one_of(ontologies(), keyed),
    parts=kinds,
    more=of_hubs,
    steps=steps,
    hub=st.integers(0, 2),
)
def test_what_follows_does_not_depend_on_whether_twins_are_told_of(
    java: JavaProcess,
    text: str,
    parts: list[tuple[set[tuple[str, object, object]], int]],
    more: set[Triple],
    steps: Sequence[tuple[set[int], set[int]]],
    hub: int,
) -> None:
    terminology, worker = reasoner_of(java, text)
    said = [*triples_of(parts), *sorted(more)]  # type: ignore[arg-type]
    note(f"{said}")

    def run(largest: int) -> Iterator[object]:
        kb = KnowledgeBase()
        reasoner = DlReasoner(terminology, worker)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twin_individuals, "FEW", {True: hub, False: hub})
            patch.setattr(twin_individuals, "_LARGEST", largest)
            try:
                reasoner.start(kb)
            except OntologyError:
                assume(False)
            first = (set(range(len(said))), set[int]())
            for come, gone in (first, *steps):
                held = set(kb.triples(Origin.WINDOW))
                new = {said[n % len(said)] for n in come} - held if said else set()
                old = {said[n % len(said)] for n in gone} & held if said else set()
                delta = Delta(0, tuple(sorted(new)), tuple(sorted(old)))
                kb.apply(Origin.WINDOW, delta)
                try:
                    reasoner.react(kb, delta)
                except Inconsistent:
                    kb.apply(Origin.WINDOW, delta.inverse())
                    yield None
                else:
                    yield marks_of(kb)

    for found, expected in zip(list(run(8)), list(run(0)), strict=True):
        assert found == expected


A, B, P, Q, D, KEY = (IRI(f"{BASE}{name}") for name in ("A", "B", "p", "q", "d", "e"))
SENSOR = IRI(f"{BASE}sensor")


def observation(number: int) -> list[Triple]:
    """One of a sensor, with a result of its own."""
    one, result = IRI(f"{BASE}{number}"), IRI(f"{BASE}result{number}")
    value = Literal(str(number), xsd.INTEGER)
    return [(one, rdf.TYPE, A), (one, P, SENSOR), (one, Q, result), (result, D, value)]


def told(text: str, *messages: list[Triple]) -> dict[Triple, None]:
    """What is told after each of the messages came, and the last one came again."""
    terminology = Terminology.of(ontology(text))
    values = ValueClasses(Axioms(terminology.axioms), terminology.schema.object_properties)
    found = twin_individuals.Twins(terminology, values, "test")
    held: dict[Triple, None] = {}
    for come, gone in [*((each, []) for each in messages), ([], messages[-1]), (messages[-1], [])]:
        shift = found.update(come, gone)
        held = {each: None for each in (*held, *shift.come) if each not in shift.left}
    return held


def individuals(triples: dict[Triple, None]) -> set[str]:
    ends = (end for s, p, o in triples for end in ((s,) if p == rdf.TYPE else (s, o)))
    return {end for end in ends if not isinstance(end, Literal)}


def test_observations_of_one_sensor_are_told_of_as_two_of_them() -> None:
    for observations in (10, 100):
        found = told(":d rdfs:range xsd:integer .", *map(observation, range(2, observations)))
        assert len(individuals(found)) == 5


def test_who_differs_from_the_others_by_what_is_told_is_told_of() -> None:
    some = [observation(number) for number in range(2, 20)]
    some[7].append((IRI(f"{BASE}9"), rdf.TYPE, B))
    some[9].append((IRI(f"{BASE}11"), owl.DIFFERENT_FROM, IRI(f"{BASE}result13")))
    # One of two samples, and four in the part that has two observations.
    assert len(individuals(told("", *some))) == 5 + 2 + 4


def test_a_part_without_twins_is_told_of_as_it_is() -> None:
    chain: list[Triple] = [(IRI(f"{BASE}{n}"), P, IRI(f"{BASE}{n + 1}")) for n in range(12)]
    assert set(told("", *([each] for each in chain))) == set(chain)


def test_values_that_only_keys_compare_are_alike_where_nobody_else_has_them() -> None:
    some: list[list[Triple]] = []
    for number in range(1, 11):
        one = IRI(f"{BASE}{number}")
        some.append([(one, P, SENSOR), (one, D, Literal(f"{max(number, 3)}"))])
    # Three have the same value, which are two; and two of those who have one of their own.
    assert len(individuals(told(":A owl:hasKey ( :d ) .", *some))) == 1 + 2 + 2


def test_what_was_taken_back_has_left_no_trace() -> None:
    terminology = Terminology.of(ontology(""))
    values = ValueClasses(Axioms(terminology.axioms), terminology.schema.object_properties)
    one, other = (twin_individuals.Twins(terminology, values, "test") for _ in range(2))
    for each in (one, other):
        each.update(observation(2), ())
    one.update([*observation(3), *observation(4)], observation(2))
    one.undo()
    for number in (5, 6):
        assert (
            one.update(observation(number), ()).come == other.update(observation(number), ()).come
        )
