"""The intervals of what is inferred: beginnings, ends, and whose stay they belong to."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model import rdf
from sensorstream.model.events import Ended, Message, Status
from sensorstream.model.terms import IRI, Literal
from sensorstream.settings.settings import ReasoningSettings, WindowSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started
from tests.engine.test_engine import iri
from tests.prefixes import TURTLE

EX = "http://example.org/"
ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Actor a owl:Class . :Room a owl:Class . :Human a owl:Class ; rdfs:subClassOf :Actor .
:Busy a owl:Class .
:in a owl:ObjectProperty ; rdfs:domain :Actor ; rdfs:range :Room .
:doing a owl:ObjectProperty ; rdfs:domain :Busy .
:name a owl:DatatypeProperty ; rdfs:range xsd:string .
"""
MAPPING = """
prefix : <http://example.org/>
mapping person on message {/m/p}
then update individual :{@id} a :Human at {@t} ; :in :{@room} .

mapping work on message {/m/w}
then update individual :{@id} at {@t} ; :doing :{@work} .

mapping room on message {/m/r}
then update individual :{@id} at {@t} ; :name {@name} .
"""
IDLE = """
rule idle on message then delete { ?x :doing :nothing }
"""
REST = """
rule rest on change if ask { ASK { :rest :name ?n } } then delete { ?x :doing ?y }
"""
CIRCLE = """
rule more on insert :Busy as ?x then insert individual :more-{new} a :Busy .
"""


def send(engine: Engine, number: int, content: str) -> Outcome:
    return feeding.process(engine, Message(f"m{number}", content.encode(), number))


def person(name: str, at: int, room: str = "hall") -> str:
    return f"<m><p id='{name}' t='{at}' room='{room}'/></m>"


def spans(ended: Iterable[Ended]) -> set[tuple[str, int, int, int, str]]:
    """What class or value ended: its name, its stay, from, to, and the cause."""
    found = set()
    for each in ended:
        subject, _, value = each.triple
        assert isinstance(subject, IRI)
        assert each.inferred
        assert not isinstance(value, Literal)
        told = f"{subject.removeprefix(EX)} {value.removeprefix(EX)}"
        found.add((told, each.stay, each.valid_from, each.valid_to, each.provenance.message))
    return found


def inferred(outcome: Outcome) -> set[tuple[str, int, int, int, str]]:
    return spans(each for each in outcome.ended if each.inferred)


@pytest.fixture
def engine(started: Started) -> Engine:
    return started(ONTOLOGY, MAPPING, window=WindowSettings(size="2"))


def test_an_inference_holds_until_the_individual_leaves(engine: Engine) -> None:
    send(engine, 1, person("a", 10))
    send(engine, 2, person("b", 11))
    assert inferred(send(engine, 3, person("c", 12))) == {("a Actor", 1, 10, 12, "m1")}


def test_an_inference_ends_with_its_reason_while_the_individual_stays(started: Started) -> None:
    engine = started(ONTOLOGY, MAPPING + REST, window=WindowSettings(size="2"))
    send(engine, 1, person("a", 10))
    send(engine, 2, "<m><w id='a' t='12' work='chess'/></m>")
    assert (iri("a"), rdf.TYPE, iri("Busy")) in engine.kb
    outcome = send(engine, 3, "<m><r id='rest' t='15' name='now'/></m>")
    assert inferred(outcome) == {("a Busy", 1, 12, 15, "m2")}


def test_what_is_about_no_individual_belongs_to_no_stay(engine: Engine) -> None:
    send(engine, 1, person("a", 10, "hall"))
    told = inferred(send(engine, 2, person("a", 13, "attic")))
    assert told == {("hall Room", 0, 10, 13, "m1")}


def test_an_individual_that_enters_takes_what_is_inferred_of_it_into_its_stay(
    engine: Engine,
) -> None:
    send(engine, 1, person("a", 10, "hall"))
    entering = send(engine, 2, "<m><r id='hall' t='12' name='Hall'/></m>")
    assert inferred(entering) == {("hall Room", 0, 10, 12, "m1")}
    send(engine, 3, person("a", 13, "hall"))
    leaving = send(engine, 4, person("b", 15, "hall"))
    assert inferred(leaving) == {("hall Room", 2, 12, 15, "m2")}
    send(engine, 5, person("a", 16, "attic"))
    told = inferred(send(engine, 6, person("b", 18, "attic")))
    assert told == {("hall Room", 0, 15, 18, "m4")}


def test_what_begins_and_ends_at_one_instant_is_not_kept(started: Started) -> None:
    engine = started(ONTOLOGY, MAPPING + IDLE, window=WindowSettings(size="2"))
    send(engine, 1, person("a", 10))
    outcome = send(engine, 2, "<m><w id='a' t='12' work='nothing'/></m>")
    assert inferred(outcome) == set()
    assert [each.triple[1] for each in outcome.ended] == [iri("doing")]


@pytest.mark.parametrize("profile", ["plain", "hermit"])
def test_a_rejected_message_leaves_the_beginnings_as_they_were(
    started: Started, profile: str
) -> None:
    reasoning = ReasoningSettings(profile)
    window = WindowSettings(size="2")
    engine = started(ONTOLOGY, MAPPING + CIRCLE, window=window, reasoning=reasoning)
    send(engine, 1, person("a", 10))
    send(engine, 2, person("b", 11))
    before = engine.state().inferred
    assert before
    assert send(engine, 3, "<m><w id='c' t='12' work='this'/></m>").status is Status.REJECTED
    assert engine.state().inferred == before
    told = inferred(send(engine, 4, person("c", 12)))
    assert told == {("a Actor", 1, 10, 12, "m1")}


def test_beginnings_survive_a_restart(deploy: Deploy, start: Start) -> None:
    deployment = deploy(ONTOLOGY, MAPPING, window=WindowSettings(size="2"))
    first = start(deployment)
    send(first, 1, person("a", 10, "hall"))
    send(first, 2, person("b", 11, "attic"))
    again = start(deployment)
    again.restore(load(dump(first.state())))
    assert sorted(map(repr, again.state().inferred or ())) == sorted(
        map(repr, first.state().inferred or ())
    )
    third = person("c", 14, "attic")
    assert inferred(send(again, 3, third)) == inferred(send(first, 3, third))


def test_what_another_ontology_no_longer_entails_ends_at_the_restart(started: Started) -> None:
    first = started(ONTOLOGY, MAPPING, window=WindowSettings(size="3"))
    send(first, 1, person("a", 10, "hall"))
    state = load(dump(first.state()))
    less = ONTOLOGY.replace("; rdfs:range :Room", "")
    again = started(less, MAPPING, window=WindowSettings(size="3"))
    again.restore(state)
    told = inferred(send(again, 2, person("b", 14, "hall")))
    assert told == set(), "no time has passed since it began"
    send(first, 2, person("b", 14, "hall"))
    later = started(less, MAPPING, window=WindowSettings(size="3"))
    later.restore(load(dump(first.state())))
    assert inferred(send(later, 3, person("c", 16, "hall"))) == {("hall Room", 0, 10, 14, "m1")}
