"""Each rule changes the fixtures of its name as they say, and no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.sparql.algebra import Pattern, Project
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.rewrite import RULES, Rule, rewritten
from sensorstream.sparql.variable_scope import in_scope

FIXTURES = Path(__file__).parent / "fixtures"
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
