"""The most individuals that are asked about together, after every change."""

from __future__ import annotations

import os
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts, Types
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology

from .test_random_ontologies import BASE, ontology, restriction

NODES = [IRI(f"{BASE}n{n}") for n in range(6)]
P, A = IRI(f"{BASE}p"), IRI(f"{BASE}A")
links = st.tuples(st.sampled_from(NODES), st.just(P), st.sampled_from(NODES))
kinds = st.tuples(st.sampled_from(NODES), st.just(rdf.TYPE), st.just(A))
changes = st.lists(st.sets(st.one_of(links, kinds), max_size=7), min_size=1, max_size=6)
EXAMPLES = int(os.environ.get("TEST_ONTOLOGIES", "40"))


class Silent(Worker):
    """A process of which nothing follows, so that none has to be started."""

    def start(self) -> bool:
        return True

    def ask(self, islands: list[IslandFacts]) -> list[Types | None]:
        return [[[] for _ in facts.names] for facts in islands]


def largest(window: Iterable[Triple]) -> int:
    """By definition: the largest set of individuals that links connect."""
    groups: list[set[str]] = []
    for s, p, o in window:
        about = {s, o} if p == P else {s}
        touching = [group for group in groups if group & about]
        groups = [group for group in groups if not group & about]
        groups.append(about.union(*touching))
    return max(map(len, groups), default=1)


@settings(max_examples=EXAMPLES)
@given(windows=changes)
def test_the_largest_island_is_that_of_the_links_after_every_change(
    windows: list[set[Triple]],
) -> None:
    # So many neighbours have no rules: all who are linked are asked about together.
    number = restriction(":p", 'owl:minCardinality "9"^^xsd:nonNegativeInteger')
    loaded = ontology(f":p rdfs:domain {number} .")
    reasoner = DlReasoner(Terminology.of(loaded), Silent("hermit", b""), remembered=0)
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, loaded.triples)
    reasoner.start(kb)
    assert reasoner.largest_island == 1
    before: set[Triple] = set()
    for window in windows:
        # No two are alike: of others, two are asked about.
        ends = {end for s, p, o in window for end in ((s, o) if p == P else (s,))}
        window = window | {(IRI(end), rdf.TYPE, IRI(f"{end}-own")) for end in ends}
        delta = Delta(0, tuple(sorted(window - before)), tuple(sorted(before - window)))
        kb.apply(Origin.WINDOW, delta)
        reasoner.react(kb, delta)
        assert reasoner.largest_island == largest(window)
        before = window
