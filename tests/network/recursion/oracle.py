"""Naive re-materialisation: the rules as SPARQL updates on Oxigraph, until nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

import pyoxigraph as ox

from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.sparql.algebra import Construct, Query
from sensorstream.sparql.query_printer import query_text
from tests.network.oracle import spelled_out

WINDOW = IRI("http://example.org/window")


def rematerialised(
    layers: Iterable[Sequence[DerivationRule]],
    facts: Iterable[Triple],
    window: Iterable[Triple] = (),
) -> set[Triple]:
    """What the rules derive, layer by layer; facts are in it if they are derived as well.

    A window is a named graph here: rules of the test say GRAPH where the program says WINDOW.
    """
    store = ox.Store()
    for graph, triples in ((ox.DefaultGraph(), facts), (ox.NamedNode(WINDOW), window)):
        for s, p, o in triples:
            store.add(ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o), graph))
    derived: set[Triple] = set()
    for rules in layers:
        texts = [
            query_text(Query(Construct(rule.head, spelled_out(rule.body, count()))))
            for rule in rules
        ]
        while True:
            found: set[Triple] = set()
            for text in texts:
                answer = store.query(text)
                assert isinstance(answer, ox.QueryTriples)
                for triple in answer:
                    store.add(ox.Quad(triple.subject, triple.predicate, triple.object))
                    found.add(_triple(triple))
            if found <= derived:
                break
            derived |= found
    return derived


def _triple(triple: ox.Triple) -> Triple:
    s, p, o = (from_oxigraph(each) for each in (triple.subject, triple.predicate, triple.object))
    return s, p, o  # type: ignore[return-value]
