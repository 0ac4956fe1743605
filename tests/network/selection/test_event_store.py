"""Events that rules may still select, and no others, are kept."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import Literal
from sensorstream.network.selection.event_store import LOOSE, EventRows, key_of
from sensorstream.sparql.values import equal
from tests.network.expressions.constants import TERMS
from tests.network.selection.random_rules import RULE, Machine, triples_of


def test_an_event_that_no_rule_wants_is_not_kept() -> None:
    machine = Machine(RULE.format(20), RULE.format(30))
    for time in range(50):
        machine.push(time, triples_of(time, ("B", "x", 5 if time % 10 else 25)))
    machine.processor.complete(50)
    query = machine.processor.queries["r0"]
    assert query.root.size() == 1


def test_events_go_even_if_no_more_of_their_selector_come() -> None:
    machine = Machine(RULE.format(0))
    for time in range(5):
        machine.push(time, triples_of(time, ("B", f"k{time}", 5)))
    machine.push(9, triples_of(9, ("M", "x", 1)))
    machine.processor.complete(10)
    query = machine.processor.queries["r0"]
    assert query.root.size() == 5
    machine.push(20, triples_of(20, ("M", "x", 1)))
    machine.processor.complete(21)
    assert query.root.size() == 0


def test_terms_that_may_be_equal_are_found_by_one_key() -> None:
    for one, other in product((*TERMS, None), repeat=2):
        keys = key_of([one]), key_of([other])
        assert keys[0] == keys[1] or LOOSE in keys or equal(one, other) is not True
    assert key_of([Literal("1"), TERMS[2]]) != key_of([TERMS[2], Literal("1")])


rows: Any = st.tuples(st.sampled_from("ab").map(Literal), st.sampled_from("cd").map(Literal))
moments = st.lists(st.tuples(st.integers(0, 9), rows), max_size=8)


@given(moments, moments, st.integers(0, 9))
def test_events_of_a_restart_are_merged_in_the_order_of_time(
    here: list[Any], restored: list[Any], longest: int
) -> None:
    store = EventRows([1])
    store.longest = longest
    store.wanted.append(lambda row: True)
    for time, row in sorted(dict.fromkeys(here)):
        store.take(time, [row])
    store.merge(dict.fromkeys(restored))
    expected = sorted({*here, *restored})
    assert sorted((time, (a, b)) for _, time, a, b in store.happened()) == expected
    for value in map(Literal, "cd"):
        found = [row for lane in store.lanes(key_of([value])) for row in lane.all()]
        assert sorted(found) == [(t, t, *row) for t, row in expected if row[1] == value]
        assert [row[1] for row in found] == sorted(row[1] for row in found)
    for time in range(11 + longest):
        store.elapse(time)
        left = [each for each, _ in expected if each >= time - longest]
        assert len(store) == len(left)
        assert store.newest == max(left, default=None)
        assert store.due == (left[0] + longest + 1 if left else None)
