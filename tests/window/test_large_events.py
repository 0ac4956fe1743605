"""An event about thousands costs as many passes over it as one about a few."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.window.window import make_window
from sensorstream.window.window_spec import WindowMove, WindowSpec, WindowUnitKind

AT = IRI("http://example.org/at")


class Counted(tuple[Triple, ...]):
    """Triples that count how often all of them are looked at."""

    passes = 0

    def __iter__(self) -> Iterator[Triple]:
        self.passes += 1
        return super().__iter__()


class CountedPairs(frozenset[tuple[Subject, IRI]]):
    passes = 0

    def __iter__(self) -> Iterator[tuple[Subject, IRI]]:
        self.passes += 1
        return super().__iter__()


def update(people: int, time: int, value: int) -> tuple[Event, Counted, CountedPairs]:
    names = [IRI(f"http://example.org/{number}") for number in range(people)]
    triples = Counted((name, AT, Literal(str(value))) for name in names)
    pairs = CountedPairs((name, AT) for name in names)
    return Event(triples, time, f"m{time}", pairs), triples, pairs


def passes(people: int) -> list[tuple[int, int]]:
    """Of an update of new individuals, of known ones, and of one that comes late for all."""
    window = make_window(WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, size=1000))
    found = []
    for time, value in ((10, 1), (20, 2), (15, 3)):
        event, triples, pairs = update(people, time, value)
        window.insert(event)
        found.append((triples.passes, pairs.passes))
    return found


def test_the_passes_over_an_event_do_not_depend_on_how_many_it_is_about() -> None:
    assert passes(300) == passes(3)


def test_a_chain_of_blank_nodes_longer_than_the_stack_leaves_with_its_reference() -> None:
    name, value = IRI("http://example.org/0"), Literal("1")
    nodes: list[IRI | BlankNode] = [name]
    nodes += (BlankNode(f"_:b{number}") for number in range(5000))
    chain: list[Triple] = [(one, AT, other) for one, other in pairwise(nodes)]
    window = make_window(WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, size=10))
    window.insert(Event(tuple(chain), 10, "m1"))
    replaced = Event(((name, AT, value),), 20, "m2", frozenset({(name, AT)}))
    change = window.insert(replaced)
    assert [each.triple for each in change.ended] == chain
    window.undo(change)
    one = window.get(name)
    assert one is not None
    assert set(one.statements) == set(chain)


def test_what_an_update_of_thousands_leaves_to_be_remembered_is_what_it_replaced_of_each() -> None:
    window = make_window(WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, size=1000))
    event, *_ = update(300, 10, 1)
    window.insert(event)
    remembered = window.state().past.updates
    assert [each.replaced for each in remembered] == [{(each.name, AT)} for each in remembered]
    assert len(remembered) == 300
