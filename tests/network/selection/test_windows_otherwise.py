"""What windows do otherwise than rules over time ("DOTR", section 2, figure 2)."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model import rdf
from sensorstream.model.terms import Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from tests.network.selection.random_rules import PREFIX, Machine, number, term

Events = Iterable[tuple[int, tuple[Triple, ...]]]
X_THEN_Y = """define { :it :found ?y } from Y(SELECT ?y { ?y a :Y })
and each X(SELECT ?x { ?x a :X }) within 3 s from Y with ?y = Y.?y"""
QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM <pairs> AS SELECT ?x ?y FROM NAMED WINDOW <w> ON <s> [{}]
WHERE {{ WINDOW <w> {{ ?x a :X ; :at ?s . ?y a :Y ; :at ?t FILTER(?s <= ?t && ?t - ?s <= 3) }} }}"""


def happens(name: str, kind: str, time: int) -> tuple[int, tuple[Triple, ...]]:
    return time, ((term(name), rdf.TYPE, term(kind)), (term(name), term("at"), number(time)))


X_Y = (happens("x", "X", 8), happens("y", "Y", 9), happens("z", "Z", 20))


def by_rule(text: str, events: Events) -> list[Report]:
    machine = Machine(text)
    for time, graph in events:
        machine.push(time, graph)
    return machine.finish()


def by_query(text: str, events: Events) -> list[int]:
    """The times at which a query reports a row."""
    machine = StreamProcessor(Machine().graph, instant=lambda each: int(each.lexical), second=1)
    reports: list[Report] = []
    machine.register("q", text, parse_query(text), reports.append)
    for time, graph in events:
        machine.push(StreamEvent(time, graph, term("s")))
    machine.finish()
    assert machine.faults == []
    return [each.time for each in reports for _ in each.rows]


def test_a_sliding_window_tells_of_a_pair_several_times_and_a_rule_once() -> None:
    text = QUERY.replace("<s>", "<http://example.org/s>")
    assert len(by_query(text.format("RANGE PT5S STEP PT2S"), X_Y)) > 1
    assert [each.time for each in by_rule(X_THEN_Y, X_Y)] == [9]


def test_a_tumbling_window_misses_a_pair_that_it_parts_and_a_rule_does_not() -> None:
    text = QUERY.replace("<s>", "<http://example.org/s>")
    assert by_query(text.format("RANGE PT4S TUMBLING"), X_Y) == []
    assert [each.time for each in by_rule(X_THEN_Y, X_Y)] == [9]


def test_a_visitor_is_in_two_rooms_in_a_window_and_in_one_at_a_moment() -> None:
    visits = [(time, ((term("v"), term("in"), term(f"room{time}")),)) for time in (1, 3)]
    both = "?v :in ?one , ?other FILTER(?one != ?other)"
    query = (
        f"{PREFIX} SELECT ?v FROM NAMED WINDOW <w> ON :s [RANGE PT5M] "
        f"WHERE {{ WINDOW <w> {{ {both} }} }}"
    )
    assert by_query(query, visits) != []
    rule = f"define {{ ?v :split true }} from T(SELECT ?v {{ {both} }}) with ?v = T.?v"
    assert by_rule(rule, visits) == []
    moves = """define { ?v :from ?a ; :to ?b } from Now(SELECT ?v ?r { ?v :in ?r })
    and last Before(SELECT ?v ?r { ?v :in ?r }) within 5 min from Now
    where Before.?v = Now.?v and Before.?r != Now.?r
    with ?v = Now.?v, ?a = Before.?r, ?b = Now.?r"""
    (moved,) = by_rule(moves, visits)
    assert {each[2] for each in moved.triples or ()} == {term("room1"), term("room3")}
