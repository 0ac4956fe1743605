"""A state that a build with other plans has written is not taken for something else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sensorstream.errors import Position
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.dotr.dotr_reader import is_rules, read_program
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from sensorstream.streams.query_state import ProcessorState

PREFIX = "PREFIX : <http://example.org/> "
SEQUENCE = PREFIX + "SELECT ?x ?y { { ?x :p ?y } SEQ { ?y :q ?z } }"
# It remembers the same rows by the same numbers, of other columns.
TURNED = PREFIX + "SELECT ?x ?y { { ?y :p ?x } SEQ { ?y :q ?z } }"
RULE = """PREFIX : <http://example.org/>
define { ?z :saw ?x }
from Q(SELECT ?y ?z WHERE { ?y :q ?z })
and each P(SELECT ?x ?y WHERE { ?x :p ?y }) within 9 s from Q
where P.?y = Q.?y with ?x = P.?x, ?z = Q.?z"""
WINDOW = PREFIX + "SELECT ?x ?y FROM NAMED WINDOW :w [RANGE PT9S] { WINDOW :w { ?x :p ?y } }"


def triple(text: str) -> Triple:
    subject, predicate, object_ = (IRI(f"http://example.org/{each}") for each in text.split())
    return subject, predicate, object_


class Machine:
    """A processor and what it reported."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.processor = StreamProcessor(
            TripleIndex(), instant=lambda text: int(text.lexical), second=1
        )

    def start(self, name: str, text: str) -> None:
        if is_rules(text):
            program = read_program(text, name=name, start=Position("rules", 1, 1))
            self.processor.register(name, text, program, self.reports.append)
        else:
            self.processor.register(name, text, parse_query(text), self.reports.append)

    def take(self, time: int, *said: str) -> None:
        self.processor.push(StreamEvent(time, tuple(map(triple, said))))

    def rows(self) -> list[Any]:
        self.processor.finish()
        return [
            tuple(str(each).removeprefix("http://example.org/") for each in row)
            for report in self.reports
            for row in report.rows
        ]


def state_of(text: str, said: str) -> ProcessorState:
    machine = Machine()
    machine.start("q", text)
    machine.take(1, said)
    return machine.processor.state()


def woken(state: ProcessorState, text: str) -> Machine:
    """A machine of a build that reads the query as if another ``text`` had been registered."""
    machine = Machine()
    machine.processor.restore(state, lambda name, _: machine.start(name, text))
    return machine


def changed(state: ProcessorState, layout: str) -> ProcessorState:
    queries = tuple((n, text, replace(each, layout=layout)) for n, text, each in state.queries)
    return replace(state, queries=queries)


def test_a_pattern_that_is_planned_in_another_way_remembers_nothing_and_that_is_known() -> None:
    machine = woken(state_of(SEQUENCE, "a p b"), TURNED)
    assert machine.processor.emptied == ["q"]
    machine.take(2, "b q c", "a q c")
    # What had not been handed on yet is no operator's: it is of the stream.
    assert machine.rows() == [("b", "a")]


def test_what_an_operator_of_another_plan_has_kept_is_left_out() -> None:
    machine = Machine()
    machine.start("q", SEQUENCE)
    machine.take(1, "a p b")
    machine.take(2, "c p d")
    machine = woken(machine.processor.state(), TURNED)
    machine.take(3, "a q e", "c q e")
    assert machine.rows() == [("d", "c")]


@pytest.mark.parametrize("text", [SEQUENCE, WINDOW, RULE])
def test_the_same_plan_goes_on_with_all_it_had(text: str) -> None:
    machine = woken(state_of(text, "a p b"), text)
    machine.take(2, "b q c")
    awake = Machine()
    awake.start("q", text)
    awake.take(1, "a p b")
    awake.take(2, "b q c")
    assert machine.rows() == awake.rows()
    assert [each.triples for each in machine.reports] == [e.triples for e in awake.reports]
    assert machine.processor.emptied == []
    assert machine.reports
