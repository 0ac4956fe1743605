from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from sensorstream.clock import Clock
from sensorstream.model import xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.testing import DAWN, ListSink, ListSource, ManualClock, assert_delta, triples

PREFIX = "@prefix : <http://example.org/> ."
X, P = IRI("http://example.org/x"), IRI("http://example.org/p")
ONE: Triple = (X, P, Literal("1", xsd.INTEGER))
TWO: Triple = (X, P, Literal("2", xsd.INTEGER))


def test_a_manual_clock_moves_by_hand() -> None:
    clock = ManualClock()
    standing: Clock = clock
    before = standing.counter()
    assert standing.now() == DAWN
    clock.advance(1.5)
    assert standing.now() == DAWN + timedelta(seconds=1.5)
    assert standing.counter() - before == 1.5


def test_a_list_source_numbers_and_dates_its_messages() -> None:
    line = Timeline.DATETIME
    source = ListSource(["<a/>", "<b/>"], timeline=line, seconds=60)
    first, second = source
    assert (first.id, first.content, first.received) == ("m1", b"<a/>", line.of(DAWN))
    assert (second.id, second.received - first.received) == ("m2", 60_000_000)


def test_a_list_sink_waits_for_other_threads() -> None:
    sink: ListSink[int] = ListSink()
    thread = threading.Thread(target=lambda: list(map(sink, range(3))))
    thread.start()
    assert sink.wait_for(3) == [0, 1, 2]
    thread.join()
    with pytest.raises(AssertionError, match=r"expected 4 items, got \[0, 1, 2\]"):
        sink.wait_for(4, seconds=0.01)


def test_triples_are_read_from_turtle_in_order() -> None:
    assert triples(f"{PREFIX} :x :p 1, 2, 1 ; :p _:b .") == (ONE, TWO, (X, P, BlankNode("_:b")))


def test_a_delta_is_checked_in_any_order() -> None:
    delta = Delta(0, added=(TWO, ONE), removed=((X, P, X),))
    assert_delta(delta, prefixes=PREFIX, added=":x :p 1, 2 .", removed=":x :p :x .")


def test_a_wrong_delta_is_told_apart() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_delta(Delta(0, added=(ONE, ONE)), prefixes=PREFIX, removed=":x :p 2 .")
    assert str(caught.value).splitlines() == [
        f'added, not expected: <{X}> <{P}> "1"^^<{xsd.INTEGER}> .',
        f'added, not expected: <{X}> <{P}> "1"^^<{xsd.INTEGER}> .',
        f'added twice: <{X}> <{P}> "1"^^<{xsd.INTEGER}> .',
        f'not removed: <{X}> <{P}> "2"^^<{xsd.INTEGER}> .',
    ]
