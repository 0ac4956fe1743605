"""The kinds of class expressions and data ranges that do not say them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.model.schema import missing_kinds
from sensorstream.model.terms import BlankNode
from sensorstream.reasoning.ontology_documents import parse_document

_PREFIXES = """@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def kinds(text: str) -> list[str]:
    triples = list(parse_document(Path("o.ttl"), (_PREFIXES + text).encode()))
    found = list(missing_kinds(triples))
    assert all(isinstance(s, BlankNode) for s, _, _ in found)
    return sorted(str(o).rpartition("#")[2] for _, _, o in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":p rdfs:domain [ owl:unionOf ( :A :B ) ] .", ["Class"]),
        (":A rdfs:subClassOf [ owl:complementOf [ owl:oneOf ( :a ) ] ] .", ["Class", "Class"]),
        (":A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :B ] .", ["Restriction"]),
        (":d rdfs:range [ owl:oneOf ( 1 2 ) ] .", ["Datatype"]),
        (":d rdfs:range [ owl:unionOf ( xsd:string xsd:int ) ] .", ["Datatype"]),
        (":p rdfs:domain [ a owl:Class ; owl:unionOf ( :A :B ) ] .", []),
        (":A owl:unionOf ( :B :C ) . :a :p [ :q :b ] .", []),
    ],
)
def test_a_kind_is_what_the_parts_show(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected
