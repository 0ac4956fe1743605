"""A message that says an axiom is told that nothing follows, or something follows."""

from __future__ import annotations

import pytest

from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Event, Status
from sensorstream.testing import triples
from tests.engine.conftest import Build

E = "http://example.org/"
OWL = "http://www.w3.org/2002/07/owl#"
DENIAL = (
    f"<{E}no> <{OWL}sourceIndividual> <{E}a> . <{E}no> <{OWL}assertionProperty> <{E}p> . "
    f"<{E}no> <{OWL}targetIndividual> <{E}b> ."
)
AXIOMS = (
    DENIAL,
    f"<{E}p> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{OWL}TransitiveProperty> .",
    f"<{E}A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{E}B> .",
)
FACTS = (
    f"<{E}a> <{OWL}sameAs> <{E}b> . <{E}a> <{OWL}differentFrom> <{E}c> .",
    f"<{E}a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{OWL}NamedIndividual> .",
    f"<{E}a> <{E}p> <{E}b> .",
)


def take(engine: Engine, number: int, said: str) -> Outcome:
    return engine.take(Event(triples(said), number, f"e{number}"))


@pytest.mark.parametrize("said", AXIOMS)
@pytest.mark.parametrize("profile", ["plain", "hermit"])
def test_an_axiom_that_is_not_read_is_told_in_the_answer_and_as_an_alert(
    build: Build, profile: str, said: str
) -> None:
    engine = build(window="landmark", profile=profile)
    outcomes = [take(engine, number, said) for number in range(1, 12)]
    for each in outcomes:
        assert each.status is Status.ACCEPTED
        (warning,) = each.warnings
        assert warning.startswith(f"nothing follows from '<{E}")
        assert "put it into the ontology" in warning
    alerts = [alert for each in outcomes for alert in each.alerts]
    assert [each.kind for each in alerts] == ["axiom-unread"] * 2


@pytest.mark.parametrize("said", FACTS)
@pytest.mark.parametrize("profile", ["plain", "hermit"])
def test_what_is_read_is_not_told(build: Build, profile: str, said: str) -> None:
    outcome = take(build(window="landmark", profile=profile), 1, said)
    assert (outcome.status, outcome.warnings, outcome.alerts) == (Status.ACCEPTED, (), ())


def test_rule_sets_read_a_denial_that_a_message_says(build: Build) -> None:
    engine = build(window="landmark", profile="owl2rl, owl2rl-unsatisfiable")
    assert take(engine, 1, DENIAL).warnings == ()
    refused = take(engine, 2, FACTS[-1])
    assert refused.status is Status.REJECTED
    assert "prp-npa1" in str(refused.rejection)
