"""Of a query that is gone nothing is left: not in the network, not in memory."""

from __future__ import annotations

import gc
from types import ModuleType
from typing import Any, Final

import pytest

from sensorstream.kb.occurrences import OccurrenceIndex, WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.dispatch import Dispatcher
from sensorstream.network.node import Node
from sensorstream.network.operators.group_by import GroupOperator
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from sensorstream.streams.query_trace import InstantTrace
from sensorstream.streams.stream_window import StreamWindow, WindowedStream

PREFIX: Final = "PREFIX : <http://example.org/> "
P, Q, S = (IRI(f"http://example.org/{name}") for name in "pqs")
WINDOWS: Final = (
    "RANGE PT{n}S",
    "RANGE PT{n}S STEP PT3S",
    "TRIPLES {n}",
    "TRIPLES {n} STEP 2",
    "INDIVIDUALS {n}",
    "LANDMARK STEP PT{n}S",
)
BODIES: Final = (
    "SELECT ?x ?y {w} WHERE {{ WINDOW :w {{ ?x :p ?y }} }}",
    "SELECT ?x {w} WHERE {{ WINDOW :w {{ ?x :p ?y }} FILTER(?y > {n}) }}",
    "SELECT (COUNT(*) AS ?n) (SAMPLE(?y) AS ?s) {w} "
    "WHERE {{ WINDOW :w {{ ?x :p ?y }} }} GROUP BY ?x",
    "SELECT ?x {w} WHERE {{ ?x :q ?z FILTER NOT EXISTS {{ WINDOW :w {{ ?x :p ?y }} }} }}",
    "SELECT ?x ?z {w} WHERE {{ WINDOW :w {{ ?x :p ?y }} ?x :q+ ?z }} ORDER BY ?x LIMIT {n}",
    "SELECT ?x (NOW() AS ?now) {w} WHERE {{ WINDOW :w {{ ?x :p ?y }} }}",
    "CONSTRUCT {{ ?x :r [ :s ?y ] }} REPORT EVERY PT{n}S {w} WHERE {{ WINDOW :w {{ ?x :p ?y }} }}",
    "SELECT ?x WHERE {{ ?x :q ?y MINUS {{ ?y :q ?x }} }}",
)
GONE: Final = (
    *(StreamWindow, WindowedStream, OccurrenceIndex, WindowScope, Node),
    *(ContinuousQuery, InstantTrace, Dispatcher, Report),
)


def text_of(number: int) -> str:
    size = 2 + number % 7
    window = WINDOWS[number % len(WINDOWS)].format(n=size)
    body = BODIES[number // 3 % len(BODIES)]
    return PREFIX + body.format(w=f"FROM NAMED WINDOW :w ON :s [{window}]", n=size)


def reachable(root: object) -> list[Any]:
    """The objects of the kinds that should be gone which an object leads to."""
    seen, ahead, found = {id(root)}, [root], list[Any]()
    while ahead:
        for each in gc.get_referents(ahead.pop()):
            if id(each) in seen or isinstance(each, type | ModuleType):
                continue
            seen.add(id(each))
            if callable(each) and hasattr(each, "__globals__"):
                # A function: what it closes over, not the module that it is of.
                ahead += each.__closure__ or ()
                continue
            if isinstance(each, GONE):
                found.append(each)
            ahead.append(each)
    return found


class Machine:
    """A processor over a graph, told of an event a second."""

    def __init__(self) -> None:
        self.index = TripleIndex()
        self.processor = StreamProcessor(
            self.index, instant=lambda text: int(text.lexical), second=1
        )
        self.time: Instant = 0

    def start(self, name: str, text: str) -> None:
        self.processor.register(name, text, parse_query(text), lambda report: None)

    def take(self) -> None:
        self.time = time = self.time + 1
        self.processor.complete(time)
        subject = IRI(f"http://example.org/{time % 5}")
        link: Triple = (subject, Q, IRI(f"http://example.org/{time % 3}"))
        (self.index.discard if link in self.index else self.index.add)(link)
        self.processor.settle(time)
        self.processor.push(StreamEvent(time, ((subject, P, Literal(str(time))),), S))


def assert_empty(machine: Machine) -> None:
    processor, network = machine.processor, machine.processor.network
    assert not machine.index.watchers
    assert not len(network)
    assert not network._dispatchers
    assert not network._queue
    assert not network.observers
    assert not network.faults
    assert not network.copies._copies
    assert not processor._agenda._queue
    assert not processor._windows
    assert reachable(processor) == []


def test_nothing_is_left_of_two_hundred_queries_of_many_kinds() -> None:
    machine = Machine()
    running = list[str]()
    for number in range(200):
        name = f"q{number}"
        machine.start(name, text_of(number))
        if number % 4 == 0:
            machine.processor.trace(name, str)
        running.append(name)
        machine.take()
        assert not machine.processor.faults
        if len(running) > 12:
            machine.processor.unregister(running.pop(number % len(running)))
    assert reachable(machine.processor)
    for name in running:
        machine.take()
        machine.processor.unregister(name)
    assert not machine.processor.faults
    assert_empty(machine)


def test_nothing_is_left_of_queries_that_a_fault_has_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    for number in range(48):
        machine.start(f"q{number}", text_of(number))
        machine.processor.trace(f"q{number}", str)
    machine.take()

    def broken(*_: object) -> Any:
        raise RuntimeError("a fault")

    monkeypatch.setattr(GroupOperator, "flush", broken)
    monkeypatch.setattr(ContinuousQuery, "is_due", broken)
    for _ in range(20):
        machine.take()
    for name in list(machine.processor.queries):
        machine.processor.unregister(name)
    assert machine.processor.faults
    machine.processor.faults.clear()
    assert_empty(machine)


def test_a_threshold_does_not_keep_a_reader_that_has_left() -> None:
    machine = Machine()
    for number in (1, 2):
        text = f"SELECT ?x WHERE {{ ?x <{P}> ?y FILTER(?y > {number}) }}"
        machine.start(f"q{number}", text)
    machine.index.add((S, P, Literal("5", "http://www.w3.org/2001/XMLSchema#integer")))
    machine.processor.settle(1)
    gone = machine.processor.queries["q1"].root
    machine.processor.unregister("q1")
    assert not any(each is gone for each in reachable(machine.processor))


def test_the_agenda_keeps_little_more_than_twice_what_is_due() -> None:
    class Entry:
        closing = False

        def __init__(self) -> None:
            self.due: int | None = 0

        def elapse(self, time: int) -> None:
            raise AssertionError

        skip = elapse

    agenda, entries = Agenda(), [Entry() for _ in range(10)]
    for time in range(1000):
        for entry in entries:
            entry.due = 1000 - time
            agenda.note(entry)
            assert len(agenda._queue) <= 2 * len(entries) + 33
    for entry in entries[:9]:
        agenda.forget(entry)
    assert len(agenda._queue) <= 3
    assert agenda.next == 1
    assert agenda.pop() is entries[9]
    assert agenda.next is None
