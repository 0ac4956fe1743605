"""A change that takes more than the limits is refused, and leaves nothing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, example, given, note, settings
from hypothesis import strategies as st

from sensorstream.errors import Overrun, TermError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import Budget, Limits
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.gap.bounds_pair import BoundsPair
from sensorstream.reasoning.dl.gap.fact_components import Components
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import without_limits
from tests.effort import examples
from tests.reasoning.dl.gap.test_derived_closure import check_counts
from tests.reasoning.dl.test_random_ontologies import (
    CLASSES,
    NODES,
    ROLES,
    facts,
    marks_of,
    ontologies,
)
from tests.reasoning.dl.test_random_ontologies import ontology as parsed

TRACKING = "http://sensorstream.example/tracking#"
SEAT = IRI(f"{TRACKING}hasSeat")
ALL = Limits()
changes = st.lists(
    st.tuples(st.sets(facts, min_size=2, max_size=9), st.sets(facts, max_size=4)),
    min_size=2,
    max_size=5,
).map(lambda steps: [*steps, *((removed, added) for added, removed in steps)])


# A contradiction about nobody in particular that first follows from n3, later from n2 too.
LATER = """:A owl:disjointWith :B ; owl:hasKey ( :d ) ; owl:equivalentClass
    [ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom :B ] .
    :p a owl:FunctionalProperty ."""
COMES: list[tuple[set[Triple], set[Triple]]] = [
    ({(NODES[2], rdf.TYPE, CLASSES[1]), (NODES[0], rdf.TYPE, CLASSES[0])}, set()),
    ({(NODES[0], ROLES[0], NODES[1])}, set()),
]


class Followed:
    """The bounds of an ontology and the components between them; a part of Answers."""

    def __init__(self, terminology: Terminology, limits: Limits = ALL) -> None:
        self.budget = Budget(limits)
        self.pair = BoundsPair(terminology, self.budget)
        self.components = Components(self.pair, self.pair.is_open)
        self.told: set[Triple] = set()
        # What follows from the axioms alone; a start has limits of its own.
        with self.budget.lift():
            self.pair.begin()
            self.components.renew(self.pair.held())

    def change(self, added: set[Triple], removed: set[Triple]) -> None:
        come, gone = sorted(added - self.told), sorted((removed & self.told) - added)
        self.budget.end()
        moved = self.pair.update(come, gone)
        try:
            self.components.renew(moved)
        except Overrun:
            with self.budget.lift():
                self.pair.update(gone, come)
            raise
        self.told = (self.told - set(gone)) | set(come)

    def state(self) -> tuple[object, ...]:
        pair = self.pair
        return (
            set(pair.least),
            set(pair.most),
            dict(pair._implied._counts),
            set(pair._told),
            self.parts(),
        )

    def parts(self) -> set[tuple[frozenset[Triple], frozenset[Triple]]]:
        """The components: what is decided together, and with what."""
        parts = {id(each): each for each in self.components._of_open.values()}
        return {(frozenset(each.open), frozenset(each.roots)) for each in parts.values()}


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(text=ontologies(), steps=changes, rows=st.integers(1, 60))
@example(text=LATER, steps=COMES, rows=60)
def test_what_was_refused_leaves_everything_as_before_and_as_from_scratch(
    text: str, steps: list[tuple[set[Triple], set[Triple]]], rows: int
) -> None:
    note(text)
    terminology = Terminology.of(parsed(text))
    limited = Followed(terminology, Limits(rows=rows))
    for added, removed in steps:
        before = limited.state()
        note(f"+{added} -{removed}")
        try:
            limited.change(added, removed)
        except TermError:
            assert limited.state() == before
        except Overrun as error:
            event("refused")
            note(str(error))
            assert limited.state() == before
        with limited.budget.lift():
            check_counts(limited.pair.least)
            check_counts(limited.pair.most)
        anew = Followed(terminology)
        anew.change(limited.told, set())
        assert anew.state() == limited.state()


def seats(number: int) -> tuple[Triple, ...]:
    """One person's only seat, under so many names."""
    ann = IRI(f"{TRACKING}ann")
    return tuple((ann, SEAT, IRI(f"{TRACKING}seat-{each}")) for each in range(number))


def test_names_for_one_seat_are_refused_when_they_are_too_many_and_others_go_on(
    ontology: Ontology, hermit: Worker
) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    limits = Limits(rows=20_000, settings="limits.message")
    reasoner = DlReasoner(Terminology.of(ontology), hermit, limits=limits)
    reasoner.start(kb)

    def change(delta: Delta) -> None:
        kb.apply(Origin.WINDOW, delta)
        try:
            reasoner.react(kb, delta)
        except Overrun:
            kb.apply(Origin.WINDOW, delta.inverse())
            raise

    before = marks_of(kb)
    with pytest.raises(Overrun, match=r"more than 20,000 rows .*limits\.message_rows"):
        change(Delta(0, seats(2000)))
    assert marks_of(kb) == before
    change(Delta(0, seats(5)))
    with_five = marks_of(kb)
    assert len(with_five) > len(before)
    with pytest.raises(Overrun):
        change(Delta(0, seats(40)[5:]))
    assert marks_of(kb) == with_five
    with without_limits(reasoner):
        change(Delta(0, seats(40)[5:]))
    # What goes is not limited.
    change(Delta(0, removed=seats(40)))
    assert marks_of(kb) == before
