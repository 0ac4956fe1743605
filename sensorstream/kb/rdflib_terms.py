"""Triples as a graph of rdflib, and its terms as ours; literals stay as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple

if TYPE_CHECKING:
    import rdflib


def to_rdflib(triples: Iterable[Triple]) -> rdflib.Graph:
    """Make a graph of triples; the caller has checked that rdflib is installed."""
    import rdflib

    def node(term: Term) -> rdflib.term.Identifier:
        if isinstance(term, Literal):
            named = term.language is None and term.datatype != xsd.STRING
            kind = rdflib.URIRef(term.datatype) if named else None
            return rdflib.Literal(term.lexical, term.language, kind, normalize=False)
        return rdflib.URIRef(term) if isinstance(term, IRI) else rdflib.BNode(term[2:])

    graph = rdflib.Graph(bind_namespaces="none")
    for triple in triples:
        graph.add(tuple(map(node, triple)))  # type: ignore[arg-type]
    return graph


def from_rdflib(node: Any) -> Term:
    """Convert a term of rdflib to ours."""
    import rdflib

    if isinstance(node, rdflib.Literal):
        return Literal(str(node), str(node.datatype or xsd.STRING), node.language)
    return IRI(node) if isinstance(node, rdflib.URIRef) else BlankNode(f"_:{node}")
