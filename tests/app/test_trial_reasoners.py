"""A trial reasons as the server does, by a process of its own that the next trial uses again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
)
from tests.app.conftest import Open
from tests.app.test_exchange import is_reasoner
from tests.prefixes import TURTLE

# Who is an actor is a guard by a definition, which the plain profile does not read.
ONTOLOGY = f"""{TURTLE}
:Human a owl:Class . :level a owl:DatatypeProperty .
:Guard owl:equivalentClass [ a owl:Restriction ; owl:onProperty :level ; owl:hasValue 7 ] ;
    a owl:Class . :Visitor a owl:Class ; owl:disjointWith :Guard .
"""
RULES = """prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping person on message {/p}
then update individual :{@id} a :{@kind} at {@t} ; :level {@level}^^xsd:integer .
rule guards on insert :Guard as ?x then alert warning "%s"
"""
MESSAGE = b"<p id='a' t='1' kind='%s' level='7'/>"


@pytest.fixture
def defined(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "map.rules").write_text(RULES % "a guard")
    return replace(
        settings,
        ontology=OntologySettings((tmp_path / "o.ttl",)),
        rules=RuleSettings((tmp_path / "map.rules",)),
        reasoning=ReasoningSettings("hermit", explain=0),
    )


def reasoners() -> set[int]:
    children = psutil.Process().children(recursive=True)
    return {each.pid for each in children if is_reasoner(each)}


def test_a_trial_infers_what_the_server_does_and_keeps_its_process_for_the_next(
    defined: Settings, open_application: Open
) -> None:
    others = reasoners()
    application = open_application(defined)
    book = application.rulebook
    running = reasoners()
    tried = book.try_message(MESSAGE % b"Human", "test", {})
    taken = application.submit(MESSAGE % b"Human", "test").result(60)
    assert tried.reasoner == "hermit"
    assert (
        [each.text for each in tried.alerts] == [each.text for each in taken.alerts] == ["a guard"]
    )
    assert ("http://example.org/a", "http://example.org/Guard") in {
        (s, o) for s, _, o in tried.inferred
    }
    (own,) = reasoners() - running
    refused = book.try_message(MESSAGE % b"Visitor", "test", {})
    assert refused.status == "rejected"
    assert "contradicts the ontology" in refused.reason
    compared = book.try_put("map.rules", RULES % "another")
    assert [each.after.alerts for each in compared.differences] == [["warning guards: another"]]
    assert reasoners() - running == {own}
    assert running <= reasoners()
    application.close()
    assert reasoners() <= others
