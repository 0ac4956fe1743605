"""Transitive properties, link by link, beside the text of their rules."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.model import owl
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule, clauses
from sensorstream.network.recursion.transitive_links import transitive
from tests.network.recursion.regimes import REGIMES
from tests.network.recursion.strategies import Change
from tests.network.recursion.world import World, check_derived, rule

P, Q, R, S = (IRI(f"http://example.org/{name}") for name in "pqrs")
NODES = [IRI(f"http://example.org/n{number}") for number in range(6)]

TRANSITIVE = rule("transitive", "{ ?x :p ?z } WHERE { ?x :p ?y . ?y :p ?z }")
BESIDE = (
    rule("also transitive", "{ ?a :q ?c } WHERE { ?b :q ?c . ?a :q ?b }"),
    rule("transitive again", "{ ?a :p ?c } WHERE { ?b :p ?c . ?a :p ?b }"),
    rule("symmetric", "{ ?y :p ?x } WHERE { ?x :p ?y }"),
    rule("inverse", "{ ?y :q ?x } WHERE { ?x :p ?y }"),
    rule("inverse back", "{ ?y :p ?x } WHERE { ?x :q ?y }"),
    rule("narrower", "{ ?x :p ?y } WHERE { ?x :r ?y }"),
    rule("chained", "{ ?x :p ?z } WHERE { ?x :q ?y . ?y :r ?z }"),
    rule("from below", "{ ?x :p ?y } WHERE { ?x :s ?y . ?y :s ?y }"),
    rule("both ways", "{ ?x :r ?y } WHERE { ?x :p ?y . ?y :p ?x }"),
    rule("same", f"{{ ?x <{owl.SAME_AS}> ?y }} WHERE {{ ?x :p ?y . ?y :p ?x }}"),
    rule("any", "{ ?x ?q ?y } WHERE { ?x :p ?y . ?y :s ?q }"),
)

triples = st.one_of(
    *[st.tuples(st.sampled_from(NODES), st.just(P), st.sampled_from(NODES))] * 3,
    st.tuples(st.sampled_from(NODES), st.sampled_from([Q, R, S]), st.sampled_from([*NODES, P])),
    st.tuples(st.sampled_from(NODES), st.just(P), st.just(Literal("end"))),
    st.tuples(
        st.sampled_from([*NODES, P, Q]), st.just(owl.SAME_AS), st.sampled_from([*NODES, P, Q])
    ),
)
streams = st.lists(
    st.lists(
        st.builds(Change, st.one_of(triples, triples, st.integers(0, 30)), st.just(False)),
        min_size=1,
        max_size=7,
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=100)
@given(
    beside=st.lists(st.sampled_from(BESIDE), max_size=3, unique=True),
    regime=st.sampled_from([None, *sorted(REGIMES)]),
    apart=st.booleans(),
    static=st.sets(triples, max_size=2),
    stream=streams,
)
# The statement that leaves is the copy of one that stays, and follows from itself.
@example(
    beside=[],
    regime="pdstar",
    apart=False,
    static=set(),
    stream=[
        [
            Change((NODES[0], P, NODES[1]), False),
            Change((NODES[0], P, NODES[0]), False),
            Change((NODES[1], P, Literal("end")), False),
            Change((NODES[0], owl.SAME_AS, NODES[1]), False),
        ],
        [Change(0, False)],
    ],
)
def test_what_holds_is_what_the_rules_say(
    beside: list[DerivationRule],
    regime: str | None,
    apart: bool,
    static: set[Triple],
    stream: list[list[Change]],
) -> None:
    equality, more = ((), ()) if regime is None else REGIMES[regime]
    rules = [TRANSITIVE, *beside, *more]
    check_derived(equality, rules, apart, static, stream)


@pytest.mark.parametrize("dropped", ["transitive", "inverse back"])
def test_a_rule_that_is_dropped_takes_what_it_derived(dropped: str) -> None:
    rules = [TRANSITIVE, *(each for each in BESIDE if each.name == "inverse back")]
    world = World(rules)
    world.change(Change((a, P, b), False) for a, b in pairwise(NODES))
    world.change([Change((NODES[0], Q, NODES[5]), False)])
    world.settle()
    world.program.drop(dropped)
    world.settle()
    assert world.derived() == world.expected([[each for each in rules if each.name != dropped]])


@pytest.mark.parametrize("gone", [0, 15, 29])
def test_a_chain_is_derived_once_for_each_pair(gone: int) -> None:
    world = World([TRANSITIVE])
    names = [IRI(f"http://example.org/n{number}") for number in range(31)]
    chain = [(one, P, other) for one, other in pairwise(names)]
    world.change(Change(each, False) for each in chain)
    world.settle()
    (stratum,) = world.program._strata
    assert sum(stratum.support.values()) == len(world.derived()) == 30 * 29 // 2
    world.change([Change(chain[gone], False)])
    world.settle()
    before, after = gone, 29 - gone
    pairs = (before * (before - 1) + after * (after - 1)) // 2
    assert sum(stratum.support.values()) == len(world.derived()) == pairs


@pytest.mark.parametrize(
    "text",
    [
        "{ ?x :p ?x } WHERE { ?x :p ?y . ?y :p ?x }",
        "{ ?x :p ?z } WHERE { ?x :p ?y . ?y :q ?z }",
        "{ ?x :q ?z } WHERE { ?x :p ?y . ?y :p ?z }",
        "{ ?x :p ?z } WHERE { ?x :p ?y . ?z :p ?y }",
        "{ ?x :p ?z } WHERE { ?x :p :n1 . :n1 :p ?z }",
        "{ ?x :p ?z } WHERE { ?x :p ?y . ?y :p ?z FILTER(?x != ?z) }",
        "{ ?x :p ?z . ?x a :Part } WHERE { ?x :p ?y . ?y :p ?z }",
        "{ ?x ?p ?z } WHERE { ?x ?p ?y . ?y ?p ?z }",
    ],
)
def test_a_rule_that_says_something_else_is_a_rule_as_any(text: str) -> None:
    assert [transitive(each) for each in clauses(rule("r", text))] == [None]
    assert [transitive(each) for each in clauses(TRANSITIVE)] == [P]
