from __future__ import annotations

from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.network.budget import NO_LIMITS, Budget
from sensorstream.reasoning.dl.gap.bounds_pair import BoundsPair
from sensorstream.reasoning.dl.gap.fact_components import Components
from sensorstream.reasoning.dl.terminology import Terminology
from tests.reasoning.dl.test_random_ontologies import CLASSES, NODES, ontology

A, B, C, D = CLASSES[:4]
N1 = NODES[0]
EITHER = """:A rdfs:subClassOf [ a owl:Class ; owl:unionOf ( :B
    [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :C ] ) ] .
    :D rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ;
    owl:allValuesFrom [ a owl:Class ; owl:complementOf :C ] ] ."""


def given_for(text: str, window: list[Triple], fact: Triple) -> set[Triple]:
    """What the reasoner is told to decide an open fact."""
    pair = BoundsPair(Terminology.of(ontology(text)), Budget(NO_LIMITS))
    words: tuple[IRI, ...] = (A, B, C, D, CONTRADICTION)
    pair.begin()
    components = Components(pair, lambda each: each[1] in words or each[2] in words)
    renewed = components.renew(pair.update(window, []))
    (component,) = [each for each in renewed.new if fact in each.roots]
    return set(component.given)


def test_an_alternative_is_decided_with_what_contradicts_the_other_one() -> None:
    window: list[Triple] = [(N1, rdf.TYPE, A), (N1, rdf.TYPE, D)]
    assert given_for(EITHER, window, (N1, rdf.TYPE, B)) == set(window)
