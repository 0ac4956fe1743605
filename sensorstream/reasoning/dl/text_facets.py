"""Axioms that measure texts or match them, which Pellet is not told.

Pellet 2.3.1 throws an UnsupportedOperationException on ``xsd:pattern``, and refuses values that are
as long as ``xsd:minLength`` and ``xsd:maxLength`` want.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.model.vocabulary import OWL_EQUIVALENT_CLASS, RDF, RDF_TYPE, RDFS
from sensorstream.model.xsd import XSD

TEXT_FACETS: Final = frozenset(
    {*(f"{XSD}{word}" for word in ("length", "minLength", "maxLength", "pattern"))}
    | {f"{RDF}langRange"}
)
"""What restricts texts by how long they are, or by what they look like."""


def without_text_facets(axioms: Collection[Triple]) -> list[Triple]:
    """The axioms of which no part has such a facet: leaving out others says less, never more."""
    parts = _parts_with(axioms)
    if not parts:
        return list(axioms)
    kept = [each for each in axioms if each[0] not in parts and each[2] not in parts]
    # What only the axioms left out were made of is left out, too.
    while orphans := _blank(each[0] for each in kept) & _blank(o for _, _, o in axioms) - _blank(
        o for _, _, o in kept
    ):
        kept = [each for each in kept if each[0] not in orphans]
    return kept


def _parts_with(axioms: Collection[Triple]) -> set[Subject]:
    """The expressions, and the datatypes that are defined by them, with such a facet."""
    defined = {s for s, p, o in axioms if p == RDF_TYPE and o == f"{RDFS}Datatype"}
    found: set[Subject] = {s for s, p, _ in axioms if p in TEXT_FACETS}
    while more := {
        s
        for s, p, o in axioms
        if o in found
        and s not in found
        and (isinstance(s, BlankNode) or (s in defined and p == OWL_EQUIVALENT_CLASS))
    }:
        found |= more
    return found


def _blank(terms: Iterable[object]) -> set[BlankNode]:
    return {each for each in terms if isinstance(each, BlankNode)}
