"""A fault of an operator stops the queries over it, and nothing else; a long gap is cut short."""

from __future__ import annotations

from typing import Any

import pytest

from sensorstream.errors import InternalFault
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.copies import Copies
from sensorstream.network.operators.group_by import GroupOperator
from sensorstream.network.operators.scoped_join import InScope
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from sensorstream.streams.stream_window import StreamWindow, WindowedStream

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
    monkeypatch.setattr(GroupOperator, "flush", broken)
    assert machine.push(StreamEvent(1, ((A, P, B),)))
    assert [name for name, _ in machine.faults] == ["counted"]
    assert list(machine.queries) == ["plain"]
    machine.push(StreamEvent(2, ((B, P, A),)))
    assert [(each.query, each.rows) for each in found] == [("plain", [(A,)]), ("plain", [(B,)])]


def test_a_broken_trigger_does_not_stop_whoever_changes_the_graph() -> None:
    machine, found = processor(), list[Report]()
    text = "SELECT ?x WHERE { ?x <http://example.org/p> ?y }"
    index = machine._maker.default
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


NAME = IRI("http://example.org/s")
WINDOW = "FROM NAMED WINDOW <w:> ON <http://example.org/s> [RANGE PT5S] "
WINDOWED = f"SELECT ?x {WINDOW} WHERE {{ WINDOW <w:> {{ ?x ?p ?y }} }}"
INDIVIDUALS = WINDOWED.replace("RANGE PT5S", "RANGE PT5S OF INDIVIDUALS")
ORDERED = f"REGISTER RSTREAM <o:> AS {WINDOWED} ORDER BY ?x"
BUILT = f"CONSTRUCT {{ ?x <q:> ?y }} {WINDOW} WHERE {{ WINDOW <w:> {{ ?x ?p ?y }} }}"
ANEW = "SELECT ?x (NOW() AS ?now) WHERE { ?x <http://example.org/p> ?y }"
STEPS = (
    "REGISTER RSTREAM <o:> AS SELECT ?x FROM NAMED WINDOW <w:> ON <http://example.org/s> "
    "[RANGE PT4S STEP PT2S] WHERE { WINDOW <w:> { ?x ?p ?y } }"
)
CASES: dict[str, tuple[str, Any, str]] = {
    "a window that takes an event": (WINDOWED, WindowedStream, "take"),
    "a window that lets go": (WINDOWED, InScope, "elapse"),
    "a window of individuals that lets go": (INDIVIDUALS, StreamWindow, "elapse"),
    "a window with a step": (STEPS, WindowedStream, "elapse"),
    "an operator": (COUNT, GroupOperator, "flush"),
    "whether a report is due": (WINDOWED, ContinuousQuery, "is_due"),
    "a report": (WINDOWED, ContinuousQuery, "report"),
    "a template": (BUILT, ContinuousQuery, "_of_graph"),
    "the order": (ORDERED, ContinuousQuery, "result"),
    "whether a step is told": (STEPS, ContinuousQuery, "tells_at_step"),
    "evaluation anew": (ANEW, Copies, "select"),
    "an operator that cannot even be dropped": (COUNT, GroupOperator, "flush release"),
}
OUTSIDE = "SELECT ?x WHERE { ?x <http://example.org/p> ?y }"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("error", [RuntimeError("a fault"), OSError("a fault")])
def test_whatever_a_query_raises_stops_that_query_alone(
    case: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, owner, names = CASES[case]
    machine, found = processor(), list[Report]()
    index = machine._maker.default
    machine.register("broken", text, parse_query(text), found.append)
    machine.register("other", OUTSIDE, parse_query(OUTSIDE), found.append)
    machine.push(StreamEvent(1, ((A, P, A),), NAME))
    mine = machine.queries["broken"]

    def fault(this: Any, *_: object) -> Any:
        if not isinstance(this, ContinuousQuery) or this is mine:
            raise error
        return original(this, *_)

    for name in names.split():
        original = getattr(owner, name)
        if isinstance(original, property):
            original = original.fget
            monkeypatch.setattr(owner, name, property(fault))
        else:
            monkeypatch.setattr(owner, name, fault)
    for time in (2, 9, 10, 20):
        machine.complete(time, 10)
        machine.settle(time)
        index.add((IRI(f"x:{time}"), P, A))
        machine.settle(time)
        machine.push(StreamEvent(time, ((A, P, B), (IRI(f"x:{time}"), P, B)), NAME))
        assert machine.next_news is None or machine.next_news >= time
    machine.complete(21)
    assert machine.faults == [("broken", error)]
    assert list(machine.queries) == ["other"]
    assert [(each.time, each.rows) for each in found if each.query == "other"] == [
        (time, [(IRI(f"x:{time}"),)]) for time in (2, 9, 10, 20)
    ]
    assert not machine._windows


def test_a_query_that_cannot_say_whether_it_reports_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = processor()
    machine.register("q", WINDOWED, parse_query(WINDOWED), list[Report]().append)
    machine.push(StreamEvent(1, ((A, P, B),), NAME))
    monkeypatch.setattr(ContinuousQuery, "pending", property(broken))
    assert not machine.acts_before(2)
    assert machine.next_news == 6
    machine.advance(3)
    assert [name for name, _ in machine.faults] == ["q"]


def test_a_sink_or_a_record_that_fails_stops_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, found = processor(), list[Report]()
    machine.register("sink", PLAIN, parse_query(PLAIN), broken)
    machine.register("traced", PLAIN, parse_query(PLAIN), found.append)
    machine.register("plain", PLAIN, parse_query(PLAIN), found.append)
    machine.trace("traced", str)
    monkeypatch.setattr("sensorstream.streams.query_trace._step", broken)
    machine.push(StreamEvent(1, ((A, P, B),)))
    assert sorted(name for name, _ in machine.faults) == ["sink", "traced"]
    assert list(machine.queries) == ["plain"]
    assert not machine.network.observers
    machine.push(StreamEvent(2, ((B, P, A),)))
    assert [each.rows for each in found if each.query == "plain"] == [[(A,)], [(B,)]]


@pytest.mark.parametrize(
    ("text", "broken_at"),
    [
        (COUNT, "sensorstream.network.operators.group_by.GroupOperator.load"),
        (COUNT, "sensorstream.network.operators.group_by.GroupOperator.__init__"),
        (PLAIN, "sensorstream.network.operators.scoped_join.ScopedJoin.load"),
        (PLAIN, "sensorstream.network.operators.scoped_join.InScope.load"),
        (PLAIN, "sensorstream.network.operators.delta_join.JoinWriter.trigger"),
        (OUTSIDE, "sensorstream.network.operators.delta_join.JoinWriter.trigger"),
        (ANEW, "sensorstream.network.copies.Copies.select"),
        (ANEW, "sensorstream.network.reevaluate.one_shot"),
        (BUILT, "sensorstream.streams.continuous_query.instantiated"),
        (WINDOWED, "sensorstream.streams.stream_window.WindowedStream.open"),
        (PLAIN, "sensorstream.streams.query_planning.plan"),
    ],
)
def test_a_fault_at_registration_refuses_the_query_and_leaves_nothing_of_it(
    text: str, broken_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = processor()
    with monkeypatch.context() as patch:
        patch.setattr(broken_at, broken)
        with pytest.raises(InternalFault, match="RuntimeError: a fault"):
            machine.register("q", text, parse_query(text), list[Report]().append)
    assert not machine.queries
    assert not len(machine.network)
    assert not machine.network._dispatchers
    assert not machine.network.copies._copies
    assert not machine._maker.default.watchers
    assert not machine._windows
    machine.register("q", text, parse_query(text), list[Report]().append)


@pytest.mark.parametrize(
    ("text", "broken_at"),
    [
        (COUNT, "sensorstream.network.operators.group_by.GroupOperator.load"),
        (COUNT, "sensorstream.network.operators.group_by.GroupOperator.flush"),
        (BUILT, "sensorstream.streams.continuous_query.ContinuousQuery.restore"),
        (PLAIN, "sensorstream.streams.stream_window.WindowedStream.restore"),
    ],
)
def test_a_fault_at_a_restart_stops_its_query_and_not_the_start(
    text: str, broken_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, found = processor(), list[Report]()
    machine.register("q", text, parse_query(text), found.append)
    machine.push(StreamEvent(1, ((A, P, B),), NAME))
    state = machine.state()
    again, lost = processor(), list[str]()

    def start(name: str, text: str) -> None:
        try:
            again.register(name, text, parse_query(text), found.append)
        except InternalFault:
            lost.append(name)

    monkeypatch.setattr(broken_at, broken)
    again.restore(state, start)
    assert [*lost, *(name for name, _ in again.faults)] == ["q"]
    assert not again.queries
    assert again.now == 1


def test_a_query_whose_state_cannot_be_kept_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = processor()
    machine.register("q", PLAIN, parse_query(PLAIN), list[Report]().append)
    monkeypatch.setattr(ContinuousQuery, "state", broken)
    assert machine.state().queries == ()
    assert [name for name, _ in machine.faults] == ["q"]


def test_what_comes_and_goes_within_an_instant_is_no_report() -> None:
    machine, found = processor(), list[Report]()
    text = (
        "REGISTER RSTREAM <o:> AS SELECT ?x REPORT ON CHANGE WHERE { ?x <http://example.org/p> ?y }"
    )
    machine.register("q", text, parse_query(text), found.append)
    index = machine._maker.default
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
