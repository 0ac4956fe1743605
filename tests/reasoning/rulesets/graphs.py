"""Graphs and rules of tests, from short texts."""

from __future__ import annotations

import pyoxigraph as ox

from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import Triple
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.rule_set_reader import read

PREFIXES = """
PREFIX : <http://example.org/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX ss: <urn:sensorstream:mapping#>
"""


def graph(turtle: str) -> set[Triple]:
    """The triples of a text in Turtle."""
    text = f"{PREFIXES}\n{turtle.rstrip(' .')} ."
    return {
        (from_oxigraph(t.subject), from_oxigraph(t.predicate), from_oxigraph(t.object))  # type: ignore[misc]
        for t in ox.parse(text, format=ox.RdfFormat.TURTLE)
    }


def indexed(triples: set[Triple]) -> TripleIndex:
    """An index with the triples, in an order that does not change."""
    index = TripleIndex()
    for triple in sorted(triples):
        index.add(triple)
    return index


def rules(text: str) -> RuleSet:
    """A rule set in which the prefixes are known."""
    return read(f"{PREFIXES}\n{text}", "mine.ru")
