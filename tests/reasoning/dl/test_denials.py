"""A denied value is denied however it is written, with HermiT and with Pellet."""

from __future__ import annotations

import pytest

from sensorstream.clock import SystemClock
from sensorstream.errors import Inconsistent
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model.terms import Literal, term
from sensorstream.model.vocabulary import OWL
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.contradictions import clashing
from sensorstream.reasoning.dl.cross_check import compare
from sensorstream.reasoning.dl.datatypes import with_values_denied_by_class
from sensorstream.reasoning.dl.reasoner_process import JavaProcess
from sensorstream.testing import triples

from .test_datatypes import BASE, Window, x
from .test_random_ontologies import marks_of, ontology

DENIED = """
:e a owl:DatatypeProperty . :d rdfs:subPropertyOf :e . :free a owl:DatatypeProperty .
""" + "\n".join(
    f"""[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :{one} ;
    owl:assertionProperty :{prop} ; owl:targetValue {value} ."""
    for one, prop, value in (
        ("four", "e", "4"),
        ("half", "d", "0.50"),
        ("day", "d", '"2026-11-23Z"^^xsd:date'),
        ("moment", "d", '"2026-11-23T10:00:00Z"^^xsd:dateTime'),
        ("minute", "d", '"PT60S"^^xsd:dayTimeDuration'),
        ("word", "d", '"warm"'),
        ("named", "free", "7"),
    )
)


@pytest.fixture(scope="module", params=["hermit", "pellet"])
def window(request: pytest.FixtureRequest, java: JavaProcess) -> Window:
    return Window(java, request.param, DENIED)


def value(written: str) -> Literal:
    found = term(written.replace("xsd:", XSD))
    assert isinstance(found, Literal)
    return found


@pytest.mark.parametrize(
    ("one", "prop", "written"),
    [
        ("four", "d", '"4"^^<xsd:integer>'),
        ("four", "d", '"04"^^<xsd:integer>'),
        ("four", "d", '"+4"^^<xsd:byte>'),
        ("four", "e", '"4.0"^^<xsd:decimal>'),
        ("half", "d", '".5"^^<xsd:decimal>'),
        ("day", "d", '"2026-11-23+00:00"^^<xsd:date>'),
        ("moment", "d", '"2026-11-23T10:00:00.0Z"^^<xsd:dateTime>'),
        ("minute", "d", '"PT1M"^^<xsd:duration>'),
        ("word", "d", '"warm"'),
        ("named", "free", '"007"^^<xsd:integer>'),
    ],
)
def test_a_denied_value_contradicts_however_it_is_written(
    window: Window, one: str, prop: str, written: str
) -> None:
    with pytest.raises(Inconsistent):
        window.types((x(one), x(prop), value(written)))


@pytest.mark.parametrize(
    ("one", "prop", "written"),
    [
        ("four", "d", '"5"^^<xsd:integer>'),
        ("four", "d", '"4.1"^^<xsd:decimal>'),
        ("four", "d", '"4"^^<xsd:double>'),
        ("four", "d", '"4"'),
        ("half", "e", '"0.5"^^<xsd:decimal>'),
        ("other", "d", '"4"^^<xsd:integer>'),
        ("day", "d", '"2026-11-24Z"^^<xsd:date>'),
        ("day", "d", '"2026-11-23T00:00:00Z"^^<xsd:dateTime>'),
        ("minute", "d", '"PT61S"^^<xsd:duration>'),
        ("word", "d", '"warm"@en'),
    ],
)
def test_other_values_and_other_individuals_do_not(
    window: Window, one: str, prop: str, written: str
) -> None:
    assert window.types((x(one), x(prop), value(written))) == set()


DENIAL = """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
    owl:assertionProperty :d ; owl:targetValue {} . """


@pytest.mark.parametrize(
    ("denied", "asserted", "told"),
    [
        ("4", '"04"^^xsd:integer', "a Type not (d value 4)"),
        ("4", "4.0", "a Type not (d value 4)"),
        (
            '"2026-11-23Z"^^xsd:date',
            '"2026-11-23+00:00"^^xsd:date',
            'a Type not (d value "2026-11-23Z")',
        ),
        ("4", "4.5", None),
    ],
)
def test_all_in_one_document_contradict_in_the_cross_check_and_in_explanations(
    java: JavaProcess, denied: str, asserted: str, told: str | None
) -> None:
    said = ontology(f"{DENIAL.format(denied)} :a :d {asserted} .")
    found = compare(said, marks_of(KnowledgeBase()), java, seconds=60, clock=SystemClock())
    assert found.contradiction == (told is not None)
    why = clashing((), said, seconds=60, clock=SystemClock())
    assert (told in why.axioms) if told else why.axioms == ()


def test_a_denied_link_stays_as_it_is_written() -> None:
    said = triples(
        f"""@prefix : <{BASE}> . @prefix owl: <{OWL}> .
        :n a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
            owl:assertionProperty :p ; owl:targetIndividual :b ."""
    )
    assert with_values_denied_by_class(said) == [*said]
