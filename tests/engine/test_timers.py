"""Rules that wait, in an engine: by messages, by the clock, after a restart."""

from __future__ import annotations

import pytest

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Message
from sensorstream.settings.settings import TimeSettings, WindowSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started
from tests.engine.sensors import MAPPING, ONTOLOGY

HOT = """
rule hot
when select { SELECT ?s { ?s :value ?v FILTER(?v > 30) } } becomes true for "10"
then alert warning "{?s} {?now}" key "{?s}"
"""


def send(engine: Engine, name: str, time: int, value: int, received: int = -1) -> Outcome:
    received = time if received < 0 else received
    content = f"<m id='{name}' t='{time}' v='{value}'/>".encode()
    return feeding.process(engine, Message(f"m{received}", content, received, "a"))


def tick(engine: Engine, received: int) -> Outcome:
    return engine.tick(Message(f"k{received}", engine.dues.tick_content(received), received))


def texts(outcome: Outcome) -> list[str]:
    return [alert.text.removeprefix("http://example.org/") for alert in outcome.alerts]


def test_time_that_a_message_passes_fires_before_the_message(started: Started) -> None:
    engine = started(ONTOLOGY, MAPPING + HOT)
    send(engine, "a", 1, 31)
    send(engine, "b", 3, 31)
    # The message ends what had held until then, at later times than both were due.
    outcome = send(engine, "a", 20, 5)
    assert texts(outcome) == ["a 11", "b 13"]
    assert [(a.id, a.time, a.message) for a in outcome.alerts] == [
        ("m20-t1-1", 11, "m20"),
        ("m20-t2-1", 13, "m20"),
    ]
    assert outcome.time == 20
    assert texts(send(engine, "b", 40, 31)) == []


@pytest.mark.parametrize("silence", ["queries", "rules", "window"])
def test_the_deployment_says_what_the_clock_moves(started: Started, silence: str) -> None:
    left = "rule left on expire :Sensor as ?s then alert info 'gone {?s}'".replace("'", '"')
    engine = started(
        ONTOLOGY,
        MAPPING + HOT + left,
        window=WindowSettings(unit="time", size="15"),
        time=TimeSettings(silence=silence),
    )
    # The times of the stream are an hour behind the clock.
    send(engine, "a", 1, 31, received=3601)
    assert engine.dues.tick == {"queries": None, "rules": 3611, "window": 3611}[silence]
    if silence == "queries":
        assert engine.dues.tick_content(5000) == b""
        return
    assert engine.dues.tick_content(3610) == b""
    outcome = tick(engine, 3611)
    assert texts(outcome) == ["a 11"]
    assert outcome.alerts[0].id == "k3611-t1-1"
    assert (engine.now, len(engine.window)) == ((11, 1) if silence == "window" else (1, 1))
    if silence == "rules":
        assert engine.dues.tick is None
        return
    due = engine.dues.tick
    assert due is not None
    assert texts(tick(engine, due)) == ["gone http://example.org/a"]
    assert (len(engine.window), engine.dues.tick) == (0, None)


def test_a_timer_survives_a_restart_and_says_that_it_is_late(deploy: Deploy, start: Start) -> None:
    deployment = deploy(ONTOLOGY, MAPPING + HOT)
    engine = start(deployment)
    send(engine, "a", 1, 31)
    again = start(deployment)
    again.restore(load(dump(engine.state())))
    assert again.dues.tick == engine.dues.tick == 11
    # The server did not run when it was due.
    assert texts(tick(again, 3611)) == ["a 11 (late by PT1H)"]
    assert again.dues.tick is None
    assert texts(send(engine, "b", 3611, 0)) == ["a 11 (late by PT1H)"]


def test_rules_that_are_evaluated_every_so_often_follow_the_clock(started: Started) -> None:
    digest = 'rule digest every "10" then alert info "{?now}"'
    engine = started(ONTOLOGY, MAPPING + digest)
    send(engine, "a", 1, 31)
    assert engine.dues.tick == 10
    assert texts(tick(engine, 10)) == ["10"]
    assert texts(tick(engine, 20)) == ["20"]


def test_what_waits_for_a_lateness_waits_for_rules_too(started: Started) -> None:
    engine = started(ONTOLOGY, MAPPING + HOT, time=TimeSettings(lateness="5", idle=2))
    send(engine, "a", 1, 31)
    assert texts(tick(engine, engine.dues.tick or 0)) == []  # it is released now
    # Until 16 a message from before 11 may come.
    due = engine.dues.tick
    assert due is not None
    assert due >= 16
    assert texts(tick(engine, due)) == ["a 11"]


def test_what_fails_is_told_and_not_tried_again(started: Started) -> None:
    broken = """
rule broken
when select { SELECT ?s ?v { ?s :value ?v FILTER(?v > 30) } } becomes true for "10"
then insert individual :{?s} ; :value "{?s}"^^xsd:integer .
"""
    engine = started(ONTOLOGY, MAPPING + broken + HOT)
    send(engine, "a", 1, 31)
    outcome = tick(engine, 11)
    # The other rule of the same moment has its turn.
    assert [(alert.kind, alert.id) for alert in outcome.alerts] == [
        ("passed-over", "k11-t1-1-passed"),
        ("rule-failed", "k11-t1-1-rule"),
        ("rule", "k11-t1-2-1"),
    ]
    assert "what was due at 11 is passed over" in outcome.alerts[0].text
    assert texts(outcome)[2:] == ["a 11"]
    assert engine.dues.tick is None
    assert texts(send(engine, "b", 30, 3)) == []


def test_rules_that_wake_each_other_end(started: Started) -> None:
    chain = """
rule chain
when select { SELECT ?s { ?s :value ?v } } becomes true for "1"
then update individual :next-{new} ; :value 1 .
"""
    engine = started(ONTOLOGY, MAPPING + chain, window=WindowSettings(size="3"))
    send(engine, "a", 1, 31)
    send(engine, "b", 1_000_000, 3)
    assert len(engine.window) == 3


def test_each_rule_of_a_moment_has_a_turn_when_others_fail(started: Started) -> None:
    broken = 'rule b{} every "10" then insert individual :b ; :value "x{{?now}}"^^xsd:integer . '
    digest = 'rule digest every "10" then alert info "{?now}" '
    engine = started(ONTOLOGY, MAPPING + broken.format(1) + digest + broken.format(2) + HOT)
    send(engine, "a", 1, 31)
    outcome = tick(engine, 20)
    told = [each for each in outcome.alerts if each.kind != "rule-failed"]
    assert [(each.kind, each.id, each.time) for each in told] == [
        ("passed-over", "k20-t1-1-passed", 10),
        ("rule", "k20-t1-2-1", 10),
        ("rule", "k20-t2-1", 11),
        ("rule", "k20-t3-2-1", 20),
    ]
    assert engine.dues.tick == 30
