"""Equality kept by clusters derives what its rules do, by Oxigraph, at every instant."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Overrun
from sensorstream.kb.graph_index import Origin
from sensorstream.model import owl, rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.network.budget import Budget, Limits
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.equality_rules import EQUALITY
from tests.network.recursion.regimes import REGIMES, SAME, TOLD
from tests.network.recursion.strategies import CLASSICS, NODES, PROPERTIES, Change
from tests.network.recursion.test_derivation_program import ANY_PROPERTY
from tests.network.recursion.world import World, check_derived, iri, rule

RULES = (
    TOLD,
    rule("functional", f"{{ ?y {SAME} ?z }} WHERE {{ ?x :p0 ?y . ?x :p0 ?z }}"),
    rule("inverse functional", f"{{ ?x {SAME} ?y }} WHERE {{ ?x :q1 ?z . ?y :q1 ?z }}"),
    rule("named", f"{{ :a {SAME} ?x }} WHERE {{ ?x a :C }}"),
    rule("value", f"{{ ?x {SAME} 1 }} WHERE {{ ?x a :B }}"),
    rule("copied", f"{{ ?x :p1 ?y }} WHERE {{ ?x {SAME} ?y FILTER(!sameTerm(?x, ?y)) }}"),
    rule("of one name", "{ ?x :q1 ?y } WHERE { :b :p0 ?x . :b :p1 ?y }"),
    rule("one premise", "{ ?y a :B } WHERE { :b :p1 ?y }"),
    rule("reflexive", f"{{ ?x {SAME} ?x . ?y {SAME} ?y }} WHERE {{ ?x ?p ?y }}"),
)
NAMES = [*NODES, BlankNode("_:n"), PROPERTIES[0][0], PROPERTIES[1][0], PROPERTIES[1][1]]
VALUES = [Literal("v"), Literal("1", IRI("http://www.w3.org/2001/XMLSchema#integer"))]
_same = st.tuples(
    st.sampled_from(NODES[:3]),
    st.just(owl.SAME_AS),
    st.sampled_from([*NODES, *NODES, BlankNode("_:n"), *VALUES]),
)
_any_same = st.tuples(
    st.sampled_from([*NAMES, owl.SAME_AS]),
    st.just(owl.SAME_AS),
    st.sampled_from([*NAMES, owl.SAME_AS, *VALUES]),
)
_facts = st.tuples(
    st.sampled_from([*NODES, BlankNode("_:n")]),
    st.sampled_from([*PROPERTIES[0], *PROPERTIES[1], rdf.TYPE]),
    st.sampled_from([*NODES, IRI("http://example.org/B"), IRI("http://example.org/C"), *VALUES]),
)
changes = st.lists(
    st.lists(
        st.builds(
            Change,
            st.one_of(_facts, _facts, _same, _same, _any_same, *[st.integers(0, 30)] * 4),
            st.just(False),
        ),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(
    rules=st.lists(st.sampled_from((*RULES, *CLASSICS, *ANY_PROPERTY)), max_size=4, unique=True),
    regime=st.sampled_from(sorted(REGIMES)),
    apart=st.booleans(),
    static=st.sets(st.one_of(_facts, _same), max_size=2),
    stream=changes,
)
def test_what_holds_is_what_the_rules_say(
    rules: list[DerivationRule],
    regime: str,
    apart: bool,
    static: set[Triple],
    stream: list[list[Change]],
) -> None:
    equality, beside = REGIMES[regime]
    rules = [*rules, *beside]
    check_derived(equality, rules, apart, static, stream)


@settings(max_examples=15)
@given(rules=st.lists(st.sampled_from(RULES), max_size=3, unique=True), stream=changes)
def test_without_one_of_its_rules_the_others_are_rules_as_any(
    rules: list[DerivationRule], stream: list[list[Change]]
) -> None:
    world = World([*EQUALITY, *rules])
    for each in stream[:-1]:
        world.change(each)
        world.settle()
    world.program.drop("eq-rep-s")
    world.change(stream[-1])
    world.settle()
    left = [*(rule for rule in EQUALITY if rule.name != "eq-rep-s"), *rules]
    assert world.derived() == world.expected([left])


def chain(names: int) -> list[Triple]:
    return [(iri(f"n{each}"), owl.SAME_AS, iri(f"n{each + 1}")) for each in range(names - 1)]


def toggle(world: World, *facts: Triple) -> Delta:
    world.change(Change(each, in_window=False) for each in facts)
    return world.settle()


def limited(limits: Limits) -> World:
    world = World(())
    world.program = DerivationProgram(
        world.kb, Origin.INFERRED, EQUALITY, world.build, Budget(limits)
    )
    return world


def test_names_for_one_thing_cost_their_pairs_and_too_many_are_refused() -> None:
    limits = Limits(rows=2500, settings="limits.message")
    assert len(toggle(limited(limits), *chain(50)).added) == 2500
    with pytest.raises(Overrun, match=r"eq-trans: more than 2,500 rows .*limits\.message_rows"):
        toggle(limited(limits), *chain(51))


def test_names_for_one_thing_that_take_too_long_are_refused() -> None:
    ticks = count()
    limits = Limits(seconds=3, counter=lambda: next(ticks) / 10, settings="limits.message")
    assert len(toggle(limited(limits), *chain(30)).added) == 900
    with pytest.raises(Overrun, match=r"more than 3 s .*limits\.message_seconds"):
        toggle(limited(limits), *chain(300))


def test_a_name_that_leaves_takes_its_own_triples_along_and_no_others() -> None:
    world = World(EQUALITY)
    toggle(world, *chain(10), (iri("n0"), iri("p"), iri("x")))
    marked: list[Triple] = []
    world.kb.subscribe(lambda triples, old, new: marked.extend(triples))
    last = chain(10)[-1]
    removed = toggle(world, last).removed
    assert len(removed) == 20
    assert sorted(marked) == sorted([*removed, last])


def test_an_observation_that_another_one_replaces_alters_nothing_else() -> None:
    keyed = rule("key", f"{{ ?x {SAME} ?y }} WHERE {{ ?x :key ?k . ?y :key ?k }}")
    world = World([*EQUALITY, keyed])
    key = iri("k")
    toggle(world, *((iri(name), iri("key"), key) for name in "abc"))
    one, other = ((iri(name), iri("saw"), iri("x")) for name in "ab")
    toggle(world, one)
    marked: list[Triple] = []
    world.kb.subscribe(lambda triples, old, new: marked.extend(triples))
    assert toggle(world, one, other) == Delta(3)
    assert sorted(marked) == sorted([one, other])
