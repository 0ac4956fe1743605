from pathlib import Path

import pytest

from sensorstream.errors import OntologyError
from sensorstream.model import rdf, rdfs
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.vocabulary import OWL
from sensorstream.reasoning.ontology_documents import parse_document

A, B = IRI("http://x.example/o#A"), IRI("http://x.example/o#B")
HEAD = "Prefix(:=<http://x.example/o#>)\n# a note (with a sign\nOntology(<http://x.example/o>\n"


def read(body: str, name: str = "o.ofn", head: str = HEAD) -> set[Triple]:
    return set(parse_document(Path(name), f"{head}{body})".encode()))


@pytest.mark.parametrize("name", ["o.ofn", "o.owl", "o.fss"])
def test_it_is_recognised_by_its_first_word(name: str) -> None:
    assert (A, rdfs.SUBCLASS_OF, B) in read("SubClassOf(:A :B)", name)


def test_names_stand_in_angle_brackets_or_with_a_prefix() -> None:
    assert (A, rdfs.SUBCLASS_OF, B) in read("SubClassOf(<http://x.example/o#A> :B)")
    assert (A, rdf.TYPE, IRI(f"{OWL}Class")) in read("Declaration(Class(:A))")


def test_texts_have_escapes_languages_and_datatypes() -> None:
    body = (
        r'AnnotationAssertion(rdfs:label :A "say \"no\" (\\) #")'
        'AnnotationAssertion(rdfs:label :A "nein"@de)'
        'AnnotationAssertion(rdfs:label :A "5"^^xsd:integer)'
    )
    assert {o for s, p, o in read(body) if p == rdfs.LABEL} == {
        Literal('say "no" (\\) #'),
        Literal("nein", language="de"),
        Literal("5", "http://www.w3.org/2001/XMLSchema#integer"),
    }


def test_a_place_that_takes_one_kind_of_property_declares_it() -> None:
    body = "SubClassOf(:A DataMinCardinality(2 :d)) ObjectPropertyRange(:p :B)"
    kinds = {s: o for s, p, o in read(body) if p == rdf.TYPE and isinstance(s, IRI)}
    assert kinds[IRI("http://x.example/o#d")] == f"{OWL}DatatypeProperty"
    assert kinds[IRI("http://x.example/o#p")] == f"{OWL}ObjectProperty"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("SubClassOf(:A z:B)", r"o\.ofn:4:15: 'z:B' is no name"),
        ("SubClassOf(:A :B", r"o\.ofn:4:\d+: it ends too early"),
        ("SubClassOf(:A :B))", r"o\.ofn:4:19: nothing may follow"),
        ("\nSubClassOf(:A)", r"o\.ofn:5:1: 'SubClassOf' has 1 parts: expected 2"),
        ("Wish(:A)", r"o\.ofn:4:1: 'Wish' is not an axiom"),
        ('AnnotationAssertion(rdfs:label :A "open)', r"o\.ofn:4:35: unexpected '\"'"),
        ('AnnotationAssertion(rdfs:label :A "\0")', r"o\.ofn:4:35: a text has a character"),
        ("ObjectComplementOf(" * 300, r"o\.ofn:4:\d+: nested deeper than 256"),
    ],
)
def test_what_is_wrong_has_its_place(body: str, told: str) -> None:
    with pytest.raises(OntologyError, match=told):
        read(body)


def test_a_prefix_that_is_not_complete_has_its_place() -> None:
    with pytest.raises(OntologyError, match=r"o\.ofn:1:10: expected iri, not '\('"):
        read("", head="Prefix(:=(")
