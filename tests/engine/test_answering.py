"""Rules that ask the history, in an engine: what waits for an answer, and what an answer does."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Message
from sensorstream.model.terms import Literal
from sensorstream.rules.history_rules import MOST_WAITING
from sensorstream.rules.rule_memory import Answer, HistoryQuestion
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started

ONTOLOGY = "@prefix : <http://example.org/> ."
HEAD = """
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping reading on message {/m}
then update individual :{@id} a :Sensor at {@t} ; :value {@t} .
"""
DIGEST = """
rule digest
every "10" from history select { SELECT ?room ?n { ?s :room ?room ; :n ?n ; :at ?now } }
if select { SELECT ?v { :a :value ?v } }
then alert info "{?room} {?n} {?v} {?last}-{?now}" key "{?room}"
"""
HALL = (("n", Literal("3")), ("room", Literal("hall")))
LAB = (("room", Literal("lab")),)


def send(engine: Engine, time: int) -> Outcome:
    content = f"<m id='a' t='{time}'/>".encode()
    return feeding.process(engine, Message(f"m{time}", content, time, "a"))


def answer(
    engine: Engine,
    asked: HistoryQuestion,
    *solutions: Iterable[tuple[str, Literal]],
    failure: str = "",
) -> Outcome:
    entry = Message(f"x{asked.now}", b"", engine.now or 0)
    given = Answer(asked.rule, asked.digest, asked.moment, tuple(map(tuple, solutions)), failure)
    return engine.answer(entry, given)


def texts(outcome: Outcome) -> list[str]:
    return [alert.text for alert in outcome.alerts]


def moments(engine: Engine) -> list[tuple[int, int]]:
    return [(each.last, each.now) for each in engine.asked()]


def test_a_rule_fires_with_each_solution_of_the_answer_once(started: Started) -> None:
    engine = started(ONTOLOGY, HEAD + DIGEST)
    send(engine, 3)
    assert moments(engine) == []
    assert texts(send(engine, 12)) == []
    (asked,) = engine.asked()
    assert (asked.rule, asked.last, asked.now) == ("digest", 0, 10)
    outcome = answer(engine, asked, HALL, LAB)
    assert texts(outcome) == ["hall 3 12 0-10", "lab  12 0-10"]
    assert [(each.id, each.time) for each in outcome.alerts] == [("x10-1", 12), ("x10-2", 12)]
    assert moments(engine) == []
    # Nobody waits for it any more.
    assert texts(answer(engine, asked, HALL)) == []


def test_the_answer_to_another_question_is_nobodys(started: Started) -> None:
    engine = started(ONTOLOGY, HEAD + DIGEST)
    send(engine, 3)
    send(engine, 12)
    other = started(ONTOLOGY, HEAD + DIGEST.replace("?s :room", "?n :room", 1))
    send(other, 3)
    send(other, 12)
    assert texts(answer(other, engine.asked()[0], HALL)) == []
    assert moments(other) == [(0, 10)]


def test_each_moment_is_asked_for_and_may_be_answered_after_the_next(started: Started) -> None:
    engine = started(ONTOLOGY, HEAD + DIGEST)
    send(engine, 3)
    send(engine, 31)
    assert moments(engine) == [(0, 10), (10, 20), (20, 30)]
    _, second, third = engine.asked()
    assert texts(answer(engine, third, HALL)) == ["hall 3 31 20-30"]
    assert texts(answer(engine, second, HALL)) == ["hall 3 31 10-20 (late by PT11S)"]
    assert moments(engine) == [(0, 10)]


def test_what_waits_for_an_answer_survives_a_restart(deploy: Deploy, start: Start) -> None:
    deployment = deploy(ONTOLOGY, HEAD + DIGEST)
    engine = start(deployment)
    send(engine, 3)
    send(engine, 12)
    again = start(deployment)
    again.restore(load(dump(engine.state())))
    assert again.asked() == engine.asked() != []
    assert texts(answer(again, again.asked()[0], HALL)) == ["hall 3 12 0-10"]


def test_a_question_without_an_answer_is_told_until_it_has_one(started: Started) -> None:
    engine = started(ONTOLOGY, HEAD + DIGEST)
    send(engine, 3)
    send(engine, 12)
    outcome = answer(engine, engine.asked()[0], failure="too slow")
    (alert,) = outcome.alerts
    assert (alert.kind, alert.key) == ("rule-failed", "digest")
    assert alert.text == "the rule 'digest' fails: too slow"
    assert moments(engine) == []
    send(engine, 22)
    outcome = answer(engine, engine.asked()[0])
    assert (texts(outcome), [each.kind for each in outcome.cleared]) == ([], ["rule-failed"])


def test_an_action_that_fails_is_told_and_not_tried_again(started: Started) -> None:
    broken = DIGEST.replace("then", 'then insert individual :x ; :n "{?room}"^^xsd:integer .')
    engine = started(ONTOLOGY, HEAD + broken)
    send(engine, 3)
    send(engine, 12)
    outcome = answer(engine, engine.asked()[0], LAB)
    assert [each.kind for each in outcome.alerts] == ["passed-over", "rule-failed"]
    assert moments(engine) == []
    send(engine, 22)
    assert moments(engine) == [(10, 20)]


def test_another_question_forgets_what_waits_and_other_actions_do_not(
    deploy: Deploy, start: Start
) -> None:
    engine = start(deploy(ONTOLOGY, HEAD + DIGEST))
    send(engine, 3)
    send(engine, 12)
    engine.adopt_rules(deploy(ONTOLOGY, HEAD + DIGEST.replace("info", "warning")).rules)
    assert moments(engine) == [(0, 10)]
    engine.adopt_rules(deploy(ONTOLOGY, HEAD + DIGEST.replace("?s :room", "?t :room", 1)).rules)
    assert moments(engine) == []


def test_only_so_many_questions_wait(started: Started) -> None:
    engine = started(ONTOLOGY, HEAD + DIGEST.replace('"10"', '"1"'))
    send(engine, 1)
    send(engine, 3 * MOST_WAITING)
    assert len(engine.asked()) == MOST_WAITING
    outcome = send(engine, 3 * MOST_WAITING + 2)
    assert len(engine.asked()) == MOST_WAITING
    assert [each.kind for each in outcome.alerts][:2] == ["passed-over", "rule-failed"]
    assert "1,000 questions to the history wait" in texts(outcome)[0]
    assert len(outcome.alerts) < 10
