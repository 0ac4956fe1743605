"""The loop: messages in, outcomes out, and nothing left behind by those that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import read_deployment
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    Inconsistent,
    InternalFault,
    MalformedMessage,
    MappingError,
    RuleCycle,
)
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf
from sensorstream.model.events import Message, Status
from sensorstream.model.terms import IRI, Triple
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from tests.engine import feeding
from tests.prefixes import TURTLE

EX = "http://example.org/"

ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Thing1 a owl:Class . :Actor a owl:Class . :Room a owl:Class . :Alarm a owl:Class .
:Human a owl:Class ; rdfs:subClassOf :Actor ; owl:disjointWith :Room .
:Guard a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( :Human
  [ a owl:Restriction ; owl:onProperty :level ; owl:someValuesFrom
    [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
      owl:withRestrictions ( [ xsd:minInclusive 5 ] ) ] ] ) ] .
:in a owl:ObjectProperty ; rdfs:domain :Actor ; rdfs:range :Room .
:level a owl:DatatypeProperty ; rdfs:range xsd:integer .
"""

MAPPING = """
prefix : <http://example.org/>
mapping person
on message {/m/p}
then update individual :{@id} a :Human at {@t} ; :level {@level} ; :in :room-{@room} .
"""


def iri(name: str) -> IRI:
    return IRI(EX + name)


Make = Callable[..., Engine]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    engines: list[Engine] = []

    def new(
        rules: str = "", *, size: str = "10", rounds: int = 4, profile: str = "plain"
    ) -> Engine:
        (tmp_path / "o.ttl").write_text(ONTOLOGY)
        (tmp_path / "r.rules").write_text(MAPPING + rules)
        deployment = Settings(
            tmp_path / "sensorstream.toml",
            ontology=OntologySettings((tmp_path / "o.ttl",)),
            rules=RuleSettings((tmp_path / "r.rules",), rounds),
            window=WindowSettings(size=size),
            reasoning=ReasoningSettings(profile),
        )
        machine = feeding.machine_of(read_deployment(deployment))
        engines.append(machine.engine)
        return machine.engine

    yield new
    for engine in engines:
        engine.close()


def send(engine: Engine, number: int, content: str) -> Outcome:
    message = Message(f"m{number}", content.encode(), number)
    return feeding.process(engine, message)


def person(name: str, at: int, level: object = 1, room: int = 1) -> str:
    return f"<m><p id='{name}' t='{at}' level='{level}' room='{room}'/></m>"


def graph(engine: Engine) -> dict[Triple, Origin]:
    kb = engine.kb
    return {t: kb.origins(t) for t in kb.match(None, None, None)}


def test_a_message_becomes_an_individual_with_what_follows_from_the_ontology(make: Make) -> None:
    engine = make()
    outcome = send(engine, 1, person("a", 5))
    assert outcome.status is Status.ACCEPTED
    assert (outcome.matched, outcome.individuals) == (("person",), (iri("a"),))
    assert engine.kb.origins((iri("a"), rdf.TYPE, iri("Human"))) == Origin.WINDOW
    assert engine.kb.origins((iri("a"), rdf.TYPE, iri("Actor"))) == Origin.INFERRED
    assert (iri("room-1"), rdf.TYPE, iri("Room")) in engine.kb
    assert set(outcome.timings) == {"t_i", "t_w", "t_m", "t_s"}
    assert all(seconds > 0 for seconds in outcome.timings.values())


def test_what_expires_departs_with_its_inferences_and_leaves_none_behind(make: Make) -> None:
    engine = make(size="1")
    empty = graph(engine)
    send(engine, 1, person("a", 1))
    (gone,) = send(engine, 2, person("b", 2, room=2)).departures
    assert gone.individual.name == iri("a")
    assert gone.expired_at == 2
    assert (iri("a"), rdf.TYPE, iri("Actor")) in gone.inferred
    assert (iri("a"), rdf.TYPE, iri("Actor")) not in engine.kb
    assert (iri("room-1"), rdf.TYPE, iri("Room")) not in engine.kb
    assert len(empty) + 5 == len(graph(engine))


def test_an_update_of_a_known_individual_supersedes_its_old_values(make: Make) -> None:
    engine = make()
    send(engine, 1, person("a", 1, level=1))
    outcome = send(engine, 2, person("a", 2, level=7))
    levels = [t[2].value for t in engine.kb.match(iri("a"), iri("level"), None)]  # type: ignore[union-attr]
    assert levels == [7]
    assert [old.triple[1] for old in outcome.ended] == [iri("level")]


@pytest.mark.parametrize("profile", ["none", "plain"])
def test_a_late_update_says_what_of_it_is_not_as_in_order(make: Make, profile: str) -> None:
    engine = make(profile=profile)
    assert send(engine, 1, person("a", 5)).warnings == ()
    assert send(engine, 2, person("b", 5)).warnings == ()
    (told,) = send(engine, 3, person("a", 3)).warnings
    assert told.startswith("late-update: its time 3 is before 5, the latest so far")
    assert ("rereason --from 3 --to 5 --apply" in told) == (profile == "plain")
    assert send(engine, 4, person("a", 6)).warnings == ()


def test_a_message_nothing_matches_is_kept_and_loud(make: Make) -> None:
    engine = make()
    before = graph(engine)
    outcomes = [send(engine, n, "<n><p/></n>") for n in range(1, 12)]
    assert {o.status for o in outcomes} == {Status.UNMATCHED}
    assert "no mapping rule matched" in outcomes[0].warnings[0]
    assert [len(o.alerts) for o in outcomes] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    assert outcomes[0].alerts[0].kind == "unmatched-message"
    assert outcomes[9].alerts[0].text.endswith("(10 times by now)")
    assert graph(engine) == before


def test_a_message_with_a_bad_value_changes_nothing(make: Make) -> None:
    engine = make(size="1")
    send(engine, 1, person("a", 1))
    before = graph(engine)
    outcome = send(engine, 2, person("b", 2, level="high"))
    assert outcome.status is Status.REJECTED
    assert isinstance(outcome.rejection, MappingError)
    assert outcome.alerts[0].kind == "rejected-message"
    assert graph(engine) == before
    assert [i.name for i in engine.window] == [iri("a")]


CYCLE = """
rule ping
on insert :Human as ?x
then insert individual :alarm-{new} a :Alarm .

rule pong
on insert :Alarm as ?x
then insert individual :human-{new} a :Human .
"""


def test_rules_that_run_in_a_circle_are_named_and_leave_no_trace(make: Make) -> None:
    engine = make(CYCLE, size="2")
    before = graph(engine)
    outcome = send(engine, 1, person("a", 1))
    assert isinstance(outcome.rejection, RuleCycle)
    assert "ping" in str(outcome.rejection)
    assert "pong" in str(outcome.rejection)
    assert graph(engine) == before
    assert len(engine.window) == 0
    assert outcome.departures == ()


ONCE = """
rule one-alarm
on change
if exists :Human and not exists :Alarm
then insert individual :alarm-{new} a :Alarm .
     alert warning "someone is here" key "here"
     reply "<Lamp on='true'/>"
"""


def test_a_semantic_rule_acts_once_its_condition_holds(make: Make) -> None:
    engine = make(ONCE)
    first, second = send(engine, 1, person("a", 1)), send(engine, 2, person("b", 2))
    assert [a.text for a in first.alerts] == ["someone is here"]
    assert first.replies == ("<Lamp on='true'/>",)
    assert engine.kb.count(rdf.TYPE, iri("Alarm")) == 1
    assert (second.alerts, second.replies) == ((), ())


def test_what_a_rule_inserts_takes_a_place_in_the_window(make: Make) -> None:
    engine = make(ONCE, size="1")
    outcome = send(engine, 1, person("a", 1))
    assert [d.individual.name for d in outcome.departures] == [iri("a")]


@pytest.mark.parametrize("profile", ["hermit", "pellet"])
def test_a_message_that_contradicts_the_ontology_changes_nothing(make: Make, profile: str) -> None:
    engine = make(size="2", profile=profile)
    send(engine, 1, person("a", 1, level=7))
    assert (iri("a"), rdf.TYPE, iri("Guard")) in engine.kb
    before = graph(engine)
    outcomes = [send(engine, n, person("room-1", n)) for n in (2, 3)]
    assert all(isinstance(each.rejection, Inconsistent) for each in outcomes)
    assert [each.alerts[0].kind for each in outcomes] == ["inconsistency", "inconsistency"]
    assert graph(engine) == before
    assert send(engine, 5, person("b", 5)).departures == ()
    (gone,) = send(engine, 6, person("c", 6)).departures
    assert (iri("a"), rdf.TYPE, iri("Guard")) in gone.inferred


BY_RULES = "owl2rl, owl2rl-unsatisfiable"


def test_rule_sets_infer_and_refuse_as_a_reasoner_does(make: Make) -> None:
    engine = make(size="2", profile=BY_RULES)
    send(engine, 1, person("a", 1, level=7))
    assert (iri("room-1"), rdf.TYPE, iri("Room")) in engine.kb
    before = graph(engine)
    for number in (2, 3):
        refused = send(engine, number, person("room-1", number))
        assert isinstance(refused.rejection, Inconsistent)
        assert "cax-dw" in str(refused.rejection)
        assert graph(engine) == before
    send(engine, 4, person("b", 4, room=2))
    send(engine, 5, person("c", 5, room=3))
    assert (iri("room-1"), rdf.TYPE, iri("Room")) not in engine.kb


def test_a_checkpoint_of_an_engine_with_rule_sets_goes_on_as_it_would(make: Make) -> None:
    engine, other = make(size="2", profile=BY_RULES), make(size="2", profile=BY_RULES)
    send(engine, 1, person("a", 1))
    other.restore(load(dump(engine.state())))
    assert graph(other) == graph(engine)
    for each in (engine, other):
        send(each, 2, person("room-1", 2))
        send(each, 3, person("b", 3, room=2))
        send(each, 4, person("c", 4, room=2))
    assert graph(other) == graph(engine)


def test_a_fault_of_our_own_costs_one_message(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = make(size="1")
    send(engine, 1, person("a", 1))
    before = graph(engine)
    with monkeypatch.context() as patch:
        patch.setattr("sensorstream.engine.message_run.run_rules", lambda *_, **__: 1 / 0)
        outcome = send(engine, 2, person("b", 2))
    assert isinstance(outcome.rejection, InternalFault)
    assert outcome.rejection.message_id == "m2"
    assert "ZeroDivisionError" in str(outcome.rejection)
    assert "a fault of our own at message m2" in caplog.text
    assert graph(engine) == before
    assert send(engine, 3, person("b", 3)).status is Status.ACCEPTED


def test_malformed_messages_are_refused_before_anything_happens(make: Make) -> None:
    with pytest.raises(MalformedMessage):
        feeding.mapper_of(make()).read(b"<m>")


def test_an_engine_goes_on_from_its_checkpoint_as_if_it_had_never_stopped(make: Make) -> None:
    old = make(ONCE, size="3")
    stream = [person(f"p{n % 5}", n, level=n, room=n % 2) for n in range(1, 30)]
    stream.insert(4, "<unmatched/>")
    for n, content in enumerate(stream[:15], 1):
        send(old, n, content)
    new = make(ONCE, size="3")
    new.restore(load(dump(old.state())))
    assert graph(new) == graph(old)
    for n, content in enumerate(stream[15:], 16):
        first, second = send(old, n, content), send(new, n, content)
        assert first == second
        assert graph(new) == graph(old)


moves = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from([0, 1, 1, 2, -1]),
        st.sampled_from([1, 2, 9, "high"]),
        st.integers(1, 2),
    ),
    max_size=12,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves)
def test_the_knowledge_base_is_always_what_window_and_ontology_give(
    make: Make, stream: list[tuple[str, int, object, int]]
) -> None:
    engine, now = make(ONCE, size="3"), 10
    for number, (name, shift, level, room) in enumerate(stream, 1):
        send(engine, number, person(name, now + shift, level, room))
        now = max(now, now + shift)
        held = {t for each in engine.window for t in each.statements}
        assert set(engine.kb.triples(Origin.WINDOW)) == held
        fresh = make(ONCE, size="3")
        fresh.restore(engine.state())
        assert set(engine.kb.triples(Origin.INFERRED)) == set(fresh.kb.triples(Origin.INFERRED))
