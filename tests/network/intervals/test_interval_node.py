"""Memory of what has happened: bounded by durations, and by what tests can tell apart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sensorstream.model.terms import IRI
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from tests.network.intervals.random_patterns import NAMES, NUMBERS, PREFIX, PROPERTIES, processor


def test_what_is_kept_is_bounded_by_the_duration_that_is_asked_for() -> None:
    text = (
        PREFIX + "SELECT * WHERE { { ?x :p ?y } SEQ { ?x :q ?z } SEQ { ?x :r ?w } "
        'FILTER(getDURATION() < "PT10S"^^xsd:duration) }'
    )
    machine = processor([])
    machine.register("q", text, parse_query(text), lambda report: None)
    kept = []
    for time in range(1, 2000):
        said = tuple((NAMES[time % 2], each, NUMBERS[0]) for each in PROPERTIES)
        machine.push(StreamEvent(time, said))
        kept.append(sum(node.size() for node in machine.network.nodes()))
    assert max(kept) < 100
    assert all(abs(one - other) < 20 for one, other in pairwise(kept))


def kept(machine: StreamProcessor) -> int:
    return sum(node.size() for node in machine.network.nodes())


@pytest.mark.parametrize(
    "where",
    [
        "?x :p ?y MINUS { ?x :q ?w }",
        "?x :p ?y FILTER NOT EXISTS { ?x :q ?w }",
        "?x :p ?y FILTER EXISTS { ?x :q ?w }",
        "?x :p ?y . VALUES ?x { :a :b }",
        "?x :p ?y . ?x :r* ?x",
    ],
)
def test_of_what_has_ended_one_row_of_each_kind_is_kept(where: str) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ {where} FILTER(getENDTIME() >= 0) }}"
    machine = processor([(NAMES[0], IRI("http://example.org/r"), NAMES[1])])
    machine.register("q", text, parse_query(text), lambda report: None)
    for time in range(1, 200):
        said = tuple((name, each, NUMBERS[0]) for name in NAMES for each in PROPERTIES)
        machine.push(StreamEvent(time, said))
    assert kept(machine) <= len(NAMES)
