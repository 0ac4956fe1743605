"""A processor that was put to rest and woken reports what one does that never slept."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation
from sensorstream.streams.query_state import ProcessorState

S = IRI("http://example.org/s")
P, C = IRI("http://example.org/p"), IRI("http://example.org/C")
NAMES = [IRI(f"http://example.org/{name}") for name in "abc"]
WINDOWS = (
    "RANGE PT5S",
    "RANGE PT5S STEP PT3S",
    "RANGE PT4S TUMBLING",
    "RANGE PT4S OF INDIVIDUALS",
    "FROM NOW-PT5S TO NOW-PT2S",
    "FROM NOW-PT7S TO NOW-PT3S STEP PT2S",
    "FROM NOW-PT7S TO NOW-PT4S STEP PT2S",
    "TRIPLES 3",
    "TRIPLES 4 STEP 2",
    "INDIVIDUALS 2",
    "INDIVIDUALS 2 OF :C STEP 1",
    "LANDMARK STEP PT2S",
)
FORMS = (
    "SELECT ?x ?y",
    "SELECT (COUNT(*) AS ?n)",
    "SELECT (SAMPLE(?y) AS ?n) (GROUP_CONCAT(STR(?y)) AS ?all)",
    "SELECT DISTINCT ?y",
    "CONSTRUCT { ?y :q [ :of ?x ] }",
    "ASK",
)
REPORTS = (
    "",
    "REPORT EVERY INSTANT",
    "REPORT ON WINDOW CLOSE",
    "REPORT EVERY PT4S",
    "REPORT EVERY 3 TRIPLES",
)
triples = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.just(P), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(NAMES), st.just(rdf.TYPE), st.just(C)),
)
steps = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(triples, min_size=1, max_size=3, unique=True),
        st.lists(triples, max_size=1),
    ),
    min_size=1,
    max_size=10,
)


def text_of(form: str, relation: str, report: str, window: str, *, outside: bool) -> str:
    register = f"REGISTER {relation} :out AS" if relation else ""
    more = "?x a :C ." if outside else ""
    return f"""PREFIX : <http://example.org/> {register} {form} {report}
        FROM NAMED WINDOW :w ON :s [{window}]
        WHERE {{ {more} WINDOW :w {{ ?x :p ?y }} }}"""


class Machine:
    """A processor over a graph of its own, and what it reported."""

    def __init__(self, graph: TripleIndex, found: list[Report]) -> None:
        self.graph = graph
        self.found = found
        self.processor = StreamProcessor(graph, instant=lambda text: int(text.lexical), second=1)

    def start(self, name: str, text: str) -> None:
        self.processor.register(name, text, parse_query(text), self.found.append)

    def take(self, time: int, said: list[Triple], toggled: list[Triple]) -> None:
        self.processor.complete(time)
        for triple in toggled:
            (self.graph.discard if triple in self.graph else self.graph.add)(triple)
        self.processor.push(StreamEvent(time, tuple(said), S))

    def woken(self) -> Machine:
        graph = TripleIndex()
        for triple in self.graph:
            graph.add(triple)
        woken = Machine(graph, self.found)
        data = json.loads(json.dumps(encode(self.processor.state(), ProcessorState)))
        woken.processor.restore(decode(data, ProcessorState), woken.start)
        return woken


def told(reports: list[Report]) -> list[Any]:
    """Reports as they compare: rows in any order."""
    found = []
    for each in reports:
        rows: Any = Counter(each.rows) if each.triples is None else Counter(each.triples)
        found.append((each.query, each.time, each.operation, each.answer, rows))
    return found


@settings(max_examples=100)
@given(
    texts=st.lists(
        st.builds(
            text_of,
            st.sampled_from(FORMS),
            st.sampled_from(("", "RSTREAM", "ISTREAM", "DSTREAM")),
            st.sampled_from(REPORTS),
            st.sampled_from(WINDOWS),
            outside=st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ),
    stream=steps,
    cut=st.integers(0, 10),
)
def test_a_woken_processor_reports_as_if_it_had_not_slept(
    texts: list[str], stream: list[tuple[int, list[Triple], list[Triple]]], cut: int
) -> None:
    awake, slept = Machine(TripleIndex(), []), Machine(TripleIndex(), [])
    for number, text in enumerate(texts):
        for machine in (awake, slept):
            machine.start(f"q{number}", text)
    time = 0
    for place, (gap, said, toggled) in enumerate(stream):
        time += gap
        if place == cut:
            slept = slept.woken()
            assert slept.processor.next_news == awake.processor.next_news
        awake.take(time, said, toggled)
        slept.take(time, said, toggled)
    awake.processor.finish()
    slept.processor.finish()
    assert told(slept.found) == told(awake.found)
    assert slept.processor.counts == awake.processor.counts


def test_what_would_be_another_value_after_a_restart_is_taken_back_as_it_was_reported() -> None:
    machine = Machine(TripleIndex(), [])
    text = text_of("SELECT ?x (STRUUID() AS ?once)", "", "", "RANGE PT5S", outside=False)
    machine.start("q", text)
    machine.take(1, [(NAMES[0], P, NAMES[1])], [])
    machine.processor.advance(2)
    machine = machine.woken()
    machine.take(3, [(NAMES[1], P, NAMES[1])], [])
    machine.processor.advance(20)
    reported: Counter[Any] = Counter()
    for each in machine.found:
        sign = 1 if each.operation is RowOperation.ADDED else -1
        for row in each.rows:
            reported[row] += sign
    assert machine.found
    assert not +reported
    assert not -reported
