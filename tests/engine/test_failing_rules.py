"""A rule that fails raises an alert of its own, which ends when it fires again, or is removed."""

from __future__ import annotations

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry_effects import alerts_of
from sensorstream.model.events import Cleared, Message, Status
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started

ONTOLOGY = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Sensor a owl:Class . :value a owl:DatatypeProperty . :number a owl:DatatypeProperty .
"""
RULES = """
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping value on message {/m}
then insert individual :{@id} a :Sensor ; :value {@v} .
rule calm on insert :Sensor as ?s
if ask { ASK { ?s :value "calm" } }
then reply "<calm/>"
rule number on insert :Sensor as ?s
if select { SELECT ?v { ?s :value ?v FILTER(?v != "calm") } }
then insert individual :{?s} ; :number "{?v}"^^xsd:integer .
"""


def send(engine: Engine, time: int, value: str, *, refused: bool = False) -> Outcome:
    name = f"m{time}"
    content = f"<m id='s{time}' v='{value}'/>".encode()
    return feeding.process(engine, Message(name, content, time), {name} if refused else ())


def told(outcome: Outcome) -> list[tuple[str, str]]:
    return [
        ("cleared" if isinstance(each, Cleared) else each.id, f"{each.kind} {each.key}")
        for each in alerts_of(outcome)
    ]


def test_it_is_told_once_and_ends_when_the_rule_fires(deploy: Deploy, start: Start) -> None:
    deployment = deploy(ONTOLOGY, RULES)
    engine = start(deployment)
    failed = send(engine, 1, "x")
    assert failed.status is Status.REJECTED
    assert told(failed) == [("m1-1", "rejected-message rule"), ("m1-rule", "rule-failed number")]
    assert "the rule 'number' fails: " in failed.alerts[1].text
    assert told(send(engine, 2, "y")) == []
    # Another rule that fires, or a message that the rule has nothing to do with, ends nothing.
    assert told(send(engine, 3, "calm")) == []
    again = start(deployment)
    again.restore(load(dump(engine.state())))
    for each in (engine, again):
        assert told(send(each, 4, "5")) == [("cleared", "rule-failed number")]
        assert told(send(each, 5, "6")) == []
        assert ("m6-rule", "rule-failed number") in told(send(each, 6, "z"))


def test_a_replay_that_passes_over_the_message_tells_the_end_too(started: Started) -> None:
    engine = started(ONTOLOGY, RULES)
    assert told(send(engine, 1, "x", refused=True)) == []
    assert told(send(engine, 2, "5")) == [("cleared", "rule-failed number")]
    assert told(send(engine, 3, "6")) == []


def test_it_ends_with_the_rule(deploy: Deploy, start: Start) -> None:
    engine = start(deploy(ONTOLOGY, RULES))
    send(engine, 1, "x")
    engine.adopt_rules([rule for rule in deploy(ONTOLOGY, RULES).rules if rule.name == "calm"])
    outcome = engine.accepted(Message("rules", b"", 2))
    assert told(outcome) == [("cleared", "rule-failed number")]
    assert told(engine.accepted(Message("more", b"", 3))) == []
