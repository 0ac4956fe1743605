"""A question that the reasoner cannot answer: the message is taken in, and that is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sensorstream.engine.engine import Engine
from sensorstream.errors import ReasonerError
from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Event, Status
from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts, Types
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.testing import triples
from tests.prefixes import TURTLE

E = "http://example.org/"
# A number that has no rules.
ONTOLOGY = f"""{TURTLE}
:p a owl:ObjectProperty . :B a owl:Class .
:A a owl:Class ; rdfs:subClassOf :B , [ a owl:Restriction ; owl:onProperty :p ;
    owl:minCardinality "9"^^xsd:nonNegativeInteger ] .
"""


def fail(self: Worker, islands: list[IslandFacts]) -> list[Types | None]:
    raise ReasonerError("HermiT gave no answer within 10 s")


def test_a_message_about_which_a_question_fails_is_taken_in_with_a_warning_and_an_alert(
    build: Callable[..., Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    engine = build(window="landmark", profile="hermit", static=[tmp_path / "o.ttl"])
    monkeypatch.setattr(Worker, "ask", fail)
    said = f"<{E}a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{E}A> ."
    outcome = engine.take(Event(triples(said), 1, "e1"))
    assert outcome.status is Status.ACCEPTED
    (warning,) = outcome.warnings
    told = (
        "what follows of <http://example.org/a> is not decided: HermiT gave no answer within 10 s"
    )
    assert warning == told
    assert [each.kind for each in outcome.alerts] == ["reasoner-undecided"]
    assert engine.degraded == ""
    silent = engine.take(Event(triples(f"<{E}c> <{E}p> <{E}d> ."), 2, "e2"))
    assert (silent.warnings, silent.alerts) == ((), ())


def test_a_question_about_the_ontologys_own_individuals_that_fails_does_not_keep_from_starting(
    build: Callable[..., Engine],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY + ":i a :A .")
    monkeypatch.setattr(Worker, "ask", fail)
    engine = build(window="landmark", profile="hermit", static=[tmp_path / "o.ttl"])
    told = f"what follows of <{E}i> is not decided"
    assert told in caplog.text
    kind = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    inferred = set(engine.kb.triples(Origin.STATIC_INFERRED))
    assert (IRI(f"{E}i"), kind, IRI(f"{E}B")) in inferred
    outcome = engine.take(Event(triples(f"<{E}c> <{E}p> <{E}d> ."), 1, "e1"))
    assert [each.partition(":")[0] for each in outcome.warnings] == ["what follows of <http"]
