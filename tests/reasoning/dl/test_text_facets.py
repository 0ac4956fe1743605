"""Facets of texts under both reasoners: valid values are taken in, others are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sensorstream.errors import Inconsistent
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.profiles import make_reasoner
from sensorstream.reasoning.reasoner import Reasoner
from tests.reasoning.dl.test_random_ontologies import BASE, ontology

Make = Callable[[str, str], tuple[KnowledgeBase, Reasoner]]
A, B, D = IRI(f"{BASE}A"), IRI(f"{BASE}B"), IRI(f"{BASE}d")
RANGE = "[ a rdfs:Datatype ; owl:onDatatype xsd:string ; owl:withRestrictions ( {} ) ]"
PLATE = RANGE.format('[ xsd:pattern "[A-Z]{2}-[0-9]+" ] [ xsd:maxLength 6 ]')
SHORT = RANGE.format("[ xsd:minLength 2 ] [ xsd:maxLength 3 ]")
SOME = "[ a owl:Restriction ; owl:onProperty :d ; owl:someValuesFrom {} ]"
# A choice that rules leave open, so that the reasoner is asked.
CHOICE = ":A rdfs:subClassOf [ a owl:Class ; owl:unionOf ( :C :E ) ] . :C rdfs:subClassOf :B ."


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Reasoner] = []

    def new(profile: str, text: str) -> tuple[KnowledgeBase, Reasoner]:
        loaded = ontology(text)
        reasoner = make_reasoner(profile, loaded, timeout=60, explain=0)
        made.append(reasoner)
        kb = KnowledgeBase()
        kb.add(Origin.STATIC, loaded.triples)
        reasoner.start(kb)
        return kb, reasoner

    yield new
    for each in made:
        each.close()


def say(kb: KnowledgeBase, reasoner: Reasoner, name: str, text: str) -> bool:
    """Whether an A with a text contradicts nothing; then it is in the window."""
    one = IRI(f"{BASE}{name}")
    delta = Delta(0, ((one, rdf.TYPE, A), (one, D, Literal(text))))
    kb.apply(Origin.WINDOW, delta)
    try:
        reasoner.react(kb, delta)
    except Inconsistent:
        kb.apply(Origin.WINDOW, delta.inverse())
        return False
    assert isinstance(reasoner, ResilientReasoner)
    assert reasoner.take_left_open() == ()
    assert reasoner.degraded == ""
    return True


@pytest.mark.parametrize("profile", ["hermit", "pellet"])
def test_values_of_a_range_with_facets_of_texts_are_told_apart(make: Make, profile: str) -> None:
    text = f":d rdfs:range {PLATE} . {SOME.format(SHORT)} rdfs:subClassOf :B . {CHOICE}"
    text += " :A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :d ; owl:cardinality"
    text += ' "1"^^xsd:nonNegativeInteger ] .'
    kb, reasoner = make(profile, text)
    assert [say(kb, reasoner, f"n{n}", told) for n, told in enumerate(("AB-1", "XY-123"))] == [
        True,
        True,
    ]
    assert not say(kb, reasoner, "n7", "AB-1234")
    assert not say(kb, reasoner, "n8", "ab-1")
    assert (IRI(f"{BASE}n0"), rdf.TYPE, B) not in set(kb.triples(Origin.INFERRED))


@pytest.mark.parametrize("profile", ["hermit", "pellet"])
def test_whose_text_is_long_enough_is_of_the_class_of_those(make: Make, profile: str) -> None:
    kb, reasoner = make(profile, f"{SOME.format(SHORT)} rdfs:subClassOf :B . {CHOICE}")
    for number, text in enumerate(("a", "ab", "abc", "abcd")):
        assert say(kb, reasoner, f"n{number}", text)
    found = {s for s, p, o in kb.triples(Origin.INFERRED) if o == B}
    assert found == {IRI(f"{BASE}n1"), IRI(f"{BASE}n2")}
