"""No rule changes an answer: Oxigraph gives the same before and after, on random data."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Filter, Join, Pattern, Project, Variable
from sensorstream.sparql.rewrite import RULES
from sensorstream.sparql.variable_scope import in_scope
from tests.network.oracle import GRAPHS, Oracle, conditions, patterns, triples

data = st.lists(st.tuples(triples, st.sampled_from((None, None, *GRAPHS))), max_size=12)


@st.composite
def filtered(draw: st.DrawFn) -> Pattern:
    """Patterns with a filter on top, where the rules find most to do."""
    pattern = draw(patterns(2, False))
    if draw(st.booleans()):
        pattern = Join(pattern, Filter(draw(conditions()), draw(patterns(1, False))))
    return Filter(draw(conditions()), pattern)


@settings(max_examples=80)
@given(pattern=filtered(), told=data)
def test_no_rule_changes_an_answer(pattern: Pattern, told: list[tuple[Triple, IRI | None]]) -> None:
    oracle = Oracle()
    for triple, graph in told:
        oracle.add(triple, graph)
    names = tuple(map(Variable, sorted(in_scope(pattern))))
    expected = oracle.answer(Project(pattern, names))
    for rule in RULES:
        changed = rule(pattern)
        if changed != pattern:
            pattern = changed
            assert oracle.answer(Project(pattern, names)) == expected, rule.__name__
