"""Each rule changes the fixtures of its name as they say, and no answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Filter, Join, Pattern, Project, Variable
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.rewrite import RULES, Rule, rewritten
from sensorstream.sparql.variable_scope import in_scope
from tests.network.oracle import GRAPHS, Oracle, conditions, patterns, triples

FIXTURES = Path(__file__).parent / "rewrites"
HEAD = """PREFIX : <http://example.org/>
SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s] FROM NAMED WINDOW :u ON :s [TRIPLES 5]
WHERE """
CASES = [
    pytest.param(rule, file, id=f"{rule.__name__}/{file.stem}")
    for rule in RULES
    for file in sorted((FIXTURES / rule.__name__).glob("*.rq"))
]


def pattern_of(text: str) -> Pattern:
    """The pattern of a text in braces, without what selects all of it."""
    selected = parse_query(f"{HEAD}{{ {text} }}").form.pattern
    assert isinstance(selected, Project)
    return selected.pattern


def both(file: Path) -> tuple[Pattern, Pattern]:
    before, after = file.read_text(encoding="utf-8").split("# becomes\n")
    return pattern_of(before), pattern_of(after)


@pytest.mark.parametrize(("rule", "file"), CASES)
def test_a_rule_gives_what_its_fixture_says(rule: Rule, file: Path) -> None:
    before, after = both(file)
    assert rule(before) == after


@pytest.mark.parametrize(("rule", "file"), CASES)
def test_a_rule_changes_nothing_twice(rule: Rule, file: Path) -> None:
    once = rule(both(file)[0])
    assert rule(once) == once


@pytest.mark.parametrize(("rule", "file"), CASES)
def test_what_a_pattern_binds_stays(rule: Rule, file: Path) -> None:
    before, _ = both(file)
    assert in_scope(rewritten(before)) == in_scope(before)


def test_every_rule_has_fixtures() -> None:
    assert {rule.__name__ for rule in RULES} == {each.name for each in FIXTURES.iterdir()}


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
