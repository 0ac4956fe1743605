"""Plans of rules over time: how long events are needed, and which rules run together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sensorstream.errors import Position, UnsupportedQuery
from sensorstream.network.selection.selection_plan import (
    EventScope,
    RulePlan,
    likeness,
    own_and_cross,
    plan_rules,
)
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.query_printer import part_text
from tests.network.selection.random_rules import PREFIX
from tests.network.selection.random_rules import SELECT as SELECTOR


def selects(label: str, condition: str = "") -> str:
    return f"{label}({SELECTOR.format(label, condition)})"


def planned(text: str) -> tuple[RulePlan, ...]:
    program = read_program(PREFIX + text, name="r", start=Position("r", 1, 1))
    return plan_rules(program, lambda length: length // timedelta(seconds=1)).patterns


def test_events_are_needed_as_long_as_scopes_reach_from_the_trigger() -> None:
    (rule,) = planned(
        f"define {{ :it :m ?n }} from {selects('T')} and last {selects('B')} within 5 s from T "
        f"and each {selects('C')} within 3 s from B and not {selects('N')} between C and T "
        f"and count({selects('M')}) as ?m within 2 s from C "
        "where B.?k = T.?k and ?m > 1 and B.?v > 2 with ?n = ?m"
    )
    assert dict(rule.keeps) == {"B": 5, "C": 8, "N": 8, "M": 10}
    # What must be absent is asked last.
    assert [(each.events.label, each.scope) for each in rule.parts] == [
        ("B", EventScope(0, 5)),
        ("C", EventScope(1, 3)),
        ("M", EventScope(2, 2)),
        ("N", EventScope(0, start=2)),
    ]
    own, cross = own_and_cross(rule.parts[0].events)
    names = [[part_text(each).split()[0] for each in tests] for tests in (own, cross)]
    assert names == [["(?B·v"], ["(?B·k"]]
    assert len(rule.conditions) == 1


BASE = (
    f"define {{ :it :saw ?v }} from {selects('T', 'FILTER(?v > 1)')} and last {selects('B')} "
    "within 5 s from T where B.?v > 1 with ?v = B.?v"
)


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("FILTER(?v > 1)", "FILTER(?v < 7)", True),
        ("where B.?v > 1", "where B.?v = 3 and B.?k = :x", True),
        ("FILTER(?v > 1)", "", True),
        ("last", "first", False),
        ("5 s", "6 s", False),
        (":saw", ":heard", False),
        ("where B.?v > 1", "where B.?v > T.?v", False),
        ("FILTER(?v > 1)", "FILTER(?v + 1 > 2)", False),
        ("with ?v = B.?v", "with ?v = T.?v", False),
        ("with ?v = B.?v", "with ?v = B.?v consuming B", False),
        ("define", "mode window define", False),
    ],
)
def test_rules_run_together_if_tests_of_single_events_are_all_that_differs(
    old: str, new: str, alike: bool
) -> None:
    one, other = planned(f"rule a {BASE}\nrule b {BASE.replace(old, new, 1)}")
    assert (likeness(one) == likeness(other)) is alike
    if alike:
        assert one.trigger.source == other.trigger.source


def test_a_comparison_of_what_is_not_selected_stays_in_the_selector() -> None:
    texts = [f"T(SELECT ?k {{ ?s a :T ; :k ?k ; :v ?v FILTER(?v > {each}) }})" for each in (1, 2)]
    one, other = planned(
        "".join(f"define {{ :it :at ?k }} from {t} with ?k = T.?k " for t in texts)
    )
    assert one.trigger.source != other.trigger.source
    assert one.trigger.tests == other.trigger.tests == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("where B.?v > 1", "where EXISTS { :x :p :y }", "EXISTS has its place in a selector"),
        ("with ?v = B.?v", "with ?v = N.?v", "?v cannot be of N: expected one of T, B"),
        ("where B.?v > 1", "where N.?v > M.?v", "a condition about M and N may also name only"),
        ("FILTER(?v > 1)", "FILTER(RAND() > 0.5)", "the selector cannot be kept in step"),
    ],
)
def test_what_cannot_be_tested_is_refused_at_its_place(old: str, new: str, said: str) -> None:
    more = (
        f"and not {selects('N')} within 1 s from T and not {selects('M')} within 1 s from T where"
    )
    with pytest.raises(UnsupportedQuery) as caught:
        planned(BASE.replace(old, new, 1).replace("where", more, 1))
    assert said in caught.value.message
    assert caught.value.position is not None
