"""Late updates: what they change of the past, and how far back that goes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sensorstream.model.events import Ended, Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.window import replaced_updates
from sensorstream.window.window import Window, make_window
from sensorstream.window.window_change import WindowChange
from sensorstream.window.window_spec import WindowMove, WindowSpec, WindowUnitKind

A, P, Q = IRI("http://e/a"), IRI("http://e/p"), IRI("http://e/q")


def window() -> Window:
    return make_window(WindowSpec(WindowMove.LANDMARK, WindowUnitKind.INDIVIDUALS))


def update(time: int, *values: object) -> Event:
    triples: tuple[Triple, ...] = tuple((A, P, Literal(str(value))) for value in values)
    return Event(triples, time, f"m{time}", frozenset({(A, P)}))


def rows(told: Sequence[Ended]) -> list[tuple[str, int, int, str]]:
    return [
        (str(each.triple[2]).strip('"'), each.valid_from, each.valid_to, each.provenance.message)
        for each in told
    ]


def played(*events: Event) -> tuple[Window, WindowChange]:
    one = window()
    for each in events[:-1]:
        one.insert(each)
    return one, one.insert(events[-1])


def held(one: Window) -> set[tuple[str, int]]:
    (individual,) = one
    return {(str(t[2]).strip('"'), said.time) for t, said in individual.statements.items()}


def test_an_update_from_between_two_others_divides_the_interval_of_the_first() -> None:
    one, change = played(update(300, 1), update(302, 3), update(301, 2))
    assert rows(change.revoked) == [("1", 300, 302, "m300")]
    assert rows(change.ended) == [("1", 300, 301, "m300"), ("2", 301, 302, "m301")]
    assert held(one) == {("3", 302)}
    assert not change.delta


def test_a_value_that_a_later_update_said_again_is_interrupted() -> None:
    one, change = played(update(300, 1), update(302, 1), update(301, 2))
    assert rows(change.ended) == [("1", 300, 301, "m300"), ("2", 301, 302, "m301")]
    assert held(one) == {("1", 302)}


def test_a_value_that_was_said_again_and_is_over_is_interrupted() -> None:
    _, change = played(update(300, 1), update(302, 1), update(304, 5), update(301, 2))
    assert rows(change.revoked) == [("1", 300, 304, "m300")]
    assert rows(change.ended) == [
        ("1", 300, 301, "m300"),
        ("1", 302, 304, "m302"),
        ("2", 301, 302, "m301"),
    ]


def test_an_update_from_before_all_holds_until_the_first() -> None:
    one, change = played(update(300, 1), update(302, 3), update(299, 0))
    assert rows(change.ended) == [("0", 299, 300, "m299")]
    assert not change.revoked
    assert held(one) == {("3", 302)}


def test_what_is_said_of_a_blank_node_is_over_with_the_reference_to_it() -> None:
    node = BlankNode("_:n")
    late = Event(((A, P, node), (node, Q, A)), 301, "m301", frozenset({(A, P)}))
    one, change = played(update(300, 1), update(302, 3), late)
    assert {(e.triple, e.valid_from, e.valid_to) for e in change.ended if e.valid_from == 301} == {
        ((A, P, node), 301, 302),
        ((node, Q, A), 301, 302),
    }
    assert held(one) == {("3", 302)}


def test_an_update_from_before_what_is_remembered_is_kept_but_never_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replaced_updates, "_LEAST", 2)
    monkeypatch.setattr(replaced_updates, "_EACH", 0)
    one, change = played(*(update(300 + n, n) for n in range(8)), update(301, "late"))
    assert rows(change.ended) == [("late", 301, 301, "m301")]
    assert not change.revoked
    assert held(one) == {("7", 307)}
    recent = one.insert(update(306, "recent"))
    assert rows(recent.revoked) == [("6", 306, 307, "m306")]
    assert rows(recent.ended) == [("6", 306, 306, "m306"), ("recent", 306, 307, "m306")]


def test_undoing_a_late_update_leaves_no_trace() -> None:
    one, change = played(update(300, 1), update(302, 1), update(304, 5), update(301, 2))
    one.undo(change)
    again, _ = played(update(300, 1), update(302, 1), update(304, 5))
    assert one.state() == again.state()
