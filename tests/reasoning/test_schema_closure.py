from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf, rdfs
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Term, Triple
from sensorstream.reasoning.reasoner import SchemaClosure


def x(name: str) -> IRI:
    return IRI(f"http://x.example/#{name}")


HUMAN, ACTOR, ROOM, ANNA, HALL = map(x, ("Human", "Actor", "Room", "anna", "hall"))
IN_ROOM, LOCATED, NAME = map(x, ("inRoom", "located", "name"))
SCHEMA: tuple[Triple, ...] = (
    (HUMAN, rdfs.SUBCLASS_OF, ACTOR),
    (ACTOR, rdfs.SUBCLASS_OF, x("Entity")),
    (IN_ROOM, rdfs.SUBPROPERTY_OF, LOCATED),
    (LOCATED, rdfs.DOMAIN, ACTOR),
    (IN_ROOM, rdfs.RANGE, ROOM),
    (NAME, rdfs.RANGE, ROOM),
)


def started(schema: tuple[Triple, ...], static: tuple[Triple, ...] = ()) -> Run:
    return Run(schema, static)


class Run:
    """A knowledge base with its closure, driven as the engine drives them."""

    def __init__(self, schema: tuple[Triple, ...], static: tuple[Triple, ...]) -> None:
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, (*schema, *static))
        self.closure = SchemaClosure(Schema.of(schema))
        self.closure.start(self.kb)

    def change(self, added: set[Triple], removed: set[Triple]) -> Delta:
        window = set(self.kb.triples(Origin.WINDOW))
        delta = Delta(0, tuple(sorted(added - window)), tuple(sorted(removed & window - added)))
        self.kb.apply(Origin.WINDOW, delta)
        return self.closure.react(self.kb, delta)

    def undo(self, delta: Delta) -> None:
        self.kb.apply(Origin.WINDOW, delta.inverse())
        self.closure.react(self.kb, delta.inverse())

    def inferred(self) -> set[Triple]:
        return set(self.kb.triples(Origin.INFERRED))


def test_a_type_implies_all_classes_above() -> None:
    run = started(SCHEMA)
    run.change({(ANNA, rdf.TYPE, HUMAN)}, set())
    assert run.inferred() == {(ANNA, rdf.TYPE, ACTOR), (ANNA, rdf.TYPE, x("Entity"))}


def test_a_property_implies_those_above_and_the_types_of_both_ends() -> None:
    run = started(SCHEMA)
    run.change({(ANNA, IN_ROOM, HALL)}, set())
    assert run.inferred() == {
        (ANNA, LOCATED, HALL),
        (ANNA, rdf.TYPE, ACTOR),
        (ANNA, rdf.TYPE, x("Entity")),
        (HALL, rdf.TYPE, ROOM),
    }


def test_a_literal_never_gets_a_type() -> None:
    run = started(SCHEMA)
    run.change({(ANNA, NAME, Literal("Anna"))}, set())
    assert run.inferred() == set()


def test_a_conclusion_stays_while_one_reason_is_left() -> None:
    run = started(SCHEMA)
    run.change({(ANNA, rdf.TYPE, HUMAN), (ANNA, IN_ROOM, HALL)}, set())
    first = run.change(set(), {(ANNA, rdf.TYPE, HUMAN)})
    assert not first
    run.change(set(), {(ANNA, IN_ROOM, HALL)})
    assert run.inferred() == set()


def test_moving_within_one_delta_reports_only_the_difference() -> None:
    run = started(SCHEMA)
    run.change({(ANNA, IN_ROOM, HALL)}, set())
    moved = run.change({(ANNA, IN_ROOM, x("yard"))}, {(ANNA, IN_ROOM, HALL)})
    assert set(moved.added) == {(ANNA, LOCATED, x("yard")), (x("yard"), rdf.TYPE, ROOM)}
    assert set(moved.removed) == {(ANNA, LOCATED, HALL), (HALL, rdf.TYPE, ROOM)}


def test_static_triples_are_closed_once_and_apart() -> None:
    run = started(SCHEMA, ((ANNA, rdf.TYPE, HUMAN),))
    assert set(run.kb.triples(Origin.STATIC_INFERRED)) >= {
        (ANNA, rdf.TYPE, ACTOR),
        (HUMAN, rdfs.SUBCLASS_OF, x("Entity")),
    }
    run.change({(ANNA, rdf.TYPE, HUMAN)}, set())
    run.change(set(), {(ANNA, rdf.TYPE, HUMAN)})
    assert (ANNA, rdf.TYPE, ACTOR) in run.kb


def test_without_types_only_properties_are_followed() -> None:
    closure = SchemaClosure(Schema.of(SCHEMA), types=False)
    assert list(closure.conclusions((ANNA, IN_ROOM, HALL))) == [(ANNA, LOCATED, HALL)]
    assert list(closure.conclusions((ANNA, rdf.TYPE, HUMAN))) == []


# The oracle: the rules of RDF 1.1 Semantics as they stand, to the fixed point.

CLASSES = [x(c) for c in "ABCDE"]
PROPERTIES = [x(p) for p in "pqrs"]
NODES: list[Subject] = [x(n) for n in ("n1", "n2", "n3")]


def saturate(schema: set[Triple], data: set[Triple]) -> set[Triple]:
    known = schema | data
    while True:
        more: set[Triple] = set()
        for s, p, o in known:
            for a, b, c in known:
                if b == rdfs.SUBCLASS_OF and p == rdf.TYPE and o == a:
                    more.add((s, rdf.TYPE, c))
                if b == rdfs.SUBPROPERTY_OF and p == a and isinstance(c, IRI):
                    more.add((s, c, o))
                if b == rdfs.DOMAIN and p == a:
                    more.add((s, rdf.TYPE, c))
                if b == rdfs.RANGE and p == a and not isinstance(o, Literal):
                    more.add((o, rdf.TYPE, c))
        if more <= known:
            return known - schema
        known |= more


axioms = st.one_of(
    st.tuples(st.sampled_from(CLASSES), st.just(rdfs.SUBCLASS_OF), st.sampled_from(CLASSES)),
    st.tuples(
        st.sampled_from(PROPERTIES), st.just(rdfs.SUBPROPERTY_OF), st.sampled_from(PROPERTIES)
    ),
    st.tuples(
        st.sampled_from(PROPERTIES),
        st.sampled_from([rdfs.DOMAIN, rdfs.RANGE]),
        st.sampled_from(CLASSES),
    ),
)
objects: st.SearchStrategy[Term] = st.one_of(st.sampled_from(NODES), st.just(Literal("1")))
facts = st.one_of(
    st.tuples(st.sampled_from(NODES), st.just(rdf.TYPE), st.sampled_from(CLASSES)),
    st.tuples(st.sampled_from(NODES), st.sampled_from(PROPERTIES), objects),
)
changes = st.lists(st.tuples(st.sets(facts, max_size=4), st.sets(facts, max_size=4)), max_size=5)


@given(st.sets(axioms, max_size=8), st.sets(facts, max_size=2), changes)
def test_after_every_delta_the_closure_equals_rematerialisation(
    schema: set[Triple], static: set[Triple], steps: list[tuple[set[Triple], set[Triple]]]
) -> None:
    run = started(tuple(sorted(schema)), tuple(sorted(static)))
    for added, removed in steps:
        run.change(added, removed)
        window = set(run.kb.triples(Origin.WINDOW))
        expected = saturate(schema, window | static)
        asserted_or_derived = set(run.kb.match(None, None, None)) - schema
        hierarchy = {rdfs.SUBCLASS_OF, rdfs.SUBPROPERTY_OF}
        assert {t for t in asserted_or_derived if t[1] not in hierarchy} == expected


@given(st.sets(axioms, max_size=8), st.sets(facts, max_size=4), changes)
def test_taking_a_delta_back_restores_the_inferred_graph(
    schema: set[Triple], first: set[Triple], steps: list[tuple[set[Triple], set[Triple]]]
) -> None:
    run = started(tuple(sorted(schema)))
    run.change(first, set())
    before = run.inferred()
    taken: list[Delta] = []
    for added, removed in steps:
        window = set(run.kb.triples(Origin.WINDOW))
        delta = Delta(0, tuple(sorted(added - window)), tuple(sorted(removed & window - added)))
        run.kb.apply(Origin.WINDOW, delta)
        run.closure.react(run.kb, delta)
        taken.append(delta)
    for delta in reversed(taken):
        run.undo(delta)
    assert run.inferred() == before
