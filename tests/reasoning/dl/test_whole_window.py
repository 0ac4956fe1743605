"""Where islands are unsound, the whole window is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sensorstream.errors import Inconsistent, OntologyError, SettingsError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.profiles import make_reasoner
from sensorstream.reasoning.reasoner import NoReasoner, Reasoner, SchemaClosure

AXIOMS = """
@prefix : <http://x.example/#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person a owl:Class ; owl:hasKey ( :badge ) .
:Guard a owl:Class .
:Place a owl:Class .
:Guest a owl:Class ; owl:equivalentClass
    [ a owl:Restriction ; owl:onProperty :in ; owl:hasValue :hall ] .
:Empty a owl:Class ; owl:disjointWith :Place .
:in a owl:ObjectProperty ; rdfs:range :Place .
:badge a owl:DatatypeProperty .
:hall a :Place .
"""


def x(name: str) -> IRI:
    return IRI(f"http://x.example/#{name}")


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    file = tmp_path_factory.mktemp("ontology") / "o.ttl"
    file.write_text(AXIOMS)
    return load_ontology([file])


@pytest.fixture(scope="module")
def reasoner(ontology: Ontology) -> Iterator[Reasoner]:
    made = make_reasoner("hermit", ontology)
    yield made
    made.close()


def test_unconnected_individuals_reach_each_other(ontology: Ontology, reasoner: Reasoner) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    reasoner.start(kb)

    def change(added: set[Triple], removed: set[Triple]) -> set[Triple]:
        delta = Delta(0, tuple(sorted(added)), tuple(sorted(removed)))
        kb.apply(Origin.WINDOW, delta)
        try:
            reasoner.react(kb, delta)
        except Inconsistent:
            kb.apply(Origin.WINDOW, delta.inverse())
            raise
        return set(kb.triples(Origin.INFERRED))

    badge = Literal("7")
    anna: set[Triple] = {(x("anna"), rdf.TYPE, x("Person")), (x("anna"), x("badge"), badge)}
    bob: set[Triple] = {(x("bob"), rdf.TYPE, x("Person")), (x("bob"), x("badge"), badge)}
    guard: Triple = (x("bob"), rdf.TYPE, x("Guard"))
    assert change(anna, set()) == set()
    assert change(bob | {guard}, set()) == {
        (x("anna"), rdf.TYPE, x("Guard")),
        (x("anna"), owl.SAME_AS, x("bob")),
        (x("bob"), owl.SAME_AS, x("anna")),
    }
    assert change({(x("carol"), x("in"), x("hall"))}, bob | {guard}) == {
        (x("carol"), rdf.TYPE, x("Guest"))
    }
    with pytest.raises(Inconsistent):
        change({(x("hall"), rdf.TYPE, x("Empty"))}, set())
    assert change(set(), anna | {(x("carol"), x("in"), x("hall"))}) == set()


def test_static_individuals_that_contradict_the_axioms_are_an_ontology_error(
    tmp_path: Path,
) -> None:
    file = tmp_path / "o.ttl"
    file.write_text(AXIOMS + ":attic a :Place , :Empty .")
    ontology = load_ontology([file])
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    reasoner = make_reasoner("hermit", ontology)
    try:
        with pytest.raises(OntologyError, match=r"contradicts itself.*attic"):
            reasoner.start(kb)
    finally:
        reasoner.close()


def test_every_profile_has_its_reasoner(ontology: Ontology) -> None:
    assert isinstance(make_reasoner("none", ontology), NoReasoner)
    assert isinstance(make_reasoner("plain", ontology), SchemaClosure)
    with pytest.raises(SettingsError, match="expected one of none, plain, hermit, pellet"):
        make_reasoner("owl", ontology)
