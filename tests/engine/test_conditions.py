"""Whole runs of messages: conditions in step and anew make the same of every rule."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import RuleError
from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Message
from sensorstream.model.terms import Triple
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_notes import evaluated_anew
from sensorstream.settings.settings import WindowSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Actor a owl:Class . :Room a owl:Class . :Alarm a owl:Class . :Marked a owl:Class .
:Human a owl:Class ; rdfs:subClassOf :Actor .
:in a owl:ObjectProperty ; rdfs:domain :Actor ; rdfs:range :Room .
:about a owl:ObjectProperty . :near a owl:ObjectProperty .
:level a owl:DatatypeProperty ; rdfs:range xsd:integer .
:size a owl:DatatypeProperty ; rdfs:range xsd:integer .
:room-1 a :Room ; :size 2 .
"""

RULES = """
prefix : <http://example.org/>
mapping person
on message {/m/p}
then update individual :{@id} a :Human at {@t} ; :level {@level} ; :in :room-{@room} .

rule crowded
on change
if select { SELECT ?r (COUNT(?p) AS ?n) { ?p :in ?r } GROUP BY ?r HAVING (COUNT(?p) > 1) }
and not ask { ASK { ?r :size ?s FILTER(?s > ?n) } }
then alert warning "{?n} in {?r}" key "{?r}" for "2"

rule company
on insert :Human as ?who
if select { SELECT ?other ?l { ?who :in ?r . ?other :in ?r FILTER(?other != ?who)
            OPTIONAL { ?other :level ?l FILTER(?l > 1) } } ORDER BY ?other LIMIT 2 }
then insert individual ?who ; :near ?other .
     alert info "{?who} meets {?other} of {?l}"

rule number
on insert :Actor as ?who
if select { SELECT ?r (COUNT(?p) AS ?n) { ?p :in ?r } GROUP BY ?r }
and select { SELECT ?top { ?top :in ?r ; :level ?l } ORDER BY DESC(?l) ?top LIMIT 1 }
and ask { ASK { FILTER NOT EXISTS { ?who :near ?someone } } }
then reply "<Number who='{?who}' room='{?r}' n='{?n}' top='{?top}'/>"

rule said
on change
if select { SELECT ?g ?x { GRAPH ?g { ?x a :Actor } } }
and not select { SELECT ?x { GRAPH <urn:sensorstream:window> { ?x a :Marked } } }
then alert info "{?x} by {?g}"

rule mark
on change
if select { SELECT ?x { ?x :level ?l FILTER(?l = 2) FILTER NOT EXISTS { ?x a :Marked } } }
then insert individual ?x a :Marked .

rule unmark
on insert :Marked as ?x
if ask { ASK { ?x :near/:near* ?y . ?y :level 1 } }
then delete { ?x :near ?y }
     sparql { INSERT { ?y :near ?x } WHERE { ?x :near ?y } }

rule gone
on expire :Human as ?x
if not ask { ASK { ?x ?p ?o } } and ask { ASK { ?y :near ?x } }
then delete { ?y :near ?x }

rule impossible
on change
if select { SELECT ?l { ?x :level ?l FILTER(?l = 9) } }
then insert individual ?l a :Alarm .
"""

messages = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.integers(0, 2),
        st.sampled_from([1, 1, 2, 3, 9, "high"]),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=15,
)


def make(deployment: Deployment, *, anew: bool) -> Engine:
    machine = feeding.machine_of(deployment)
    if anew:
        # It is prepared for no condition.
        machine.engine.evaluator = ConditionEvaluator(machine.engine.kb)
    return machine.engine


def send(engine: Engine, number: int, content: str) -> Outcome:
    message = Message(f"m{number}", content.encode(), number)
    return feeding.process(engine, message)


def graph(engine: Engine) -> dict[Triple, Origin]:
    return {t: engine.kb.origins(t) for t in engine.kb.match(None, None, None)}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages)
def test_both_evaluators_give_the_same_outcomes(
    deploy: Deploy, stream: list[tuple[str, int, object, int]]
) -> None:
    deployment = deploy(ONTOLOGY, RULES, window=WindowSettings(size="3"))
    assert not list(evaluated_anew(deployment.rules))
    kept, anew = make(deployment, anew=False), make(deployment, anew=True)
    now = 10
    try:
        for number, (name, later, level, room) in enumerate(stream, 1):
            now += later
            content = f"<m><p id='{name}' t='{now}' level='{level}' room='{room}'/></m>"
            first, second = send(kept, number, content), send(anew, number, content)
            assert first.status is second.status
            assert str(first.rejection) == str(second.rejection)
            assert (first.alerts, first.replies) == (second.alerts, second.replies)
            assert (first.departures, first.warnings) == (second.departures, second.warnings)
            assert graph(kept) == graph(anew)
    finally:
        kept.close()
        anew.close()


def test_an_engine_s_new_rules_replace_the_old_conditions(deploy: Deploy) -> None:
    deployment = deploy(ONTOLOGY, RULES, window=WindowSettings(size="3"))
    engine = make(deployment, anew=False)
    send(engine, 1, "<m><p id='a' t='1' level='1' room='1'/></m>")
    engine.evaluator.prepare([])
    send(engine, 2, "<m><p id='b' t='2' level='1' room='2'/></m>")
    engine.evaluator.prepare(rule.queries for rule in deployment.rules)
    outcome = send(engine, 3, "<m><p id='c' t='3' level='1' room='1'/></m>")
    assert "http://example.org/c meets http://example.org/a of " in [a.text for a in outcome.alerts]
    engine.close()


def test_a_rejected_message_leaves_nothing_to_settle(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make(deploy(ONTOLOGY, RULES, window=WindowSettings(size="3")), anew=False)
    settled: list[int] = []
    settle = engine.evaluator.settle

    def count() -> None:
        settled.append(len(engine.kb))
        settle()

    monkeypatch.setattr(engine.evaluator, "settle", count)
    before = len(engine.kb)
    outcome = send(engine, 1, "<m><p id='a' t='1' level='9' room='1'/></m>")
    assert isinstance(outcome.rejection, RuleError)
    assert settled[-1] == len(engine.kb) == before
    engine.close()
