"""Class expressions and data ranges, as OWL writes them in RDF: blank nodes with parts.

Source: OWL 2 Mapping to RDF Graphs, section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_CLASS,
    OWL_COMPLEMENT_OF,
    OWL_INTERSECTION_OF,
    OWL_ON_PROPERTY,
    OWL_ONE_OF,
    OWL_RESTRICTION,
    RDF_FIRST,
    RDF_REST,
    RDF_TYPE,
    RDFS,
)
from sensorstream.model.xsd import XSD

DESCRIBING: Final = frozenset(
    {OWL_ON_PROPERTY, OWL_INTERSECTION_OF, IRI(f"{OWL}unionOf"), OWL_COMPLEMENT_OF, OWL_ONE_OF}
)
"""A node with one of these properties is a class expression, or a data range."""
_DATATYPE: Final = IRI(f"{RDFS}Datatype")


def missing_kinds(triples: Iterable[Triple]) -> Iterator[Triple]:
    """What the nodes are whose kind is not written: restrictions, classes, data ranges.

    Readers of OWL take a node without a kind for an annotation, and leave it out. One with a
    literal or a datatype of XML Schema among its parts is a data range.
    """
    told: dict[BlankNode, dict[IRI, Term]] = {}
    for s, p, o in triples:
        if isinstance(s, BlankNode):
            told.setdefault(s, {})[p] = o
    for node, parts in told.items():
        if RDF_TYPE in parts or DESCRIBING.isdisjoint(parts):
            continue
        if OWL_ON_PROPERTY in parts:
            yield node, RDF_TYPE, OWL_RESTRICTION
        else:
            is_range = any(map(_is_of_data, _parts(parts, told)))
            yield node, RDF_TYPE, _DATATYPE if is_range else OWL_CLASS


def _is_of_data(part: Term) -> bool:
    return isinstance(part, Literal) or (isinstance(part, IRI) and part.startswith(XSD))


def _parts(node: dict[IRI, Term], told: dict[BlankNode, dict[IRI, Term]]) -> Iterator[Term]:
    """The operands of a node, and the members of its list."""
    for p, value in node.items():
        if p not in DESCRIBING:
            continue
        yield value
        seen: set[Term] = set()
        while isinstance(value, BlankNode) and value not in seen:
            seen.add(value)
            cell = told.get(value, {})
            if RDF_FIRST in cell:
                yield cell[RDF_FIRST]
            value = cell.get(RDF_REST, value)
