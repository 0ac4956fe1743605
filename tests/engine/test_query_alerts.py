"""What the solutions of continuous queries raise, and when it ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.engine import query_alerts
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry_effects import alerts_of, in_order
from sensorstream.journal.registration import RegisterQuery
from sensorstream.model.events import Alert, Cleared, Message
from sensorstream.model.terms import Literal
from sensorstream.settings.settings import WindowSettings
from tests.engine.conftest import Deploy, Start, Started
from tests.engine.test_engine_queries import ONTOLOGY, PREFIX, RULES, message, process, registered

HIGH = """SELECT ?r ?v ALERT warning "{?r} has {?v}" KEY "{?v}"
WHERE { ?r :value ?v FILTER(?v > 4) }"""


def told(outcomes: list[Outcome]) -> list[Alert | Cleared]:
    return [each for one in outcomes for part in in_order(one) for each in alerts_of(part)]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), max_size=12),
    stop=st.integers(0, 12),
)
def test_what_is_open_is_what_the_query_finds(
    start: Start, deploy: Deploy, said: list[tuple[int, int, int]], stop: int
) -> None:
    deployment = deploy(ONTOLOGY, RULES, window=WindowSettings(size="3"))
    engine = registered(start(deployment), PREFIX + HIGH)
    outcomes, time = [], 0
    for number, (individual, gap, value) in enumerate(said):
        if number == stop:
            saved = dump(engine.state())
            engine = start(deployment)
            engine.restore(load(saved))
        time += gap
        outcomes.append(process(engine, message(4 * number + individual, time, value)))
    outcomes.append(engine.finish())
    known: set[str] = set()
    ids = []
    for each in told(outcomes):
        assert (each.rule, each.kind) == ("q0", "query")
        if isinstance(each, Alert):
            ids.append(each.id)
            known.add(each.key)
            assert each.text.endswith(f" has {each.key}")
        else:
            # Whatever ends was raised.
            assert each.key is not None
            known.remove(each.key)
    found = engine.queries.processor.queries["q0"].result()
    assert known == {row[1].lexical for row in found if isinstance(row[1], Literal)}
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("ISTREAM", ["r-0 has 7", "r-1 has 7", "r-0 has 8"]),
        ("DSTREAM", ["r-0 has 7"]),
        ("RSTREAM", ["r-0 has 7", "r-1 has 7", "r-0 has 8", "r-1 has 7"]),
    ],
)
def test_what_is_told_of_a_result_is_what_is_raised(
    relation: str, expected: list[str], started: Started
) -> None:
    text = f"REGISTER {relation} q AS {HIGH.replace(' KEY ' + chr(34) + '{?v}' + chr(34), '')}"
    engine = registered(started(ONTOLOGY, RULES), PREFIX + text)
    given_ = [(0, 0, 7), (1, 1, 7), (0, 2, 8), (2, 3, 1)]
    outcomes = [process(engine, message(*each)) for each in given_]
    found = told([*outcomes, engine.finish()])
    assert all(isinstance(each, Alert) for each in found)
    short = [each.text.rsplit("/")[-1] for each in found if isinstance(each, Alert)]
    if relation == "RSTREAM":
        # The whole result each time: what stands there is raised again.
        assert set(short) == set(expected)
        assert len(short) > len(expected)
    else:
        assert short == expected


def test_what_a_query_begins_with_is_no_news_and_counts(started: Started) -> None:
    engine = started(ONTOLOGY, RULES)
    process(engine, message(0, 0, 7))
    registered(engine, PREFIX + HIGH)
    outcomes = [process(engine, message(*each)) for each in ((1, 1, 7), (1, 2, 1))]
    outcomes.append(process(engine, message(0, 3, 1)))
    found = told([*outcomes, engine.finish()])
    # One individual still has a 7 when the other one has it no more.
    assert [(type(each), each.key, each.time) for each in found] == [
        (Alert, "7", 1),
        (Cleared, "7", 3),
    ]


def test_what_a_query_finds_at_its_start_is_raised_once_if_wanted(
    start: Start, deploy: Deploy
) -> None:
    deployment = deploy(ONTOLOGY, RULES)
    engine = start(deployment)
    for number, value in enumerate((5, 7, 7)):
        process(engine, message(number, number, value))

    def put(text: str, entry: str) -> list[tuple[object, ...]]:
        change = RegisterQuery("q0", PREFIX + text, replaces=True, found=True)
        assert RegisterQuery.decode(*change.encode()) == change
        target: Any = SimpleNamespace(engine=engine)
        outcome = change.make(target, Message(entry, b"", 1))
        return [
            (getattr(each, "id", None), each.key, each.time)
            for each in alerts_of(outcome)
            if each.kind == "query"
        ]

    assert put(HIGH.replace("4", "6"), "m9") == [("m9-0-1", "7", 2)]
    saved = dump(engine.state())
    engine = start(deployment)
    engine.restore(load(saved))
    # The alert of 7 is open already.
    assert put(HIGH, "m10") == [("m10-0-1", "5", 2)]
    assert put(HIGH.replace("> 4", "= 5"), "m11") == [(None, "7", 2)]
    (end,) = told([process(engine, message(0, 3, 1)), engine.finish()])
    assert (type(end), end.key) == (Cleared, "5")


@pytest.mark.parametrize("relation", ["", "REGISTER ISTREAM q AS "])
def test_what_a_query_has_raised_ends_with_it(relation: str, start: Start, deploy: Deploy) -> None:
    deployment = deploy(ONTOLOGY, RULES)
    engine = registered(start(deployment), PREFIX + relation + HIGH)
    process(engine, message(0, 0, 7))
    process(engine, message(1, 1, 1))
    saved = dump(engine.state())
    engine = start(deployment)
    engine.restore(load(saved))
    assert not engine.queries.alerts.ending
    engine.unregister("q0")
    outcome = engine.accepted(Message("end", b"", 1))
    (end,) = outcome.cleared
    assert (end.rule, end.kind, end.key, end.message) == ("q0", "query", None, "end")
    assert engine.accepted(Message("more", b"", 1)).cleared == ()


def test_what_another_text_of_a_query_still_finds_stays_open(started: Started) -> None:
    engine = registered(started(ONTOLOGY, RULES), PREFIX + HIGH)
    for number, value in enumerate((5, 7, 1)):
        process(engine, message(number, number, value))
    engine.queries.register("q0", PREFIX + HIGH.replace("4", "6"), "again", replaces=True)
    (end,) = engine.accepted(Message("put", b"", 1)).cleared
    assert (end.rule, end.key) == ("q0", "5")
    # Without ALERT nothing would say when the others end.
    engine.queries.register("q0", PREFIX + "SELECT * { ?r :value ?v }", "last", replaces=True)
    (end,) = engine.accepted(Message("last", b"", 1)).cleared
    assert (end.rule, end.key) == ("q0", None)


def test_a_pattern_in_time_raises_and_ends_nothing(started: Started) -> None:
    text = """SELECT ?r ?w ALERT critical "{?r} rose to {?w}" WHERE { { ?r :value ?v }
        SEQ { ?r :value ?w } FILTER(?w > ?v) }"""
    engine = registered(started(ONTOLOGY, RULES), PREFIX + text)
    outcomes = [
        process(engine, message(0, time, value)) for time, value in ((0, 1), (1, 5), (9, 2))
    ]
    found = told([*outcomes, engine.finish()])
    assert [((each.key or "").rsplit("/")[-1], each.time) for each in found] == [
        ("r-0 rose to 5", 1),
        ("r-0 rose to 2", 9),
    ]
    assert engine.queries.alerts.state() == ()


def test_of_very_many_the_last_alert_tells_how_many_there_were(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_alerts, "MOST", 2)
    engine = registered(started(ONTOLOGY, RULES), PREFIX + HIGH)
    for number in range(4):
        process(engine, message(number, 0, 5 + number))
    alerts = [each for each in told([engine.finish()]) if isinstance(each, Alert)]
    assert [each.text.rsplit("/")[-1] for each in alerts[:2]] == ["r-0 has 5", "r-1 has 6"]
    assert alerts[2].text == "2 more solutions raise no alert: at most 2 do at one time"


def test_each_graph_of_a_rule_over_time_raises_what_its_rule_says(
    start: Start, deploy: Deploy
) -> None:
    text = f"""{PREFIX}
    rule high define {{ dotr_id1 a :High ; :of ?v }}
    from A(SELECT ?v {{ ?r :value ?v FILTER(?v > 4) }}) with ?v = A.?v
    alert critical "high: {{?v}}" key "{{?v}}"
    rule low define {{ dotr_id1 a :Low ; :of ?v }} from A(SELECT ?v {{ ?r :value ?v }})
    with ?v = A.?v alert info "{{?v}}"
    rule quiet define {{ dotr_id1 a :Quiet }} from A(SELECT ?r {{ ?r :value ?v }})"""
    deployment = deploy(ONTOLOGY, RULES)
    engine = registered(start(deployment), text)
    outcomes = [process(engine, message(0, 0, 7)), process(engine, message(1, 1, 3))]
    saved = dump(engine.state())
    engine = start(deployment)
    engine.restore(load(saved))
    found = told([*outcomes, process(engine, message(2, 2, 7)), engine.finish()])
    assert all(isinstance(each, Alert) for each in found)
    assert sorted(
        (each.time, each.severity, each.text, each.key) for each in found if isinstance(each, Alert)
    ) == [
        (0, "critical", "high: 7", "high: 7"),
        (0, "info", "7", "low: 7"),
        (1, "info", "3", "low: 3"),
        (2, "critical", "high: 7", "high: 7"),
        (2, "info", "7", "low: 7"),
    ]
    assert len({each.id for each in found if isinstance(each, Alert)}) == 5
    # They end with their text.
    engine.queries.unregister("q0")
    assert engine.queries.alerts.ending
