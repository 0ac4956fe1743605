"""What the equations leave open about windows of triples, by example."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.window.window import TripleWindow, Window
from sensorstream.window.window_spec import Elements, WindowMove, WindowSpec, WindowUnitKind

P = IRI("http://e/p")
Q = IRI("http://e/q")


def name(n: int) -> IRI:
    return IRI(f"http://e/{n}")


def triple(subject: int, value: int = 0) -> Triple:
    return name(subject), P, Literal(str(value))


def event(time: int, *triples: Triple, replaces: Iterable[tuple[Subject, IRI]] = ()) -> Event:
    return Event(triples, time, f"m{time}", frozenset(replaces))


def content(window: Window) -> set[Triple]:
    return {t for individual in window for t in individual.statements}


def sliding(size: int) -> TripleWindow:
    return TripleWindow(WindowSpec(WindowMove.SLIDING, WindowUnitKind.TRIPLES, size))


def lasting(size: int) -> TripleWindow:
    return TripleWindow(
        WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, size, elements=Elements.TRIPLES)
    )


def test_the_oldest_triple_leaves_and_its_individual_stays() -> None:
    window = sliding(2)
    window.insert(event(1, triple(1, 1)))
    window.insert(event(2, triple(1, 2)))
    change = window.insert(event(3, triple(1, 3)))
    assert content(window) == {triple(1, 2), triple(1, 3)}
    assert not change.departures
    (left,) = change.ended
    assert (left.triple, left.provenance.time, left.valid_to) == (triple(1, 1), 1, 3)


def test_an_individual_departs_with_its_last_triples() -> None:
    window = lasting(5)
    window.insert(event(1, triple(1, 1), triple(1, 2)))
    change = window.insert(event(9, triple(2)))
    (gone,) = change.departures
    assert (gone.name, set(gone.statements)) == (name(1), {triple(1, 1), triple(1, 2)})
    assert not change.ended
    assert name(1) not in window


def test_a_triple_said_again_is_as_young_as_its_last_saying() -> None:
    window = sliding(2)
    for time, value in [(1, 1), (2, 2), (3, 1), (4, 3)]:
        window.insert(event(time, triple(1, value)))
    assert content(window) == {triple(1, 1), triple(1, 3)}


def test_a_renewed_triple_keeps_the_message_that_said_it_first() -> None:
    window = sliding(5)
    window.insert(event(1, triple(1)))
    assert not window.insert(event(4, triple(1))).delta
    held = window.get(name(1))
    assert held is not None
    assert held.statements[triple(1)].time == 1
    assert held.time == 4


def test_a_message_of_more_triples_than_the_window_holds_leaves_its_last() -> None:
    window = sliding(2)
    change = window.insert(event(1, triple(1), triple(2), triple(3)))
    assert content(window) == {triple(2), triple(3)}
    assert set(change.delta.added) == {triple(2), triple(3)}
    assert [gone.name for gone in change.departures] == [name(1)]


def test_a_triple_that_comes_late_enters_by_its_own_time() -> None:
    window = lasting(5)
    window.insert(event(10, triple(1)))
    window.insert(event(6, triple(2)))
    assert not window.insert(event(4, triple(3))).delta
    window.insert(event(12, triple(4)))
    assert content(window) == {triple(1), triple(4)}


def test_an_update_replaces_whatever_its_age() -> None:
    window = lasting(100)
    window.insert(event(1, triple(1, 1)))
    window.insert(event(2, triple(1, 2), replaces=[(name(1), P)]))
    assert content(window) == {triple(1, 2)}
    assert not window.insert(event(102, triple(2))).ended, "it has left its pane as well"


def test_what_a_blank_node_says_outlives_the_reference_to_it() -> None:
    window = sliding(2)
    node = BlankNode("_:b")
    window.insert(event(1, (name(1), P, node), (node, Q, Literal("x"))))
    window.insert(event(2, triple(2)))
    assert content(window) == {(node, Q, Literal("x")), triple(2)}
    assert window.owner(node) == name(1)
    change = window.insert(event(3, triple(3)))
    assert [gone.name for gone in change.departures] == [name(1)]
    assert window.owner(node) == node


def test_retracting_the_last_triple_lets_the_individual_depart() -> None:
    window = sliding(5)
    window.insert(event(1, triple(1)))
    change = window.retract([triple(1), triple(7)], 2)
    assert [gone.name for gone in change.departures] == [name(1)]
    assert not window.state().ages
