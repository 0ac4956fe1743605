"""An operator that asks to be woken at a time is, between two events and in order of time."""

from __future__ import annotations

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.node import Node
from sensorstream.network.rows import Row
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor

S, A, P = (IRI(f"http://example.org/{name}") for name in "sap")


class Alarm(Node):
    """Gives out one row at a time that was set."""

    closing = False

    def __init__(self, processor: StreamProcessor, time: Instant) -> None:
        super().__init__((), ("time",), ())
        self.due: Instant | None = time
        self._network = processor.network
        self._rows: list[Row] = []

    def elapse(self, time: Instant) -> None:
        self.due = None
        self._rows.append((Literal(str(time)),))
        self.added.append(self._rows[-1])
        self._network.wake(self)

    def skip(self, time: Instant) -> None:
        """There is only one time."""

    def flush(self) -> None:
        """The row was given out when the time came."""

    def rows(self) -> list[Row]:
        return self._rows

    def describe(self) -> str:
        return "Alarm"


def test_an_operator_is_woken_at_its_time_between_two_events() -> None:
    processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)
    text = """SELECT ?x FROM NAMED WINDOW <w:> ON <http://example.org/s> [RANGE PT2S]
        WHERE { WINDOW <w:> { ?x ?p ?y } }"""
    order: list[tuple[str, object]] = []
    processor.register(
        "q", text, parse_query(text), lambda report: order.append(("report", report.time))
    )
    alarm = Alarm(processor, 4)
    node = processor.network.share("alarm", lambda: alarm)
    processor.network.listen(node, lambda added, removed: order.append(("alarm", processor.now)))
    processor.network.agenda.note(alarm)
    processor.push(StreamEvent(1, ((A, P, A),), S))
    processor.push(StreamEvent(9, (), S))
    assert order == [("report", 1), ("report", 3), ("alarm", 4)]


def test_entries_of_one_time_that_close_it_come_after_those_that_open_it() -> None:
    agenda = Agenda()
    processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)
    late, early = Alarm(processor, 4), Alarm(processor, 4)
    late.closing = True
    agenda.note(late)
    agenda.note(early)
    assert agenda.take(4, closing=False) == [early]
    assert agenda.take(4, closing=True) == [late]
    assert agenda.next is None
