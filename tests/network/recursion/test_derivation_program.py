"""What a program derives is what recomputation from the facts gives, after every change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from tests.network.recursion.strategies import CLASSICS, Change, programs, streams
from tests.network.recursion.world import World, rule

Layers = tuple[tuple[DerivationRule, ...], ...]


def everything(layers: Layers) -> dict[str, DerivationRule]:
    return {rule.name: rule for layer in layers for rule in layer}


@settings(max_examples=120)
@given(layers=programs(), stream=streams)
def test_the_derived_graph_is_that_of_recomputation(
    layers: Layers, stream: list[list[Change]]
) -> None:
    world = World(everything(layers).values())
    before: set[Triple] = set()
    for changes in stream:
        world.change(changes)
        delta = world.settle()
        now = world.derived()
        assert now == world.expected(layers)
        assert set(world.kb.index) == now | set(world.facts)
        assert set(delta.added) == now - before
        assert set(delta.removed) == before - now
        assert len(delta.added) + len(delta.removed) == len(now ^ before)
        before = now
    assert not world.program.faults


@settings(max_examples=40)
@given(layers=programs(), stream=streams)
def test_a_rule_that_goes_takes_what_it_derived(layers: Layers, stream: list[list[Change]]) -> None:
    world = World(everything(layers).values())
    rules = list(everything(layers))
    for changes in stream:
        world.change(changes)
        world.settle()
        if rules:
            world.program.drop(rules[len(changes) % len(rules)])
            dropped = rules.pop(len(changes) % len(rules))
            layers = tuple(tuple(r for r in layer if r.name != dropped) for layer in layers)
        world.change(changes[:1])
        world.settle()
        assert world.derived() == world.expected(layers)
    before = world.derived()
    assert set(world.program.close(0).removed) == before
    assert set(world.kb.index) == set(world.facts)
    assert not world.kb.index.watchers
    assert not world.window.watchers


@settings(max_examples=40)
@given(layers=programs(), stream=streams)
def test_the_facts_are_all_that_must_be_kept(layers: Layers, stream: list[list[Change]]) -> None:
    old = World(everything(layers).values())
    for changes in stream:
        old.change(changes)
        old.settle()
    new = World(everything(layers).values())
    new.change(Change(triple, in_window=False) for triple in old.facts)
    new.change(Change(triple, in_window=True) for triple in old.window)
    assert set(new.settle().added) == old.derived()
    new.change(stream[0])
    old.change(stream[0])
    new.settle()
    old.settle()
    assert new.derived() == old.derived()


ANY_PROPERTY = (
    rule("same subject", "{ ?y ?p ?z } WHERE { ?x :q1 ?y . ?x ?p ?z }"),
    rule("same object", "{ ?z ?p ?y } WHERE { ?x :q1 ?y . ?z ?p ?x }"),
    rule("same symmetric", "{ ?y :q1 ?x } WHERE { ?x :q1 ?y }"),
    rule("subproperty", "{ ?x ?q ?y } WHERE { ?p :q0 ?q . ?x ?p ?y }"),
    rule("subclass", "{ ?x a ?d } WHERE { ?c :p0 ?d . ?x a ?c }"),
)


@settings(max_examples=40)
@given(
    rules=st.lists(st.sampled_from((*ANY_PROPERTY, *CLASSICS)), min_size=1, unique=True),
    stream=streams,
)
def test_rules_over_any_property_are_exact(
    rules: list[DerivationRule], stream: list[list[Change]]
) -> None:
    world = World(rules)
    for changes in stream:
        world.change(changes)
        world.settle()
        assert world.derived() == world.expected([rules])
    assert not world.program.faults
