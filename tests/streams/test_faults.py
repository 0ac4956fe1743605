"""A fault of an operator stops the queries over it, and nothing else; a long gap is cut short."""

from __future__ import annotations

from typing import Any

import pytest

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.operators.group import Group
from sensorstream.sparql.parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.report import Report

A, P = IRI("http://example.org/a"), IRI("http://example.org/p")
B = IRI("http://example.org/b")
FROM = "REPORT ON CHANGE FROM NAMED WINDOW <w:> [TRIPLES 5] WHERE { WINDOW <w:> { ?x ?p ?y } }"
COUNT, PLAIN = f"SELECT (COUNT(*) AS ?n) {FROM}", f"SELECT ?x {FROM}"


def processor() -> StreamProcessor:
    return StreamProcessor(TripleIndex(), instant=lambda text: int(text.lexical), second=1)


def broken(*_: object) -> Any:
    raise RuntimeError("a fault")


def test_a_query_over_a_broken_operator_is_stopped_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, found = processor(), list[Report]()
    machine.register("counted", COUNT, parse_query(COUNT), found.append)
    machine.register("plain", PLAIN, parse_query(PLAIN), found.append)
    monkeypatch.setattr(Group, "flush", broken)
    assert machine.push(StreamEvent(1, ((A, P, B),)))
    assert [name for name, _ in machine.faults] == ["counted"]
    assert list(machine.queries) == ["plain"]
    machine.push(StreamEvent(2, ((B, P, A),)))
    assert [(each.query, each.rows) for each in found] == [("plain", [(A,)]), ("plain", [(B,)])]


def test_a_broken_trigger_does_not_stop_whoever_changes_the_graph() -> None:
    machine, found = processor(), list[Report]()
    text = "SELECT ?x WHERE { ?x <http://example.org/p> ?y }"
    index = machine._default
    running = machine.register("q", text, parse_query(text), found.append)
    dispatcher = machine.network.dispatcher(index)
    dispatcher._triggers[P][None].always[
        running.root.inputs[0] if running.root.inputs else running.root
    ] = [broken]
    index.add((A, P, B))
    machine.settle(1)
    assert (A, P, B) in index
    assert [name for name, _ in machine.faults] == ["q"]
    assert not machine.queries
    assert not list(machine.network.nodes())


def test_what_comes_and_goes_within_an_instant_is_no_report() -> None:
    machine, found = processor(), list[Report]()
    text = (
        "REGISTER RSTREAM <o:> AS SELECT ?x REPORT ON CHANGE WHERE { ?x <http://example.org/p> ?y }"
    )
    machine.register("q", text, parse_query(text), found.append)
    index = machine._default
    index.add((A, P, B))
    machine.settle(1)
    index.add((B, P, B))
    index.discard((B, P, B))
    machine.take_back()
    machine.settle(2)
    assert [each.time for each in found] == [1]


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("FROM NAMED WINDOW <w:> [RANGE PT4S STEP PT2S]", 10),
        ("REPORT EVERY PT3S FROM NAMED WINDOW <w:> [RANGE PT40S]", 10),
    ],
)
def test_a_long_gap_is_cut_short_and_then_all_is_as_if_it_had_not_been(text: str, gap: int) -> None:
    head = f"REGISTER RSTREAM <o:> AS SELECT (COUNT(*) AS ?n) {text} "
    text = head + "WHERE { WINDOW <w:> { ?x ?p ?y } }"
    end = 6_000_000_000
    last: list[list[Report]] = []
    for most in (20, None):
        machine, found = processor(), list[Report]()
        machine.register("q", text, parse_query(text), found.append)
        start = 0 if most else end - 600
        for time in (start, start + 1, end, end + 1, end + gap):
            machine.complete(time, most)
            machine.push(StreamEvent(time, ((A, P, B), (A, P, IRI(f"t:{time}")))))
        last.append([each for each in found if each.time >= end - 2])
    assert last[0]
    assert last[0] == last[1]
