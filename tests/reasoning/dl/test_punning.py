"""One name for a class, a property and an individual: each is reasoned with by itself."""

from __future__ import annotations

import pytest

from sensorstream.clock import SystemClock
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.dl.cross_check import Differences, compare
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import JavaProcess
from sensorstream.reasoning.dl.terminology import Terminology

from .test_random_ontologies import BASE, marks_of, ontology, resident

# :Eagle is a class and an individual, :p a property and an individual, :r a class and a property.
ONTOLOGY = """
:Species a owl:Class . :Kind a owl:Class . :Bird a owl:Class . :Observed a owl:Class .
:Eagle a owl:Class , :Species ; rdfs:subClassOf :Bird ; rdfs:label "eagle" .
:Species rdfs:subClassOf :Kind .
:q rdfs:range :Species . :p a :Kind ; rdfs:subPropertyOf :s .
:Observed owl:equivalentClass [ a owl:Restriction ; owl:onProperty :q ; owl:someValuesFrom :Kind ] .
:r a owl:Class , owl:ObjectProperty ; rdfs:subClassOf :Kind ; rdfs:subPropertyOf :s .
"""


def x(name: str) -> IRI:
    return IRI(BASE + name)


@pytest.mark.parametrize("name", ["hermit", "pellet"])
def test_class_property_and_individual_of_one_name_do_not_meet(
    java: JavaProcess, name: str
) -> None:
    loaded = ontology(ONTOLOGY)
    terminology = Terminology.of(loaded)
    reasoner = DlReasoner(terminology, resident(java, name, terminology.document()))
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, loaded.triples)
    reasoner.start(kb)
    assert kb.marks((x("Eagle"), rdf.TYPE, x("Kind")))
    window: tuple[Triple, ...] = (
        (x("n1"), rdf.TYPE, x("Eagle")),
        (x("n1"), x("q"), x("Eagle")),
        (x("n1"), x("p"), x("p")),
        (x("n2"), rdf.TYPE, x("r")),
        (x("n3"), x("r"), x("r")),
    )
    delta = Delta(0, window)
    kb.apply(Origin.WINDOW, delta)
    inferred = reasoner.react(kb, delta)
    kb.apply(Origin.INFERRED, inferred)
    assert {o for s, p, o in inferred.added if s == x("n1") and p == rdf.TYPE} == {
        x("Bird"),
        x("Observed"),
    }
    assert not kb.marks((x("Eagle"), rdf.TYPE, x("Bird")))
    assert kb.marks((x("n1"), x("s"), x("p")))
    assert {(s, o) for s, _, o in inferred.added if s == x("n2")} == {(x("n2"), x("Kind"))}
    assert kb.marks((x("n3"), x("s"), x("r")))
    found = compare(loaded, marks_of(kb), java, seconds=60, clock=SystemClock())
    assert found == Differences()
