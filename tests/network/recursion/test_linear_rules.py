"""What follows from a triple by linear rules is what applying them over and over gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.implied_triples import Implied
from sensorstream.network.recursion.linear_rules import FlatClosure, parted
from sensorstream.network.recursion.triple_kinds import TriplesRead
from tests.network.recursion.oracle import rematerialised
from tests.network.recursion.random_linear_rules import A, B, Q, facts, rules
from tests.network.recursion.strategies import Change, programs, streams
from tests.network.recursion.world import World, rule


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
    layers: tuple[tuple[DerivationRule, ...], ...], static: set[Triple], stream: list[list[Change]]
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
