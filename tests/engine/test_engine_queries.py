"""Continuous queries of an engine: what they see of its messages, and of silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import reasoner_of
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine, EngineState
from sensorstream.engine.engine_queries import EngineReport, stream_of
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import InternalFault
from sensorstream.model.events import Message, Status
from sensorstream.network.operators.group_by import GroupOperator
from sensorstream.reasoning.reasoner import Aside
from sensorstream.settings.settings import ReasoningSettings, TimeSettings, WindowSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started

EX = "http://example.org/"
SUB_CLASS_OF = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
ONTOLOGY = f"""@prefix : <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Reading a owl:Class . :value a owl:DatatypeProperty .
"""
# A reading of 13 makes the rule fail, and with it the whole message.
RULES = f"""prefix : <{EX}>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping reading
on message {{/r}}
then update individual :r-{{@id}} a :Reading at {{@t}} ; :value {{@v}}^^xsd:integer .

rule unlucky
on change
if select {{ SELECT ?r ("thirteen" AS ?word) {{ ?r :value 13 }} }}
then insert individual :x ; :value "{{?word}}"^^xsd:integer .
"""
PREFIX = f"PREFIX : <{EX}> "
QUERIES = (
    PREFIX
    + """REGISTER RSTREAM :windowed AS SELECT ?r ?v ?now
    FROM NAMED WINDOW :w ON <urn:sensorstream:source:one> [RANGE PT6S STEP PT3S]
    WHERE { WINDOW :w { ?r :value ?v } ?r :value ?now }""",
    PREFIX + "SELECT ?r ?v WHERE { ?r a :Reading ; :value ?v }",
    PREFIX
    + """SELECT (COUNT(*) AS ?n) REPORT EVERY PT4S
    FROM NAMED WINDOW :w [RANGE PT5S] WHERE { WINDOW :w { ?r :value ?v } }""",
    PREFIX
    + """SELECT ?r ?v ?w WHERE { { ?r :value ?v } SEQ { ?r :value ?w } FILTER(?v < ?w &&
    getDURATION() < "PT6S"^^<http://www.w3.org/2001/XMLSchema#duration>) }""",
)


def message(number: int, time: int, value: object, *, at: int = 0, source: str = "one") -> Message:
    content = f"<r id='{number % 4}' t='{time}' v='{value}'/>".encode()
    return Message(f"m{number}", content, at, source)


def registered(engine: Engine, *texts: str) -> Engine:
    for number, text in enumerate(texts):
        engine.queries.register(f"q{number}", text, f"e{number}")
    return engine


def process(engine: Engine, given: Message) -> Outcome:
    return feeding.process(engine, given)


def told(reports: list[EngineReport]) -> list[Any]:
    """Reports as they compare: those of one query in order, rows in any."""
    found = [
        (each.id, each.report.time, each.report.operation, Counter(each.report.rows))
        for each in reports
    ]
    return sorted(found, key=lambda each: each[0].partition("-")[0])


def all_reports(outcome: Outcome) -> list[EngineReport]:
    return [r for each in (*outcome.released, outcome) for r in each.reports]


steps = st.lists(
    st.tuples(
        st.integers(-1, 5), st.sampled_from((1, 2, 3, 13)), st.sampled_from(("one", "two", ""))
    ),
    max_size=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=steps, cut=st.integers(0, 12))
def test_rejected_messages_and_restarts_leave_no_trace_in_reports(
    deploy: Deploy, start: Start, stream: list[tuple[int, int, str]], cut: int
) -> None:
    deployment = deploy(ONTOLOGY, RULES, window=WindowSettings(size="3"))
    engine, plain = (registered(start(deployment), *QUERIES) for _ in range(2))
    found: list[EngineReport] = []
    expected: list[EngineReport] = []
    time = 0
    for number, (gap, value, source) in enumerate(stream, 1):
        if number == cut:
            again = start(deployment)
            again.restore(load(dump(engine.state())))
            engine = again
        time = max(0, time + gap)
        given_ = message(number, time, value, source=source)
        outcome = process(engine, given_)
        found += all_reports(outcome)
        # An unlucky reading that is too old for the window is accepted: no rule sees it.
        if outcome.status is Status.REJECTED:
            assert value == 13
        else:
            expected += all_reports(process(plain, given_))
    assert told(found) == told(expected)
    assert engine.queries.state().registered == plain.queries.state().registered


def test_a_window_that_closes_sees_the_knowledge_base_before_the_message_that_closes_it(
    started: Started,
) -> None:
    engine = registered(started(ONTOLOGY, RULES), QUERIES[0])
    process(engine, message(1, 1, 5))
    closing, after = process(engine, message(1, 7, 6)), process(engine, message(1, 8, 7))
    assert [
        (
            each.report.time,
            [[str(t and t.n3).split('"')[1] for t in row[1:]] for row in each.report.rows],
        )
        for each in (*closing.reports, *after.reports)
    ] == [(3, [["5", "5"]]), (6, [["5", "5"]]), (7, [["5", "6"]])]


def test_a_message_that_waits_happens_when_it_is_released(deploy: Deploy, start: Start) -> None:
    deployment = deploy(ONTOLOGY, RULES, time=TimeSettings(lateness="5"))
    engine = registered(start(deployment), QUERIES[0])
    reports: list[EngineReport] = []
    for number, time in enumerate((2, 1, 5, 4, 13, 30), 1):
        reports += all_reports(process(engine, message(number, time, number)))
    assert [(each.report.time, len(each.report.rows)) for each in reports] == [
        (3, 2),
        (6, 4),
        (9, 2),
        (12, 0),
    ]


def test_silence_closes_windows_once_for_each_step(started: Started) -> None:
    engine = registered(started(ONTOLOGY, RULES), QUERIES[0])
    assert engine.dues.tick is None
    process(engine, message(1, 1, 5, at=1000))
    reports: list[tuple[int, int]] = []
    for _ in range(3):
        due = engine.dues.tick
        if due is None:
            break
        assert engine.dues.tick_content(due - 1) == b""
        tick = Message("t", engine.dues.tick_content(due), due)
        reports += [(due, each.report.time) for each in engine.tick(tick).reports]
    # At 3 and 6 the reading is in the window, at 9 it is not, and then nobody waits for more.
    assert reports == [(1003, 3), (1006, 6), (1009, 9)]
    assert engine.dues.tick is None


def test_a_message_after_the_clock_has_passed_its_time_is_not_lost(started: Started) -> None:
    engine = registered(started(ONTOLOGY, RULES), QUERIES[0])
    process(engine, message(1, 1, 5, at=1000))
    engine.tick(Message("t", engine.dues.tick_content(1003), 1003))
    process(engine, message(2, 2, 6, at=1004))
    outcome = process(engine, message(3, 7, 7, at=1005))
    assert [(each.report.time, len(each.report.rows)) for each in outcome.reports] == [(6, 2)]


def test_the_lateness_and_the_patience_with_sources_hold_in_silence(
    deploy: Deploy, start: Start
) -> None:
    late = deploy(ONTOLOGY, RULES, time=TimeSettings(lateness="4", idle=20))
    engine = registered(start(late), QUERIES[0])
    process(engine, message(1, 1, 5, at=1000))
    assert engine.held == 1
    first = engine.dues.tick
    assert first == 1021
    engine.tick(Message("t1", engine.dues.tick_content(first), first))
    assert engine.held == 0
    assert engine.dues.tick == 1042


def test_time_in_which_the_server_did_not_run_is_no_silence(deploy: Deploy, start: Start) -> None:
    deployment = deploy(ONTOLOGY, RULES)
    engine = registered(start(deployment), QUERIES[0])
    process(engine, message(1, 1, 5, at=1000))
    again = start(deployment)
    again.restore(load(dump(engine.state())))
    again.queries.resume(5000)
    assert again.dues.tick == 5003


def test_a_broken_query_is_stopped_with_an_alert_and_the_message_stays(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = registered(started(ONTOLOGY, RULES), *QUERIES[:3])

    def broken(_: GroupOperator) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(GroupOperator, "flush", broken)
    outcome = process(engine, message(1, 1, 5))
    assert outcome.status is Status.ACCEPTED
    (alert,) = outcome.alerts
    assert (alert.kind, alert.key, alert.id) == ("query-stopped", "q2", "m1-e2")
    assert list(engine.queries.processor.queries) == ["q0", "q1"]
    assert [each.report.query for each in process(engine, message(2, 2, 6)).reports] == ["q1"]


def test_a_query_whose_part_of_a_checkpoint_cannot_be_read_begins_anew_with_an_alert(
    deploy: Deploy, start: Start
) -> None:
    deployment = deploy(ONTOLOGY, RULES)
    engine = registered(start(deployment), *QUERIES)
    process(engine, message(1, 1, 5))
    process(engine, message(2, 2, 6))
    again = start(deployment)
    again.restore(of_another_build(engine.state(), "q3"))
    outcome = process(again, message(1, 3, 7))
    (alert,) = outcome.alerts
    assert (alert.kind, alert.key, alert.id) == ("query-emptied", "q3", "m1-e3")
    assert "remembers nothing of before" in alert.text
    assert process(again, message(1, 4, 8)).alerts == ()
    (found,) = process(again, message(3, 5, 1)).reports[-1:]
    assert (found.id, found.report.intervals) == ("e3-1", [(3, 4)])


def of_another_build(state: EngineState, name: str) -> EngineState:
    """A checkpoint that a build which plans the query in another way has written."""
    assert state.queries is not None
    processor = state.queries.processor
    queries = tuple(
        (each, text, replace(at_rest, layout="another") if each == name else at_rest)
        for each, text, at_rest in processor.queries
    )
    changed = replace(state.queries, processor=replace(processor, queries=queries))
    return replace(state, queries=changed)


def test_an_engine_restored_after_an_exchange_reports_as_one_that_went_on(
    deploy: Deploy, start: Start
) -> None:
    things = PREFIX + "SELECT ?r WHERE { ?r a :Thing }"
    engine = registered(start(deploy(ONTOLOGY, RULES)), things)
    process(engine, message(1, 1, 5))
    new = deploy(ONTOLOGY + f":Reading <{SUB_CLASS_OF}> :Thing . :Thing a owl:Class .", RULES)
    aside = Aside(new.ontology.triples, reasoner_of(new))
    engine.adopt(aside, new.rules, new.filters, new.shedding, "m0")
    again = start(new)
    again.restore(load(dump(engine.state())))
    # It begins after the exchange: what it finds is no news.
    late = engine.register("late", things, "e9")
    assert engine.queries.processor.acts_before(2)
    first, second = process(engine, message(2, 3, 6)), process(engine, message(3, 4, 7))
    expected = [each for each in (*all_reports(first), *all_reports(second)) if each.entry == "e0"]
    assert [(each.report.time, len(each.report.rows)) for each in expected] == [(1, 1), (3, 1)]
    found = [each for n in (2, 3) for each in all_reports(process(again, message(n, n + 1, n + 4)))]
    assert told(found) == told(expected)
    assert len(late.result()) == 3


def test_patterns_in_time_follow_an_exchange_of_the_ontology(deploy: Deploy, start: Start) -> None:
    text = PREFIX + (
        f"SELECT ?r ?c {{ {{ ?r a :Thing }} SEQ {{ ?r :value ?v }} ?c <{SUB_CLASS_OF}> :Thing }}"
    )
    engine = registered(start(deploy(ONTOLOGY, RULES)), text)
    assert not all_reports(process(engine, message(1, 1, 5)))
    assert not all_reports(process(engine, message(5, 2, 5)))
    new = deploy(ONTOLOGY + f":Reading <{SUB_CLASS_OF}> :Thing . :Thing a owl:Class .", RULES)
    aside = Aside(new.ontology.triples, reasoner_of(new))
    engine.adopt(aside, new.rules, new.filters, new.shedding, "m0")
    found = [
        (each.report.time, each.report.intervals, each.report.rows)
        for number, time in ((1, 3), (5, 4), (5, 5))
        for each in all_reports(process(engine, message(number, time, 5)))
    ]
    assert found == [(4, [(3, 4)], [(f"{EX}r-1", f"{EX}Reading")])]


def test_what_a_reasoner_infers_happens_with_the_message_that_makes_it_true(
    started: Started,
) -> None:
    ontology = (
        ONTOLOGY
        + """@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :High owl:equivalentClass [ a owl:Restriction ; owl:onProperty :value ;
        owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
        owl:withRestrictions ( [ xsd:minInclusive 100 ] ) ] ] ."""
    )
    text = PREFIX + "SELECT ?v { { ?r a :High } SEQ { ?s :value ?v } }"
    reasoning = ReasoningSettings("hermit", heap=256)
    engine = registered(started(ontology, RULES, reasoning=reasoning), text)
    found = [
        (each.report.time, each.report.intervals)
        for number, (time, value) in enumerate(((1, 5), (2, 120), (3, 6), (4, 7)), 1)
        for each in all_reports(process(engine, message(number, time, value)))
    ]
    assert found == [(3, [(2, 3)])]


def test_a_query_that_cannot_be_started_again_is_told_of(
    deploy: Deploy, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = deploy(ONTOLOGY, RULES)
    engine = registered(start(deployment), *QUERIES)
    process(engine, message(1, 1, 5))
    state = load(dump(engine.state()))

    def broken(_: GroupOperator) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(GroupOperator, "load", broken)
    again = start(deployment)
    again.restore(state)
    assert list(again.queries.processor.queries) == ["q0", "q1", "q3"]
    (alert,) = process(again, message(2, 2, 6)).alerts
    assert (alert.kind, alert.key, alert.id) == ("query-stopped", "q2", "m2-e2")
    with pytest.raises(InternalFault, match="RuntimeError: a fault"):
        again.register("again", QUERIES[2])


def test_sources_are_streams() -> None:
    assert stream_of("") is None
    assert stream_of("cam 1/ü") == "urn:sensorstream:source:cam%201%2F%C3%BC"
    assert stream_of("http://example.org/traffic") == "http://example.org/traffic"
    assert stream_of("urn:x:y") == "urn:x:y"
