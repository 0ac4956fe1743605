"""Plans tell the layout of rows, and the variables that each row binds."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sensorstream.errors import NotIncremental
from sensorstream.model.terms import IRI
from sensorstream.network.plan import nodes
from sensorstream.network.rows import ALWAYS, TIMES
from sensorstream.sparql.algebra import OneOrMore, Pattern, Variable
from sensorstream.sparql.query_parser import parse_query
from tests.network.in_step import Change, World, selected
from tests.network.oracle import GRAPHS, patterns, triples

X, Y = Variable("x"), Variable("y")
A = IRI("http://example.org/a")
content = st.sets(st.tuples(triples, st.sampled_from((None, *GRAPHS))), min_size=4, max_size=20)


@settings(max_examples=150)
@given(pattern=patterns(), before=content)
# A sum of what is no number.
@example(
    pattern=parse_query("SELECT (SUM(?y) AS ?n) { ?x ?p ?y }").form.pattern,
    before={((A, A, A), None)},
)
def test_each_part_of_a_plan_has_rows_of_its_layout_that_bind_what_is_certain(
    pattern: Pattern, before: set[Change]
) -> None:
    world = World()
    for change in before:
        world.toggle(change)
    try:
        plan = world.plan(selected(pattern))
    except NotIncremental:
        assume(False)
        return
    everything = list(nodes.parts(plan))
    assert everything[0] is plan
    assert len(everything) == 1 + sum(len(each.inputs) for each in everything)
    for part in everything:
        assert part.certain <= {*part.variables}
        places = [part.variables.index(name) for name in part.certain]
        for row in world.build(part).rows():
            assert len(row) == len(part.variables)
            assert all(row[place] is not None for place in places)


@pytest.mark.parametrize(
    ("plan", "variables", "timeless"),
    [
        (nodes.Occurrence(X, A, Y), (*TIMES, "x", "y"), False),
        (nodes.Occurrence(X, A, X, ".occurrence0"), (*TIMES, "x", ".occurrence0"), False),
        (nodes.KnownPlan(A, OneOrMore(A), Y), (*TIMES, "y"), True),
        (nodes.ConstantPlan((*TIMES, "z"), ((*ALWAYS, None),)), (*TIMES, "z"), True),
    ],
)
def test_what_happens_has_two_columns_more(
    plan: nodes.Plan, variables: tuple[str, ...], timeless: bool
) -> None:
    other = nodes.Occurrence(X, A, A)
    names = tuple(dict.fromkeys((*TIMES, "x", *variables)))
    assert plan.timed
    assert (plan.variables, plan.is_timeless) == (variables, timeless)
    for joined in (nodes.SeqPlan(other, plan), nodes.EqualsPlan(other, plan)):
        assert joined.variables == names
        assert joined.certain == other.certain | plan.certain
        assert joined.shared == tuple(n for n in ("x",) if n in variables)
        assert not joined.is_timeless
    assert nodes.MinusPlan(plan, other).variables == variables
    assert nodes.MinusPlan(plan, plan).is_timeless is timeless
