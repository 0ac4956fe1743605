"""Contradictions that were not narrowed down at once, of a whole application."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sensorstream.app.life.upkeep import Narrowing
from sensorstream.errors import Inconsistent
from sensorstream.history.database import engine as database_engine
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.settings.settings import ReasoningSettings
from tests.app.conftest import Deploy, Open
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
:Guest a owl:Class ; rdfs:subClassOf :Person . :Person a owl:Class .
:Room a owl:Class ; owl:disjointWith :Person . :in a owl:ObjectProperty .
"""
RULES = """
prefix : <http://example.org/>
mapping thing
on message {/t}
then update individual :{@id} a :{@kind} ; :in :{@in} .
"""


def test_a_contradiction_that_was_not_narrowed_down_at_once_is_so_later(
    deploy: Deploy, open_application: Open
) -> None:
    reasoning = ReasoningSettings(profile="hermit", explain=0.0)
    settings = replace(deploy(ONTOLOGY, RULES, "5"), reasoning=reasoning)
    application = open_application(settings)
    application.submit(b"<t id='ann' kind='Guest' in='hall'/>", "door").result(60)
    with pytest.raises(Inconsistent, match="not narrowed down"):
        application.submit(b"<t id='ann' kind='Room' in='hall'/>", "door").result(60)
    database = database_engine(application.url)
    Narrowing(application).look()
    (refused,) = PostgresReader(database).quarantined(10)
    database.dispose()
    assert refused.contradiction is not None
    assert refused.contradiction.limits == ""
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    assert set(refused.contradiction.triples) == {
        f"<http://example.org/ann> {kind} <http://example.org/Guest> .",
        f"<http://example.org/ann> {kind} <http://example.org/Room> .",
    }
    assert set(refused.contradiction.axioms) == {
        "Guest SubClassOf Person",
        "Person DisjointWith Room",
    }
    assert refused.reason.startswith("the message contradicts the ontology: ann a Room, ann a")
