"""Denied values in the form that HermiT handles correctly.

HermiT compares a negative assertion of a value with the other assertions of a document by their
text: where ``4`` is denied it accepts ``"04"``. Values in classes are compared as values, so the
individual is told to be outside of the class of those that have the value, which means the same.

Source: OWL 2 Direct Semantics, sections 2.2.3 and 2.3.3; OWL 2 Mapping to RDF Graphs, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_CLASS,
    OWL_COMPLEMENT_OF,
    OWL_HAS_VALUE,
    OWL_NEGATIVE_ASSERTION,
    OWL_ON_PROPERTY,
    OWL_RESTRICTION,
    RDF_TYPE,
)
from sensorstream.reasoning.dl.axioms import Axioms

_SOURCE: Final = IRI(f"{OWL}sourceIndividual")
_PROPERTY: Final = IRI(f"{OWL}assertionProperty")
_VALUE: Final = IRI(f"{OWL}targetValue")


def with_values_denied_by_class(triples: Sequence[Triple]) -> list[Triple]:
    """The triples, with each negative assertion of a value as the assertion of a class.

    Negative assertions of links stay, and so do those that lack a part.
    """
    axioms = Axioms(triples)
    replaced: set[Triple] = set()
    made: list[Triple] = []
    for node in axioms.typed(OWL_NEGATIVE_ASSERTION):
        match tuple(axioms.value(node, each) for each in (_SOURCE, _PROPERTY, _VALUE)):
            case (IRI() | BlankNode() as one, IRI() as prop, Literal() as value):
                said = ((_SOURCE, one), (_PROPERTY, prop), (_VALUE, value))
                replaced.update((node, p, o) for p, o in said)
                replaced.add((node, RDF_TYPE, OWL_NEGATIVE_ASSERTION))
                made.extend(_outside(one, prop, value, len(made)))
    return [*(each for each in triples if each not in replaced), *made] if made else [*triples]


def _outside(one: Subject, prop: IRI, value: Literal, number: int) -> Iterator[Triple]:
    """That an individual does not have a value; ``number`` makes the names of its nodes new."""
    others, holders = BlankNode(f"_:without{number}"), BlankNode(f"_:with{number}")
    yield one, RDF_TYPE, others
    yield others, RDF_TYPE, OWL_CLASS
    yield others, OWL_COMPLEMENT_OF, holders
    yield holders, RDF_TYPE, OWL_RESTRICTION
    yield holders, OWL_ON_PROPERTY, prop
    yield holders, OWL_HAS_VALUE, value
