"""Rules at times of a clock, in an engine: by messages, by the clock, after a restart."""

from __future__ import annotations

from sensorstream.app.control.wiring import Deployment
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import TimeSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started

ONTOLOGY = "@prefix : <http://example.org/> ."
HEAD = """
prefix : <http://example.org/>
mapping job on message {/job} then update individual :{@id} a :Job at {@t} ; :state {@state} .
"""
MORNING = """
rule morning
every day at "07:00" in "Europe/Vienna"
if select { SELECT (COUNT(?job) AS ?n) { ?job :state "failed" } }
then alert info "{?n} by {?now}" key "morning"
"""
AT = Timeline.DATETIME.instant


def send(engine: Engine, name: str, state: str, time: str) -> Outcome:
    content = f"<job id='{name}' state='{state}' t='{time}'/>".encode()
    return feeding.process(engine, Message(f"m-{time}", content, AT(time), "a"))


def tick(engine: Engine, time: str) -> Outcome:
    received = AT(time)
    return engine.tick(Message(f"k-{time}", engine.dues.tick_content(received), received))


def texts(outcome: Outcome) -> list[str]:
    return [alert.text for alert in outcome.alerts]


def deployed(deploy: Deploy, silence: str = "rules") -> Deployment:
    time = TimeSettings(line="datetime", silence=silence)
    return deploy(ONTOLOGY, HEAD + MORNING, time=time)


def test_the_state_of_the_moment_counts_not_that_of_the_message_that_tells_of_it(
    deploy: Deploy, start: Start
) -> None:
    engine = start(deployed(deploy, "queries"))
    assert texts(send(engine, "a", "failed", "2026-03-28T20:00:00Z")) == []
    outcome = send(engine, "b", "failed", "2026-03-29T09:00:00Z")
    assert texts(outcome) == ["1 by 2026-03-29T05:00:00Z"]
    assert outcome.alerts[0].time == AT("2026-03-29T05:00:00Z")
    assert engine.dues.tick is None


def test_a_time_of_the_clock_comes_when_no_message_does(deploy: Deploy, start: Start) -> None:
    engine = start(deployed(deploy))
    send(engine, "a", "failed", "2026-03-28T20:00:00Z")
    assert engine.dues.tick == AT("2026-03-29T05:00:00Z")
    assert texts(tick(engine, "2026-03-29T04:59:59Z")) == []
    assert texts(tick(engine, "2026-03-29T05:00:00Z")) == ["1 by 2026-03-29T05:00:00Z"]
    assert engine.dues.tick == AT("2026-03-30T05:00:00Z")


def test_what_was_missed_is_told_once_for_each_moment_with_how_late(
    deploy: Deploy, start: Start
) -> None:
    deployment = deployed(deploy)
    engine = start(deployment)
    send(engine, "a", "failed", "2026-03-28T20:00:00Z")
    again = start(deployment)
    again.restore(load(dump(engine.state())))
    # The server did not run for two mornings.
    assert texts(tick(again, "2026-03-30T08:00:00Z")) == [
        "1 by 2026-03-29T05:00:00Z (late by P1DT3H)",
        "1 by 2026-03-30T05:00:00Z (late by PT3H)",
    ]
    assert again.dues.tick == AT("2026-03-31T05:00:00Z")
    assert texts(send(again, "b", "failed", "2026-03-30T09:00:00Z")) == []


def test_a_rule_that_fails_at_its_time_is_tried_the_next_day(started: Started) -> None:
    broken = MORNING.replace("then alert", 'then insert individual :x ; :n "{?now}"^^:no . alert')
    broken = broken.replace("^^:no", "^^<http://www.w3.org/2001/XMLSchema#integer>")
    time = TimeSettings(line="datetime", silence="rules")
    engine = started(ONTOLOGY, HEAD + broken, time=time)
    send(engine, "a", "failed", "2026-03-28T20:00:00Z")
    outcome = tick(engine, "2026-03-29T05:00:00Z")
    assert [each.kind for each in outcome.alerts] == ["passed-over", "rule-failed"]
    assert engine.dues.tick == AT("2026-03-30T05:00:00Z")


def test_a_rule_that_is_put_has_no_moments_from_before_it(deploy: Deploy, start: Start) -> None:
    time = TimeSettings(line="datetime", silence="rules")
    engine = start(deploy(ONTOLOGY, HEAD, time=time))
    send(engine, "a", "failed", "2026-03-28T20:00:00Z")
    # A morning has passed without a message when the rule comes.
    engine.adopt_rules(deployed(deploy).rules, AT("2026-03-29T08:00:00Z"))
    assert engine.dues.tick == AT("2026-03-30T05:00:00Z")
    assert texts(tick(engine, "2026-03-30T05:00:00Z")) == ["1 by 2026-03-30T05:00:00Z"]
