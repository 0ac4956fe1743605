"""The window against the paper's equations, and what the equations leave open."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import SettingsError
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.window.individual_window import IndividualWindow
from sensorstream.window.reference import ReferenceWindow
from sensorstream.window.spec import Kind, Unit, WindowSpec

P = IRI("http://e/p")
Q = IRI("http://e/q")


def name(n: int) -> IRI:
    return IRI(f"http://e/{n}")


def triple(subject: int, value: int = 0) -> Triple:
    return name(subject), P, Literal(str(value))


def event(time: int, *triples: Triple, replaces: Iterable[tuple[Subject, IRI]] = ()) -> Event:
    return Event(tuple(dict.fromkeys(triples)), time, f"m{time}", frozenset(replaces))


def content(window: IndividualWindow) -> set[Triple]:
    return {t for individual in window for t in individual.statements}


specs = st.builds(
    lambda kind, unit, size, step: WindowSpec(kind, unit, size, min(step, size)),
    st.sampled_from(Kind),
    st.sampled_from(Unit),
    st.integers(1, 7),
    st.integers(1, 4),
)
triples_ = st.builds(triple, st.integers(0, 9), st.integers(0, 2))
steps = st.tuples(
    # Mostly forward, sometimes equal, sometimes late, sometimes a long silence.
    st.sampled_from([0, 1, 1, 1, 2, 3, -1, -4, 15]),
    st.lists(triples_, min_size=1, max_size=4),
)


def as_events(moves: list[tuple[int, list[Triple]]]) -> list[Event]:
    events, time = [], 3
    for shift, said in moves:
        events.append(event(time + shift, *said))
        time = max(time, time + shift)
    return events


@given(specs, st.lists(steps, max_size=25))
def test_the_window_is_what_the_equations_define(
    spec: WindowSpec, moves: list[tuple[int, list[Triple]]]
) -> None:
    window, reference = IndividualWindow(spec), ReferenceWindow(spec)
    graph: set[Triple] = set()
    departed: list[Subject] = []
    for each in as_events(moves):
        change = window.insert(each)
        reference.insert(each)
        graph = (graph - set(change.delta.removed)) | set(change.delta.added)
        departed.extend(gone.name for gone in change.departures)
        assert content(window) == reference.content
        assert graph == reference.content, "deltas must add up to the content"
        assert sorted(departed) == sorted(reference.departed)


@given(specs, st.lists(steps, min_size=1, max_size=15), st.data())
def test_undoing_a_change_leaves_no_trace(
    spec: WindowSpec, moves: list[tuple[int, list[Triple]]], data: st.DataObject
) -> None:
    events = as_events(moves)
    undone = data.draw(st.integers(0, len(events) - 1))
    plain, window = IndividualWindow(spec), IndividualWindow(spec)
    for index, each in enumerate(events):
        if index == undone:
            before = copy.deepcopy(window.state())
            changes = [window.insert(each)]
            changes.append(window.retract(changes[0].delta.added[:1], each.time))
            for change in reversed(changes):
                window.undo(change)
            after = window.state()
            assert after.counters == before.counters
            assert after.pending == before.pending
            assert sorted(after.individuals, key=lambda i: i.name) == sorted(
                before.individuals, key=lambda i: i.name
            )
        assert window.insert(each).delta == plain.insert(each).delta


@given(specs, st.lists(steps, min_size=1, max_size=15), st.integers(0, 14))
def test_a_restored_window_goes_on_as_the_old_one(
    spec: WindowSpec, moves: list[tuple[int, list[Triple]]], cut: int
) -> None:
    events = as_events(moves)
    old, new = IndividualWindow(spec), IndividualWindow(spec)
    for each in events[:cut]:
        old.insert(each)
    new.restore(copy.deepcopy(old.state()))
    for each in events[cut:]:
        first, second = old.insert(each), new.insert(each)
        assert first.delta == second.delta
        assert first.departures == second.departures


@given(specs, st.lists(steps, max_size=25))
def test_everything_that_came_is_in_the_window_waiting_or_departed(
    spec: WindowSpec, moves: list[tuple[int, list[Triple]]]
) -> None:
    window = IndividualWindow(spec)
    came: set[Triple] = set()
    departed: set[Triple] = set()
    for each in as_events(moves):
        came |= set(each.triples)
        for gone in window.insert(each).departures:
            departed |= set(gone.statements)
    waiting = {t for each in window.state().pending for t in each.triples}
    assert came == content(window) | departed | waiting


def sliding(size: int) -> IndividualWindow:
    return IndividualWindow(WindowSpec(Kind.SLIDING, Unit.INDIVIDUALS, size))


def test_an_individual_leaves_with_all_it_was_the_subject_of() -> None:
    window = sliding(1)
    window.insert(event(1, triple(1, 1)))
    window.insert(event(2, triple(1, 2)))
    change = window.insert(event(3, triple(2)))
    assert [gone.name for gone in change.departures] == [name(1)]
    assert set(change.delta.removed) == {triple(1, 1), triple(1, 2)}


def test_the_departing_individual_is_the_object_the_window_held() -> None:
    window = sliding(1)
    window.insert(event(1, triple(1)))
    held = window.get(name(1))
    assert window.insert(event(2, triple(2))).departures[0] is held


def test_an_update_makes_an_individual_young_again() -> None:
    window = sliding(2)
    for time, subject in [(1, 1), (2, 2), (3, 1), (4, 3)]:
        window.insert(event(time, triple(subject)))
    assert name(1) in window
    assert name(2) not in window


def test_equal_times_leave_in_order_of_arrival() -> None:
    window = sliding(2)
    for subject in (1, 2, 3):
        window.insert(event(5, triple(subject)))
    assert {i.name for i in window} == {name(2), name(3)}


def test_an_update_replaces_the_old_value_and_hands_it_out() -> None:
    window = sliding(5)
    window.insert(event(1, triple(1, 1), (name(1), Q, Literal("kept"))))
    change = window.insert(event(2, triple(1, 2), replaces=[(name(1), P)]))
    assert change.delta.added == (triple(1, 2),)
    assert change.delta.removed == (triple(1, 1),)
    (old,) = change.superseded
    assert (old.triple, old.provenance.time, old.until) == (triple(1, 1), 1, 2)
    assert (name(1), Q, Literal("kept")) in content(window)


def test_repeating_a_value_in_an_update_changes_nothing() -> None:
    window = sliding(5)
    window.insert(event(1, triple(1, 1)))
    change = window.insert(event(2, triple(1, 1), replaces=[(name(1), P)]))
    assert not change.delta
    assert not change.superseded


def test_a_late_update_does_not_replace_a_newer_value() -> None:
    window = sliding(5)
    window.insert(event(9, triple(1, 9)))
    change = window.insert(event(5, triple(1, 5), replaces=[(name(1), P)]))
    assert content(window) == {triple(1, 9)}
    assert [old.triple for old in change.superseded] == [triple(1, 5)]


def test_a_blank_node_leaves_with_its_owner() -> None:
    window = sliding(1)
    node = BlankNode("_:b")
    window.insert(event(1, (name(1), P, node), (node, Q, Literal("inside"))))
    assert len(window) == 1
    change = window.insert(event(2, triple(2)))
    assert set(change.delta.removed) == {(name(1), P, node), (node, Q, Literal("inside"))}


def test_a_replaced_blank_node_takes_its_own_statements_along() -> None:
    window = sliding(5)
    old, new = BlankNode("_:old"), BlankNode("_:new")
    window.insert(event(1, (name(1), P, old), (old, Q, Literal("x"))))
    change = window.insert(
        event(2, (name(1), P, new), (new, Q, Literal("y")), replaces=[(name(1), P)])
    )
    assert set(change.delta.removed) == {(name(1), P, old), (old, Q, Literal("x"))}


def test_retracting_the_last_statement_lets_the_individual_depart_whole() -> None:
    window = sliding(5)
    window.insert(event(1, triple(1, 1), triple(1, 2)))
    first = window.retract([triple(1, 1)], 2)
    assert [old.triple for old in first.superseded] == [triple(1, 1)]
    second = window.retract([triple(1, 2), triple(7)], 3)
    assert [gone.name for gone in second.departures] == [name(1)]
    assert len(window) == 0


def test_many_updates_of_few_individuals_take_no_memory() -> None:
    window = sliding(100)
    for time in range(5000):
        window.insert(event(time, triple(time % 3, time), replaces=[(name(time % 3), P)]))
    assert len(window._queue) < 200
    assert len(content(window)) == 3


def test_a_step_beyond_the_size_is_refused() -> None:
    with pytest.raises(SettingsError, match="from 1 to the window's size"):
        WindowSpec(Kind.SLIDING, Unit.TIME, 5, 6)
