"""Why statements hold, of a whole application."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sensorstream.app.why.present_state import WhyHeld
from sensorstream.app.why.reasons import Reason
from sensorstream.errors import QueryError
from sensorstream.model.events import Basis
from sensorstream.settings.settings import ReasoningSettings, Settings
from tests.app.conftest import Deploy, Open
from tests.app.test_reasons import send, shown
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
:Guest a owl:Class ; rdfs:subClassOf :Person . :Person a owl:Class ; rdfs:subClassOf :Agent .
:Agent a owl:Class . :Crowd a owl:Class . :Room a owl:Class .
:in a owl:ObjectProperty, owl:TransitiveProperty . :hall a :Room ; :in :house .
"""
RULES = """
prefix : <http://example.org/>
mapping thing
on message {/t}
then update individual :{@id} a :{@kind} ; :in :{@in} .
rule crowd
on insert :Person as ?p
if select { SELECT ?r { ?p :in ?r } }
then insert individual ?r a :Crowd .
"""


@pytest.fixture
def rooms(deploy: Deploy) -> Settings:
    return deploy(ONTOLOGY, RULES, "5")


def held(why: WhyHeld) -> Reason:
    assert why.held is not None
    return why.held


def told(each: Reason, indent: str = "") -> Iterator[str]:
    """A derivation as lines: each statement with its basis, its message and its rule."""
    matched = each.matched
    by = "" if each.by is None else f" by {each.by.rule}"
    above = " above" if each.above else ""
    message = f" {matched.message}" if matched.message else ""
    yield f"{indent}{shown(matched.triple)}: {matched.basis.value}{message}{by}{above}"
    if each.by is not None:
        for premise in each.by.premises:
            yield from told(premise, indent + " ")


@pytest.mark.parametrize(
    ("profile", "rule", "schema"), [("rdfs", "rdfs9", "rdfs11"), ("plain", "rdfs9", "rdfs11")]
)
def test_an_inferred_statement_is_derived_from_what_messages_and_ontology_say(
    rooms: Settings, open_application: Open, profile: str, rule: str, schema: str
) -> None:
    application = open_application(replace(rooms, reasoning=ReasoningSettings(profile=profile)))
    message = send(application, "<t id='ann' kind='Guest' in='hall'/>", "door")
    why = application.holding.why(":ann a :Agent")
    assert (why.profile, why.notes) == (profile, ())
    assert list(told(held(why))) == [
        f"ann type Agent: inferred by {rule}",
        f" Guest subClassOf Agent: inferred by {schema}",
        "  Guest subClassOf Person: ontology",
        "  Person subClassOf Agent: ontology",
        f" ann type Guest: said {message}",
    ]
    assert held(why).caused_by == message
    by = held(why).by
    assert by is not None
    said = by.premises[1]
    assert (said.source, said.places[0].rule) == ("door", "thing")
    assert said.places[0].value[0].nodes[0].path == "/t/@kind"
    assert [(name, value) for name, value in by.bindings if name == "d"] == [
        ("d", "http://example.org/Agent")
    ]
    assert by.position.line > 1
    agent = why.statement
    assert application.holding.rules_behind([agent, said.matched.triple]) == {agent: rule}
    assert by.text.startswith("INSERT {")
    assert "subClassOf" in by.text


def test_a_statement_is_said_by_messages_of_the_ontology_or_not_there(
    rooms: Settings, open_application: Open
) -> None:
    application = open_application(rooms)
    send(application, "<t id='ann' kind='Guest' in='hall'/>")
    why = application.holding.why
    assert list(told(held(why(":ann :in :hall")))) == ["ann in hall: said m1"]
    assert list(told(held(why("<http://example.org/hall> a :Room .")))) == [
        "hall type Room: ontology"
    ]
    assert why(":ann :in :kitchen").held is None
    ruled = held(why(":hall a :Crowd"))
    assert (ruled.matched.basis, ruled.rules) == (Basis.SAID, ("crowd",))
    with pytest.raises(QueryError, match="statement:1:1: expected one statement"):
        why(":ann ?p :kitchen")


def test_a_chain_is_followed_and_a_step_is_told_once(
    rooms: Settings, open_application: Open
) -> None:
    application = open_application(replace(rooms, reasoning=ReasoningSettings(profile="owl2rl")))
    ann = send(application, "<t id='ann' kind='Guest' in='bed'/>")
    bed = send(application, "<t id='bed' kind='Room' in='hall'/>")
    lines = list(told(held(application.holding.why(":ann :in :house"))))
    assert lines[0] == "ann in house: inferred by prp-trp"
    leaves = {line.strip() for line in lines if " by " not in line}
    assert leaves == {
        "in type TransitiveProperty: ontology",
        f"ann in bed: said {ann}",
        f"bed in hall: said {bed}",
        "hall in house: ontology",
    }


@pytest.mark.parametrize("profile", ["hermit", "pellet"])
def test_what_hermit_and_pellet_infer_has_statements_and_axioms(
    rooms: Settings, open_application: Open, profile: str
) -> None:
    application = open_application(replace(rooms, reasoning=ReasoningSettings(profile=profile)))
    send(application, "<t id='bed' kind='Room' in='hall'/>")
    send(application, "<t id='ann' kind='Guest' in='bed'/>", "door")
    why = application.holding.why(":ann :in :house")
    assert why.notes == ()
    assert why.answer == "it is inferred: the statements and axioms below entail it together"
    found = held(why).entailed
    assert found is not None
    assert sorted(line for each in found.premises for line in told(each)) == [
        "ann in bed: said m2",
        "bed in hall: said m1",
    ]
    assert found.premises[0].places[0].rule == "thing"
    assert set(found.axioms) == {"hall in house", "Transitive: in"}


def test_what_nothing_infers_does_not_hold(rooms: Settings, open_application: Open) -> None:
    application = open_application(replace(rooms, reasoning=ReasoningSettings(profile="none")))
    send(application, "<t id='ann' kind='Guest' in='hall'/>")
    assert application.holding.why(":ann a :Person").held is None
