"""What the text of rules means, and what it says of faults."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.sparql.algebra import AlertClause, Comparison, Variable
from sensorstream.sparql.dotr.dotr_reader import is_rules, read_program
from sensorstream.sparql.dotr.dotr_syntax import (
    Mode,
    Pick,
    ScopeAggregation,
    Selection,
    TimedProgram,
    Within,
)

PAGE = Path(__file__).parents[3] / "docs" / "use" / "stream-sparql.md"
(TEXT,) = re.findall(r"```dotr\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
RULE = """PREFIX : <http://e.org/>
define { dotr_id1 :in ?r }
from A(SELECT ?x ?y { ?x :p ?y })
and last B(SELECT ?z { ?z a :B }) within 5 min from A
where B.?z = A.?x
with ?r = A.?y
consuming B"""


def read(text: str) -> TimedProgram:
    return read_program(text, name="r", start=Position("r.dotr", 1, 1))


def test_the_rule_of_the_page_is_read_whole() -> None:
    program = read_program(TEXT, name="page", start=Position("stream-sparql.md", 1, 1))
    (rule,) = program.rules
    assert len(program.clauses) == 1
    assert (rule.name, rule.mode, rule.consumed) == ("fire", Mode.INSTANT, ("HighTemp",))
    high, absent = rule.parts
    assert isinstance(high, Selection)
    assert (high.pick, high.scope) == (Pick.LAST, Within(timedelta(minutes=5), "Smoke"))
    assert absent.selector.label == "Rain"
    assert rule.conditions == (Comparison("=", Variable("HighTemp·room"), Variable("Smoke·room")),)


def test_an_aggregate_may_be_distinct_and_has_a_name() -> None:
    text = RULE.replace("where", "and count(distinct C(SELECT ?c { ?c a :C })) as ?n "
                        "between B and A where ?n > 2 and")  # fmt: skip
    program = read_program(text, name="r", start=Position("r", 1, 1))
    found = program.rules[0].parts[1]
    assert isinstance(found, ScopeAggregation)
    assert (found.variable, found.aggregate.name, found.aggregate.distinct) == ("n", "COUNT", True)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("?z = A.?x", "?z = A.?q", r"r.dotr:5:16: A has no \?q: expected one of \?x, \?y"),
        ("B.?z", "C.?z", r"r.dotr:5:7: unknown label 'C'"),
        ("min from A\n", "min from D\n", r"r.dotr:4:\d+: unknown label 'D'"),
        ("5 min", "5 moons", r"r.dotr:4:42: .*expected a length of time"),
        ("a :B", "a :B :C", r"r.dotr:4:3\d: unexpected ':C'"),
        ("in ?r", "in ?s", r"r.dotr:2:1: \?s has no value"),
        ("consuming B", "consuming A", r"r.dotr:7:11: 'A' cannot be consumed"),
        ("last B", "latest B", r"r.dotr:4:5: unexpected 'latest'"),
        ("and last B", "and last A", r"r.dotr:4:10: a second 'A'"),
        ("SELECT ?z", "ASK", r"r.dotr:4:12: a selector is a SELECT query"),
        ("\nwith", "\nwidth", r"r.dotr:6:7: .*no selector has it"),
        ("?p ?y })", "?p ?y }", r"r.dotr:3:7: '\(' has no end: expected '\)'"),
    ],
)
def test_a_fault_is_told_with_its_place(old: str, new: str, told: str) -> None:
    text = RULE.replace(":p ?y", "?p ?y")
    assert old in text
    with pytest.raises(QueryError, match=told):
        read(text.replace(old, new, 1))


def test_a_rule_says_what_it_raises() -> None:
    alert = 'alert critical "Fire in {?r}" key "{?r}"'
    first, second, third = read(
        f"PREFIX : <http://e.org/> {RULE[RULE.index('define') :]} {alert} "
        "define { dotr_id1 a :B } from A(SELECT ?x { ?x a :C }) ALERT info 'B' "
        "define { dotr_id1 a :D } from A(SELECT ?x { ?x a :E })"
    ).rules
    assert first.alert == AlertClause("critical", "Fire in {?r}", "{?r}")
    assert second.alert == AlertClause("info", "B")
    assert third.alert is None


@pytest.mark.parametrize(
    ("alert", "told"),
    [
        ('alert critical "in {?x}"', r"r.dotr:7:13: ALERT: \?x is not selected"),
        ('alert huge "x"', r"r.dotr:7:19: .*huge"),
        ("alert info", r"r.dotr:7:2\d: .*expected"),
        ('alert info "x" alert info "y"', r"r.dotr:7:\d+: .*one ALERT"),
        ('alert info "x" where A.?x = 1', r"r.dotr:7:\d+: "),
    ],
)
def test_a_fault_of_what_a_rule_raises_is_told_with_its_place(alert: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        read(f"{RULE} {alert}")


def test_relative_names_are_completed_by_the_base() -> None:
    text = (
        "BASE <http://e.org/a/b> <p>(?x) :- <q>(?x). "
        "define { ?x a <c> } from A(SELECT ?x { ?x a <d> }) with ?x = A.?x"
    )
    program = read(text)
    assert program.clauses[0].head[0].object == "http://e.org/a/p"
    assert program.rules[0].template[0].object == "http://e.org/a/c"
    assert "http://e.org/a/d" in str(program.rules[0].trigger.query)
    # A second one is relative to the first.
    assert read(text.replace("b> ", "b> BASE <z/> ")).clauses[0].head[0].object == (
        "http://e.org/a/z/p"
    )


def test_rules_are_told_from_queries() -> None:
    assert is_rules(RULE)
    assert is_rules(TEXT)
    assert not is_rules("PREFIX : <http://e.org/> SELECT * { ?s ?p ?o }")
    assert not is_rules("")
