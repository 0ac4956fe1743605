"""Why HermiT and Pellet infer a triple: what is named entails it, and no part of that does."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.clock import SystemClock
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.dl.contradictions import EntailmentReason, assertions_near, entailed
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.testing import triples
from tests.prefixes import TURTLE

EX = "http://example.org/"
PREFIXES = f"{TURTLE}\n"
AXIOMS = """
:Hot a owl:Class ; owl:equivalentClass [ a owl:Restriction ; owl:onProperty :value ;
  owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
    owl:withRestrictions ( [ xsd:minInclusive 30 ] ) ] ] .
:Alarming a owl:Class ; owl:equivalentClass [ a owl:Restriction ; owl:onProperty :in ;
  owl:someValuesFrom :Occupied ] .
:Occupied a owl:Class . :Room a owl:Class . :Sensor a owl:Class ; rdfs:subClassOf :Device .
:Device a owl:Class . :in a owl:ObjectProperty, owl:FunctionalProperty .
:within a owl:ObjectProperty, owl:TransitiveProperty . :in rdfs:subPropertyOf :within .
:value a owl:DatatypeProperty ; rdfs:subPropertyOf :says . :says a owl:DatatypeProperty .
:house a :Room . :hall a :Room ; :within :house .
"""
SAID = """
:s a :Sensor ; :value 31 ; :in :lab . :lab a :Occupied ; :within :hall . :s :in _:there .
:t a :Sensor ; :value 12 ; :in :lab .
"""


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    file: Path = tmp_path_factory.mktemp("o") / "o.ttl"
    file.write_text(PREFIXES + AXIOMS)
    return load_ontology([file])


def x(name: str) -> IRI:
    return IRI(f"{EX}{name}")


def why(ontology: Ontology, triple: Triple) -> EntailmentReason:
    kb = KnowledgeBase()
    kb.add(Origin.WINDOW, triples(PREFIXES + SAID))
    return why_in(ontology, kb, triple)


def why_in(ontology: Ontology, kb: KnowledgeBase, triple: Triple) -> EntailmentReason:
    kb.add(Origin.STATIC, ontology.triples)
    near = assertions_near(triple, kb, ontology.schema)
    return entailed(triple, near, ontology, seconds=60, clock=SystemClock())


def named(found: EntailmentReason) -> set[str]:
    return {
        " ".join(str(each).replace("#", "/").rpartition("/")[2] for each in triple[:2])
        for triple in found.assertions
    }


@pytest.mark.parametrize(
    ("triple", "assertions", "axioms"),
    [
        ((x("s"), rdf.TYPE, x("Hot")), {"s value"}, {"Hot EquivalentTo value some integer[>= 30]"}),
        (
            (x("s"), rdf.TYPE, x("Alarming")),
            {"s in", "lab type"},
            {"Alarming EquivalentTo in some Occupied"},
        ),
        (
            (x("s"), x("within"), x("house")),
            {"s in", "lab within"},
            {"in SubPropertyOf within", "Transitive: within", "hall within house"},
        ),
    ],
)
def test_a_minimal_set_of_assertions_and_axioms_entails_the_triple(
    ontology: Ontology, triple: Triple, assertions: set[str], axioms: set[str]
) -> None:
    found = why(ontology, triple)
    assert found.limits == ""
    assert named(found) == assertions
    assert {each.replace("SubPropertyOf:", "SubPropertyOf") for each in found.axioms} == axioms


def test_other_names_are_entailed_with_nodes_that_have_none(ontology: Ontology) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.WINDOW, triples(PREFIXES + SAID))
    (there,) = [o for _, _, o in kb.match(x("s"), x("in"), None) if o != x("lab")]
    found = why_in(ontology, kb, (x("lab"), owl.SAME_AS, there))
    assert (named(found), found.axioms) == ({"s in"}, ("Functional: in",))
    assert len(found.assertions) == 2


def test_what_does_not_follow_has_no_such_set(ontology: Ontology) -> None:
    found = why(ontology, (x("t"), rdf.TYPE, x("Hot")))
    assert found.assertions == ()
    assert found.limits.startswith("HermiT does not find it in the ")
