"""The audit is silent about right inferences and names wrong ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sensorstream.clock import SystemClock
from sensorstream.errors import ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.datatypes import XSD, XSD_INTEGER
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.audit import Differences, audit
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.profiles import make_reasoner

EX = "http://example.org/"
ONTOLOGY = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Room a owl:Class . :Human a owl:Class . :Busy a owl:Class ; owl:equivalentClass
  [ owl:intersectionOf ( :Room [ a owl:Restriction ; owl:onProperty :holds ;
    owl:someValuesFrom :Human ] ) ] .
:Adult a owl:Class ; rdfs:subClassOf :Human ; owl:equivalentClass [ a owl:Restriction ;
  owl:onProperty :age ; owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
  owl:withRestrictions ( [ xsd:minInclusive 18 ] ) ] ] .
:in a owl:ObjectProperty . :holds a owl:ObjectProperty ; owl:inverseOf :in .
:badge a owl:ObjectProperty , owl:InverseFunctionalProperty .
:age a owl:DatatypeProperty . :born a owl:DatatypeProperty ; rdfs:range xsd:date .
:note a owl:DatatypeProperty .
:hall a :Room . _:someone a :Human ; :in :hall .
"""


def iri(name: str) -> IRI:
    return IRI(EX + name)


WINDOW = (
    (iri("a"), IRI(RDF_TYPE), iri("Human")),
    (iri("a"), iri("in"), iri("cellar")),
    (iri("cellar"), IRI(RDF_TYPE), iri("Room")),
    (iri("b"), iri("age"), Literal("30", XSD_INTEGER)),
    (iri("b"), iri("born"), Literal("2000-01-01", f"{XSD}date")),
    (iri("b"), iri("note"), Literal("no number", XSD_INTEGER)),
    (BlankNode("_:guest"), iri("in"), iri("attic")),
    (BlankNode("_:guest"), iri("age"), Literal("40", XSD_INTEGER)),
    (iri("attic"), IRI(RDF_TYPE), iri("Room")),
    (iri("c"), iri("badge"), iri("n7")),
    (iri("d"), iri("badge"), iri("n7")),
)
Check = Callable[..., Differences]


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    file = tmp_path_factory.mktemp("audit") / "o.ttl"
    file.write_text(ONTOLOGY)
    return load_ontology([file])


@pytest.fixture(scope="module")
def kb(ontology: Ontology) -> KnowledgeBase:
    """A window as the engine keeps it, inferences included."""
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    reasoner = make_reasoner("hermit", ontology, timeout=60)
    reasoner.start(kb)
    for triple in WINDOW:
        delta = kb.apply(Origin.WINDOW, Delta(0, added=(triple,)))
        kb.apply(Origin.INFERRED, reasoner.react(kb, delta))
    reasoner.close()
    return kb


@pytest.fixture
def check(ontology: Ontology, kb: KnowledgeBase) -> Check:
    def run(
        injected: tuple[Triple, ...] = (), lost: tuple[Triple, ...] = (), seconds: float = 120
    ) -> Differences:
        marks = {triple: kb.origins(triple) for triple in kb.match(None, None, None)}
        for triple in injected:
            marks[triple] = Origin.INFERRED
        for triple in lost:
            del marks[triple]
        return audit(ontology, marks, java="", heap=256, seconds=seconds, clock=SystemClock())

    return run


def test_right_inferences_are_passed_over_in_silence(check: Check, kb: KnowledgeBase) -> None:
    assert (iri("cellar"), IRI(RDF_TYPE), iri("Busy")) in kb
    assert (iri("hall"), IRI(RDF_TYPE), iri("Busy")) in kb
    assert (BlankNode("_:guest"), IRI(RDF_TYPE), iri("Adult")) in kb
    assert (iri("c"), IRI(OWL_SAME_AS), iri("d")) in kb
    assert check() == Differences()


def test_wrong_inferences_are_named_each_on_its_side(check: Check) -> None:
    wrong = (
        (iri("a"), IRI(RDF_TYPE), iri("Adult")),
        (iri("a"), IRI(OWL_SAME_AS), iri("b")),
    )
    lost = (
        (iri("cellar"), IRI(RDF_TYPE), iri("Busy")),
        (BlankNode("_:guest"), IRI(RDF_TYPE), iri("Human")),
    )
    found = check(wrong, lost)
    assert found == Differences(tuple(sorted(lost)), tuple(sorted(wrong)))
    assert len(found) == 4
    assert f"is inferred and should not be: <{EX}a> " in str(found)
    assert "should be inferred and is not: _:guest " in str(found)


def test_an_audit_that_takes_too_long_is_given_up(check: Check) -> None:
    with pytest.raises(ReasonerError, match="gave no answer"):
        check(seconds=0.01)
