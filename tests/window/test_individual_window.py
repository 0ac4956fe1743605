"""What the equations leave open about windows of individuals, by example."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.window.window import IndividualWindow
from sensorstream.window.window_spec import WindowMove, WindowSpec, WindowUnitKind
from tests.window.test_triple_window import P, Q, content, name, triple


def event(time: int, *triples: Triple, replaces: Iterable[tuple[Subject, IRI]] = ()) -> Event:
    return Event(tuple(dict.fromkeys(triples)), time, f"m{time}", frozenset(replaces))


def sliding(size: int) -> IndividualWindow:
    return IndividualWindow(WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, size))


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
    (old,) = change.ended
    assert (old.triple, old.provenance.time, old.valid_to) == (triple(1, 1), 1, 2)
    assert (name(1), Q, Literal("kept")) in content(window)


def test_repeating_a_value_in_an_update_changes_nothing() -> None:
    window = sliding(5)
    window.insert(event(1, triple(1, 1)))
    change = window.insert(event(2, triple(1, 1), replaces=[(name(1), P)]))
    assert not change.delta
    assert not change.ended


def test_a_late_update_does_not_replace_a_newer_value() -> None:
    window = sliding(5)
    window.insert(event(9, triple(1, 9)))
    change = window.insert(event(5, triple(1, 5), replaces=[(name(1), P)]))
    assert content(window) == {triple(1, 9)}
    assert [old.triple for old in change.ended] == [triple(1, 5)]


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
    assert [old.triple for old in first.ended] == [triple(1, 1)]
    second = window.retract([triple(1, 2), triple(7)], 3)
    assert [gone.name for gone in second.departures] == [name(1)]
    assert len(window) == 0


def test_many_updates_of_few_individuals_take_no_memory() -> None:
    window = sliding(100)
    for time in range(5000):
        window.insert(event(time, triple(time % 3, time), replaces=[(name(time % 3), P)]))
    assert len(window._whole.queue) < 200
    assert len(content(window)) == 3


def test_a_step_beyond_the_size_leaves_out_what_lies_between() -> None:
    window = IndividualWindow(WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, 2, 5))
    for subject in range(1, 5):
        assert not window.insert(event(subject, triple(subject))).delta
    change = window.insert(event(5, triple(5)))
    assert {i.name for i in window} == {name(4), name(5)}
    assert [gone.name for gone in change.departures] == [name(1), name(2), name(3)]
    assert set(change.delta.added) == {triple(4), triple(5)}


def test_a_landmark_window_keeps_all_from_its_beginning_on() -> None:
    window = IndividualWindow(WindowSpec(WindowMove.LANDMARK, WindowUnitKind.TIME, start=10))
    early = window.insert(event(9, triple(1)))
    assert [gone.name for gone in early.departures] == [name(1)]
    assert not early.delta
    for time in range(10, 500):
        assert not window.insert(event(time, triple(time))).departures
    assert len(window) == 490


def test_a_physical_landmark_window_begins_with_the_individual_of_that_number() -> None:
    window = IndividualWindow(WindowSpec(WindowMove.LANDMARK, WindowUnitKind.INDIVIDUALS, start=3))
    window.insert(event(1, triple(1), triple(2)))
    assert len(window) == 0
    window.insert(event(2, triple(1), triple(4)))
    assert {i.name for i in window} == {name(1), name(4)}


def test_a_window_with_a_start_is_empty_before_it_and_steps_from_it() -> None:
    window = IndividualWindow(WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 10, 5, start=3))
    assert window.insert(event(1, triple(1))).departures
    window.insert(event(3, triple(3)))
    window.insert(event(7, triple(7)))
    assert content(window) == {triple(3)}, "computed at 3, next at 8"
    window.insert(event(8, triple(8)))
    assert content(window) == {triple(3), triple(7), triple(8)}


def test_a_blank_node_whose_own_statements_were_taken_out_is_forgotten_with_its_owner() -> None:
    window = sliding(1)
    node = BlankNode("_:b")
    window.insert(event(1, (name(1), P, node), (node, Q, Literal("inside"))))
    window.retract([(node, Q, Literal("inside"))], 2)
    assert window.owner(node) == name(1)
    window.insert(event(3, triple(2)))
    assert window.owner(node) == node


def test_an_individual_whose_last_statements_go_with_a_blank_node_departs() -> None:
    window = sliding(5)
    node = BlankNode("_:b")
    window.insert(event(1, (name(1), P, node), (node, Q, Literal("inside"))))
    change = window.retract([(name(1), P, node)], 2)
    assert [gone.name for gone in change.departures] == [name(1)]
    assert len(window) == 0
