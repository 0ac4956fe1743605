"""Parts that all must match, in whatever plan they become, have the solutions of all of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.plan.conjunction import (
    UNIT,
    Conjunction,
    assembled,
    filtered,
    join,
    join_all,
    projected,
)
from sensorstream.network.plan.nodes import (
    BeyondPlan,
    ConstantPlan,
    FilterPlan,
    Match,
    Plan,
    Triple,
    parts,
)
from sensorstream.network.query_sources import DEFAULT, TripleSource, merged
from sensorstream.sparql.algebra import Comparison, Expression, Variable
from tests.network.naive_match import NODES, STEPS, X, Y, Z, contents, patterns, solutions, toggle

OTHER = TripleSource("other", "other")
BOTH = merged(DEFAULT, OTHER)
NAMES = ("x", "y", "z")
conditions: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([X, Y, Z]).map(lambda end: Comparison("=", end, NODES[1])),
    st.sampled_from([(X, Y), (Y, Z)]).map(lambda two: Comparison("!=", *two)),
)


def holds(condition: Expression, bound: dict[str, Any]) -> bool:
    assert isinstance(condition, Comparison)
    one, other = (
        bound[end.name] if isinstance(end, Variable) else end
        for end in (condition.left, condition.right)
    )
    return (one == other) is (condition.operator == "=")


@settings(max_examples=250)
@given(
    st.lists(st.tuples(st.sampled_from([DEFAULT, OTHER, BOTH]), patterns), max_size=3),
    st.lists(conditions, max_size=2, unique_by=str),
    st.lists(st.sampled_from(NODES), max_size=2, unique=True),
    st.none() | st.permutations(NAMES).flatmap(lambda p: st.integers(0, 3).map(lambda n: p[:n])),
    contents,
)
def test_the_plan_has_the_solutions_that_all_parts_allow(
    asked: list[Any], filters: list[Expression], rows: list[Any], wanted: Any, content: Any
) -> None:
    indexes = (TripleIndex(), TripleIndex())
    toggle(indexes, content)
    # All variables are bound.
    names = dict.fromkeys(end.name for _, ends in asked for end in ends if end in (X, Y, Z))
    free = [name for name in NAMES if name not in names]
    others: list[Plan] = [ConstantPlan((name,), tuple((each,) for each in rows)) for name in free]
    triples = [Triple(source, *ends) for source, ends in asked]
    # Equal patterns are one.
    plan = assembled(Conjunction([*triples, *triples[:1]], filters, others), wanted)
    node = build(
        projected(plan, NAMES if wanted is None else wanted),
        Network(),
        dict(zip((DEFAULT, OTHER), indexes, strict=True)),
    )
    graphs = {DEFAULT: indexes[0], OTHER: indexes[1], BOTH: {*indexes[0], *indexes[1]}}
    different = [(graphs[source], ends) for source, ends in dict.fromkeys(asked)]
    constants = [([(each,) * 3 for each in rows], (Variable(name),) * 3) for name in free]
    assert Counter(node.rows()) == solutions(
        [*different, *constants],  # type: ignore[list-item]
        NAMES if wanted is None else wanted,
        lambda bound: all(holds(each, bound) for each in filters),
    )


def test_a_long_chain_is_joined_from_matches_that_can_be_compiled() -> None:
    index = TripleIndex()
    nodes = [IRI(f"ex:{number}") for number in range(41)]
    for one, other in pairwise(nodes):
        index.add((one, STEPS[0], other))
    ends = [Variable(f"v{number}") for number in range(41)]
    chain = [Triple(DEFAULT, ends[number], STEPS[0], ends[number + 1]) for number in range(40)]
    plan = assembled(Conjunction(chain), ("v0", "v40"))
    assert max(len(each.triples) for each in parts(plan) if isinstance(each, Match)) <= 15
    assert list(build(plan, Network(), {DEFAULT: index}).rows()) == [(nodes[0], nodes[40])]


def test_only_comparisons_that_many_queries_can_share_become_thresholds() -> None:
    source = ConstantPlan(("x", "y"), ())
    limit = Literal("3", xsd.INTEGER)
    assert isinstance(filtered(source, Comparison(">", X, limit)), BeyondPlan)
    for condition in (Comparison("!=", X, limit), Comparison(">", Z, limit), Comparison("<", X, Y)):
        assert filtered(source, condition) == FilterPlan(source, condition)


def test_products_come_last_and_the_empty_solution_is_left_out() -> None:
    one, two, three = (ConstantPlan(names, ()) for names in (("a", "b"), ("c",), ("b", "c")))
    assert join_all([one, two, three]) == join(join(one, three), two)
    assert join(UNIT, one) == join(one, UNIT) == one
