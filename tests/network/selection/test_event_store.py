"""Events that rules may still select, and no others, are kept."""

from __future__ import annotations

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
