"""The shipped tracking ontology is the paper's (section 5.2)."""

from pathlib import Path

import pytest

from sensorstream.model import rdf, rdfs
from sensorstream.model.terms import IRI, BlankNode
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.reasoning.ontology import Ontology, load_ontology

FILE = Path(__file__).parents[2] / "ontologies" / "tracking.ttl"
NAMESPACE = "http://sensorstream.example/tracking#"

# What ALC(D) may use of OWL's vocabulary: atomic classes, conjunction, disjunction, negation
# (disjointness is one), existential and universal restriction, domain and range, concrete
# domains. No hierarchy (H), inverse (I), functional (F), number (N, Q), nominal (O).
ALC_D = {
    *(f"{OWL}{word}" for word in ("Ontology", "Class", "ObjectProperty", "DatatypeProperty")),
    *(f"{OWL}{word}" for word in ("equivalentClass", "disjointWith", "intersectionOf")),
    *(f"{OWL}{word}" for word in ("unionOf", "complementOf", "Restriction", "onProperty")),
    *(f"{OWL}{word}" for word in ("someValuesFrom", "allValuesFrom", "onDatatype")),
    *(f"{OWL}{word}" for word in ("withRestrictions",)),
    *(f"{RDFS}{word}" for word in ("subClassOf", "domain", "range", "Datatype")),
    *(f"{RDF}{word}" for word in ("type", "first", "rest", "nil")),
}


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return load_ontology([FILE])


def test_it_has_the_papers_size(ontology: Ontology) -> None:
    schema = ontology.schema
    assert len(schema.classes) == 31
    assert len(schema.object_properties) == 3
    assert len(schema.datatype_properties) == 7
    assert len(ontology.triples) == 110


def test_it_has_the_papers_names(ontology: Ontology) -> None:
    names = {c.removeprefix(NAMESPACE) for c in ontology.schema.classes}
    assert {"Actor", "Human", "Location", "Action"} <= names
    names = {p.removeprefix(NAMESPACE) for p in ontology.schema.datatype_properties}
    assert {"hasTime", "hasXLocation", "hasYLocation", "hasCertainty", "hasName"} <= names


def test_it_stays_within_alc_d(ontology: Ontology) -> None:
    words = {
        term
        for triple in ontology.triples
        for term in triple
        if isinstance(term, IRI) and term.startswith((OWL, RDFS, RDF))
    }
    assert words <= ALC_D


def test_it_has_no_general_concept_inclusion(ontology: Ontology) -> None:
    for subject, predicate, _ in ontology.triples:
        if predicate in {rdfs.SUBCLASS_OF, f"{OWL}equivalentClass", f"{OWL}disjointWith"}:
            assert not isinstance(subject, BlankNode)
    defined = [s for s, p, _ in ontology.triples if p == f"{OWL}equivalentClass"]
    primitive = {s for s, p, _ in ontology.triples if p == rdfs.SUBCLASS_OF}
    assert len(defined) == len(set(defined))
    assert primitive.isdisjoint(defined)
    assert all(o != f"{OWL}Thing" for _, p, o in ontology.triples if p != rdf.TYPE)
