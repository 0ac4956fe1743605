from pathlib import Path

import pytest

from sensorstream.errors import OntologyError
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.ontology_documents import parse_document
from sensorstream.reasoning.undeclared_names import undeclared

HEAD = """@prefix : <http://x.example/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:A a owl:Class . :B a owl:Class . :known a owl:ObjectProperty . :value a owl:DatatypeProperty .
"""
P = IRI("http://x.example/o#p")


def restricted(rest: str, prop: str = ":p") -> str:
    return f":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty {prop} ; {rest} ] ."


def loaded(folder: Path, text: str, names: str = "infer") -> Ontology:
    file = folder / "o.ttl"
    file.write_text(HEAD + text)
    return load_ontology([file], names=names)


OBJECT = [
    restricted("owl:someValuesFrom :B"),
    restricted("owl:someValuesFrom [ a owl:Class ; owl:unionOf ( :A :B ) ]"),
    restricted("owl:hasValue :b"),
    restricted("owl:hasSelf true"),
    restricted('owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onClass :B'),
    ":p rdfs:range :B .",
    ":p owl:inverseOf :known .",
    ":known owl:inverseOf :p .",
    ":p rdfs:subPropertyOf :known .",
    ":p rdfs:subPropertyOf :r . :r owl:equivalentProperty :known .",
    restricted("owl:cardinality 1") + ":known rdfs:subPropertyOf :p .",
    ":known owl:propertyChainAxiom ( :known :p ) .",
]
DATA = [
    restricted("owl:someValuesFrom xsd:integer"),
    restricted("owl:allValuesFrom [ a rdfs:Datatype ; owl:oneOf ( 1 2 ) ]"),
    restricted("owl:allValuesFrom [ owl:onDatatype xsd:integer ]"),
    restricted("owl:hasValue 5"),
    restricted('owl:minQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onDataRange :x'),
    ":p rdfs:range xsd:string .",
    ":p rdfs:subPropertyOf :value .",
]


@pytest.mark.parametrize("text", OBJECT)
def test_use_shows_an_object_property(tmp_path: Path, text: str) -> None:
    assert P in loaded(tmp_path, text).schema.object_properties


@pytest.mark.parametrize("text", DATA)
def test_use_shows_a_datatype_property(tmp_path: Path, text: str) -> None:
    assert P in loaded(tmp_path, text).schema.datatype_properties


def test_what_was_inferred_is_said(tmp_path: Path) -> None:
    found = loaded(tmp_path, restricted("owl:someValuesFrom :C"))
    assert [(each.code, each.text) for each in found.remarks] == [
        ("undeclared", f"used as an object property, and not declared: <{P}>"),
        ("undeclared", "used as a class, and not declared: <http://x.example/o#C>"),
    ]
    assert IRI("http://x.example/o#C") in found.schema.classes


def test_without_the_setting_a_restriction_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match=r'o#p>, which is not declared.*undeclared = "infer"'):
        loaded(tmp_path, OBJECT[0], names="refuse")


def test_the_file_of_the_first_and_the_names_of_the_others_are_told(tmp_path: Path) -> None:
    (tmp_path / "fine.ttl").write_text(HEAD)
    file = tmp_path / "o.ttl"
    others = restricted("owl:hasValue 5", ":q") + restricted("owl:hasValue 5", ":r")
    file.write_text(HEAD + OBJECT[0] + others)
    with pytest.raises(OntologyError) as caught:
        load_ontology([tmp_path / "fine.ttl", file])
    assert str(caught.value).startswith(
        f"{file}: a restriction is on <{P}>, which is not declared "
        "(nor is <http://x.example/o#q>, <http://x.example/o#r>): expected an owl:ObjectProperty"
    )


def test_without_the_setting_other_uses_are_said(tmp_path: Path) -> None:
    found = loaded(tmp_path, ":p rdfs:domain :C ; rdfs:range :B .", names="refuse")
    assert found.schema.object_properties == {IRI("http://x.example/o#known")}
    way = ': declare it, or set [ontology] undeclared = "infer"'
    assert [each.text for each in found.remarks] == [
        f"used as an object property, and not declared: <{P}>{way}",
        f"used as a class, and not declared: <http://x.example/o#C>{way}",
    ]


@pytest.mark.parametrize(
    "text",
    [
        restricted("owl:cardinality 1"),
        restricted("owl:hasValue 5") + restricted("owl:someValuesFrom :B"),
    ],
)
def test_a_use_that_shows_nothing_or_both_kinds_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(OntologyError, match="its use does not show which"):
        loaded(tmp_path, text)


def test_what_is_declared_is_not_spoken_of(tmp_path: Path) -> None:
    text = """
    :note a owl:AnnotationProperty ; rdfs:domain :A ; rdfs:subPropertyOf rdfs:comment .
    :value rdfs:range :myType . :A rdfs:subClassOf :Above . :a a :A ; :said :b .
    """ + restricted("owl:allValuesFrom :other", ":value")
    assert loaded(tmp_path, text).remarks == ()


def test_of_many_names_some_are_listed(tmp_path: Path) -> None:
    found = loaded(tmp_path, " ".join(f":p{n} rdfs:range :B ." for n in range(8)))
    (remark,) = found.remarks
    assert remark.text.endswith("o#p4> and 3 more")


def test_a_list_without_an_end_ends() -> None:
    loop = "_:l rdf:first :C ; rdf:rest _:l . :U owl:disjointUnionOf _:l ."
    prefix = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
    triples = list(parse_document(Path("o.ttl"), f"{HEAD}{prefix}{loop}".encode()))
    assert undeclared(triples, Schema.of(triples)).classes == (IRI("http://x.example/o#C"),)
