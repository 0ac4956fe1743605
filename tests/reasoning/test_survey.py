"""What one more individual costs, as check tells it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from sensorstream.errors import ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.gap.trial import Way
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.profiles import make_reasoner
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.reasoning.survey import costs, hubs, started


@pytest.fixture
def ontology(tmp_path: Path) -> Ontology:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":near a owl:ObjectProperty , owl:TransitiveProperty .\n"
        ":apart a owl:ObjectProperty , owl:SymmetricProperty , owl:AsymmetricProperty ."
    )
    return load_ontology([tmp_path / "o.ttl"])


def told(ontology: Ontology, profile: str, most: int, step: float) -> list[str]:
    """With a clock that moves by a step whenever it is looked at."""
    clock = count(0.0, step)
    reasoner = make_reasoner(profile, ontology)
    with started(ontology, reasoner) as kb:
        said = list(costs(kb, reasoner, ontology.schema, most, lambda: next(clock)))
        assert not kb.size(Origin.WINDOW)
        assert not kb.size(Origin.INFERRED)
    return said


def test_windows_are_measured_up_to_their_size(ontology: Ontology) -> None:
    said = told(ontology, "owl2rl, owl2rl-unsatisfiable", 25, 0.25)
    assert [each.split(" costs ")[1] for each in said] == [
        "250 ms if 1 link to that one",
        "250 ms if 10 link to that one",
        "250 ms if 25 link to that one",
    ]
    # By the other property nothing can link.
    assert all("<urn:x:near>" in each for each in said)


def test_what_takes_long_is_not_measured_in_larger_windows(ontology: Ontology) -> None:
    said = told(ontology, "rdfs", 1000, 2.0)
    assert len(said) == 2
    assert said[1] == "not measured: more than 1, up to 1000 in the window"


def test_what_fails_is_told(ontology: Ontology) -> None:
    class Failing(NoReasoner):
        def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
            raise ReasonerError("HermiT gave no answer within 10 s")

    reasoner = Failing()
    with started(ontology, reasoner) as kb:
        said = list(costs(kb, reasoner, ontology.schema, 5, lambda: 0.0))
    assert said == [
        "not measured: 1 linked to one by <urn:x:apart>: HermiT gave no answer within 10 s"
    ]


def test_what_axioms_leave_open_at_a_hub_is_measured_as_they_speak_of_it(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":a owl:inverseOf :b . :a a owl:ObjectProperty . :made a owl:ObjectProperty .\n"
        ":b a owl:ObjectProperty . :c a owl:ObjectProperty . :Valid a owl:Class .\n"
        ":Reliable a owl:Class ; owl:equivalentClass [ a owl:Restriction ;\n"
        "    owl:onProperty :made ; owl:allValuesFrom :Valid ] ."
    )
    made = load_ontology([tmp_path / "o.ttl"])
    way = Way(IRI("urn:x:made"), IRI("urn:x:Valid"), outward=True)
    assert way in hubs(made)

    class Counting(NoReasoner):
        changes = 0

        def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
            # Each change looks as long as it has links from one.
            hub = [each for each in kb.triples(Origin.WINDOW) if each[1] == "urn:x:made"]
            self.changes += 10 * len({s for _, _, s in hub}) if len({*hub}) else 1
            return super().react(kb, delta)

    reasoner = Counting()
    with started(made, reasoner) as kb:
        clock = lambda: float(reasoner.changes)  # noqa: E731
        said = list(costs(kb, reasoner, made.schema, 10, clock, [way]))
        assert not kb.size(Origin.WINDOW)
    assert said[0].startswith(
        "measured here: a <urn:x:Valid> that another links to by <urn:x:made> costs "
    )
    assert "if that one links to 1" in said[0]
