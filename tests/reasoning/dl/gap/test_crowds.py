"""Limits of many neighbours: who cannot reach them is not asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from sensorstream.errors import Inconsistent
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts, Types
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology
from tests.reasoning.dl.test_random_ontologies import BASE, counted, ontology

P, D = IRI(f"{BASE}p"), IRI(f"{BASE}d")
BUS, FULL = IRI(f"{BASE}A"), IRI(f"{BASE}B")
ONE, *PEOPLE = (IRI(f"{BASE}n{n}") for n in range(50))


class Asked(Worker):
    """A process that counts what it is asked."""

    def __init__(self, axioms: bytes) -> None:
        super().__init__("hermit", axioms, timeout=60)
        self.islands = 0

    def ask(self, islands: list[IslandFacts]) -> list[Types | None]:
        self.islands += len(islands)
        return super().ask(islands)


class Window:
    """A reasoner over a knowledge base."""

    def __init__(self, text: str) -> None:
        loaded = ontology(text)
        terminology = Terminology.of(loaded)
        self.worker = Asked(terminology.document())
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, loaded.triples)
        self.reasoner = DlReasoner(terminology, self.worker)
        self.reasoner.start(self.kb)
        self.worker.islands = 0

    def change(self, added: Sequence[Triple], removed: Sequence[Triple] = ()) -> None:
        delta = Delta(0, tuple(added), tuple(removed))
        self.kb.apply(Origin.WINDOW, delta)
        self.reasoner.react(self.kb, delta)

    def is_full(self) -> bool:
        return (ONE, rdf.TYPE, FULL) in set(self.kb.triples(Origin.INFERRED))


@pytest.fixture
def opened() -> Iterator[list[Window]]:
    found: list[Window] = []
    yield found
    for each in found:
        each.reasoner.close()


def test_who_has_fewer_neighbours_than_a_limit_is_not_asked_about(opened: list[Window]) -> None:
    limit = counted(":p", "maxCardinality", 42, "")
    of_values = counted(":d", "maxCardinality", 9, "")
    window = Window(f":A rdfs:subClassOf {limit} , {of_values} .")
    opened.append(window)
    window.change([(ONE, rdf.TYPE, BUS)])
    for each in PEOPLE[:42]:
        window.change([(ONE, P, each)])
    assert window.worker.islands == 0
    assert window.reasoner.largest_island == 1


def test_who_has_more_neighbours_than_a_limit_is_asked_about_as_long_as_that_holds(
    opened: list[Window],
) -> None:
    window = Window(f":A rdfs:subClassOf {counted(':p', 'maxCardinality', 7, ':C')} .")
    opened.append(window)
    window.change([(ONE, rdf.TYPE, BUS)])
    for each in PEOPLE[:9]:
        window.change([(ONE, P, each)])
    assert window.worker.islands == 0
    eight = PEOPLE[:8]
    window.change([(each, rdf.TYPE, IRI(f"{BASE}C")) for each in eight[:7]])
    apart = [
        (one, owl.DIFFERENT_FROM, other)
        for place, one in enumerate(eight)
        for other in eight[place + 1 :]
    ]
    window.change(apart)
    assert window.worker.islands == 0
    with pytest.raises(Inconsistent):
        window.change([(eight[7], rdf.TYPE, IRI(f"{BASE}C"))])
    assert window.worker.islands > 0


def test_who_has_many_neighbours_is_of_the_class_of_those_who_have(opened: list[Window]) -> None:
    window = Window(f"{counted(':p', 'minCardinality', 7, '')} rdfs:subClassOf :B .")
    opened.append(window)
    seven = PEOPLE[:7]
    apart = [
        (one, owl.DIFFERENT_FROM, other)
        for place, one in enumerate(seven)
        for other in seven[place + 1 :]
    ]
    window.change(apart + [(ONE, P, each) for each in seven[:6]])
    assert not window.is_full()
    assert window.worker.islands == 0
    window.change([(ONE, P, seven[6])])
    assert window.is_full()
    window.change([], [(ONE, P, seven[0])])
    assert not window.is_full()
