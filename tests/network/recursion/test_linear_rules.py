"""What follows from a triple by linear rules is what applying them over and over gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.implied_triples import Implied, unknown
from sensorstream.network.recursion.linear_rules import FlatClosure, parted
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Call,
    Comparison,
    Expression,
    Filter,
    In,
    Not,
    Or,
    Pattern,
    PatternTerm,
    TriplePattern,
    Variable,
)
from tests.network.recursion.oracle import rematerialised
from tests.network.recursion.strategies import Change, programs, streams
from tests.network.recursion.world import World, rule

A, B, C, P, Q, R = (IRI(f"http://example.org/{name}") for name in "ABCpqr")
SUBJECT, PREDICATE, OBJECT = map(Variable, ("s", "p", "o"))
LITERALS: list[PatternTerm] = [Literal("x")]
SUBJECTS: list[IRI | Variable] = [SUBJECT, SUBJECT, SUBJECT, SUBJECT, A]
NODES = [A, B, C]
PROPERTIES = [P, Q, R, rdf.TYPE]
PREDICATES: list[IRI | Variable] = [*PROPERTIES, *PROPERTIES, PREDICATE]
facts: st.SearchStrategy[Triple] = st.tuples(
    st.sampled_from([A, B, C, P, IRI("http://example.org/other"), BlankNode("_:b")]),
    st.sampled_from([*PROPERTIES, IRI("http://example.org/unknown")]),
    st.sampled_from([A, B, C, Q, BlankNode("_:b"), BlankNode("_:c"), Literal("x"), Literal("y")]),
)


@st.composite
def conditions(draw: st.DrawFn) -> Expression:
    end = draw(st.sampled_from([SUBJECT, OBJECT]))
    either = Comparison(draw(st.sampled_from(["=", "!="])), end, draw(st.sampled_from(NODES)))
    kind = Call(draw(st.sampled_from(["ISIRI", "ISBLANK", "ISLITERAL"])), (end,))
    both: list[Expression] = [
        Call("SAMETERM", (SUBJECT, OBJECT)),
        Comparison("!=", SUBJECT, OBJECT),
    ]
    simple: Expression = draw(st.sampled_from([kind, either, In(end, (A, Q)), *both]))
    match draw(st.integers(0, 4)):
        case 0:
            return Not(simple)
        case 1:
            return And(simple, either)
        case 2:
            return Or(simple, either)
    return simple


@st.composite
def rules(draw: st.DrawFn) -> DerivationRule:
    subject: IRI | Variable = draw(st.sampled_from(SUBJECTS))
    predicate: IRI | Variable = draw(st.sampled_from(PREDICATES))
    objects: list[PatternTerm] = [OBJECT, OBJECT, OBJECT, A, B, *LITERALS]
    object_ = draw(st.sampled_from([*objects, subject] if subject is SUBJECT else objects))
    body: Pattern = BGP((TriplePattern(subject, predicate, object_),))
    known = [each for each in (subject, object_) if isinstance(each, Variable)]
    if {*known} == {SUBJECT, OBJECT} and draw(st.integers(0, 2)) == 0:
        body = Filter(draw(conditions()), body)
    ends: list[PatternTerm] = [*known, *known, *NODES]
    subjects: list[PatternTerm] = [*ends, *([PREDICATE] if predicate is PREDICATE else [])]
    predicates: list[IRI | Variable] = [
        *PROPERTIES,
        predicate,
        *([OBJECT] if object_ is OBJECT else []),
    ]
    made = st.builds(
        TriplePattern,
        st.sampled_from(subjects),
        st.sampled_from(predicates),
        st.sampled_from([*ends, *LITERALS]),
    )
    return DerivationRule("r", tuple(draw(st.lists(made, min_size=1, max_size=2))), body)


@settings(max_examples=150)
@given(
    st.lists(rules(), max_size=5),
    st.lists(facts, min_size=1, max_size=6),
    st.sets(facts, max_size=4),
)
def test_the_conclusions_of_a_triple_are_those_of_the_rules_to_the_fixed_point(
    drawn: list[DerivationRule], triples: list[Triple], holding: set[Triple]
) -> None:
    linear, others = parted(drawn)
    assert not others
    closure = FlatClosure(linear)
    news = FlatClosure(linear, holds=holding.__contains__)
    for triple in triples:
        found = set(closure.conclusions(triple))
        assert found - {triple} == rematerialised([drawn], [triple]) - {triple}
        assert found - holding <= set(news.conclusions(triple)) <= found
        told = closure.kinds(TriplesRead(triple[1], None))
        assert all(any(TriplesRead(p, o).meets(each) for each in told) for _, p, o in found)
        told = closure.kinds(TriplesRead(triple[1], triple[2]))
        assert all(any(TriplesRead(p, o).meets(each) for each in told) for _, p, o in found)


@settings(max_examples=60)
@given(
    st.lists(rules(), max_size=4),
    st.sets(facts, max_size=2),
    st.lists(st.sets(facts, max_size=4), max_size=5),
)
def test_what_is_implied_is_what_the_asserted_triples_imply_now(
    drawn: list[DerivationRule], static: set[Triple], windows: list[set[Triple]]
) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, static)
    closure = FlatClosure(parted(drawn)[0])
    implied, held, news = Implied(closure.conclusions), set[Triple](), set[Triple]()
    for window in windows:
        delta = Delta(0, tuple(window - held), tuple(held - window))
        change = unknown(kb, implied.change(delta))
        assert not news & set(change.added)
        assert set(change.removed) <= news
        held, news = window, news.difference(change.removed).union(change.added)
        assert news == {c for t in window for c in closure.conclusions(t)} - static


@pytest.mark.parametrize(
    "text",
    [
        "{ ?x :q ?z } WHERE { ?x :p ?y . ?y :p ?z }",
        "{ ?x :q ?y } WHERE { ?x :p+ ?y }",
        "{ ?x :q ?y } WHERE { ?x :p ?y FILTER(?y > 3) }",
        '{ ?x :q ?y } WHERE { ?x :p ?y FILTER(?y = "a") }',
        "{ ?x :q ?y } WHERE { ?x :p ?y FILTER NOT EXISTS { ?x :r ?y } }",
        "{ ?x :q ?z } WHERE { ?x :p ?y BIND(STR(?y) AS ?z) }",
        "{ ?x :q ?y } WHERE { ?x ?x ?y }",
        "{ ?x :q ?y } WHERE { ?x ?p ?y FILTER(?p != ?y) }",
    ],
)
def test_a_rule_that_needs_more_than_one_triple_or_its_values_is_not_linear(text: str) -> None:
    one = rule("r", text)
    assert parted([one]) == ([], [one])


def test_what_holds_anyway_is_not_concluded_again() -> None:
    linear, _ = parted([rule("r", "{ ?p :q :A . ?x :q :A } WHERE { ?x ?p ?y }")])
    closure = FlatClosure(linear, holds={(Q, Q, A), (B, Q, A)}.__contains__)
    assert (Q, Q, A) not in closure.conclusions((B, Q, B))
    # What is about the subject is another triple for each.
    assert (B, Q, A) in closure.conclusions((B, Q, B))


def test_properties_that_no_rule_names_are_not_kept_without_end() -> None:
    closure = FlatClosure(parted([rule("r", "{ ?x a :C } WHERE { ?x ?p ?y }")])[0])
    for number in range(6000):
        closure.conclusions((A, IRI(f"http://example.org/n{number}"), B))
    assert len(closure._by_class) <= 4096


@settings(max_examples=100)
@given(layers=programs(), static=st.sets(facts, max_size=3), stream=streams)
def test_a_program_with_linear_rules_apart_derives_the_same(
    layers: tuple[tuple[DerivationRule, ...], ...],
    static: set[Triple],
    stream: list[list[Change]],
) -> None:
    linear, others = parted({rule.name: rule for layer in layers for rule in layer}.values())
    closure = FlatClosure(linear)
    world = World(others, linear=closure, known=Origin.STATIC)
    world.kb.add(Origin.STATIC, static)
    implied = Implied(closure.conclusions)
    world.program.hold(implied.change(Delta(0, tuple(static))))
    held, before = dict[Triple, None](), set[Triple]()
    for changes in stream:
        world.change(changes)
        added = tuple(triple for triple in world.facts if triple not in held)
        removed = tuple(triple for triple in held if triple not in world.facts)
        held = dict(world.facts)
        world.program.hold(implied.change(Delta(0, added, removed)))
        delta = world.settle()
        now = world.derived()
        expected = rematerialised(layers, {**world.facts, **dict.fromkeys(static)}, world.window)
        # What follows from itself alone is asserted, and not derived.
        assert now <= expected - static <= now.union(world.facts)
        assert (set(delta.added), set(delta.removed)) == (now - before, before - now)
        before = now
