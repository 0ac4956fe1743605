"""Terms to and from pyoxigraph, and to and from a store of it that changes none.

A store keeps values, not literals (``01`` becomes ``1``, ``xsd:byte`` ``xsd:integer``); its
integers have 64 bits, its decimals 18 places. So literals of XSD's datatypes are stored under
datatypes that it does not know.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

import pyoxigraph as ox

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.xsd import XSD

OxigraphTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
OxigraphSubject: TypeAlias = ox.NamedNode | ox.BlankNode

_WRITTEN: Final = "urn:sensorstream:written:"
_HIDDEN: Final = (XSD, _WRITTEN)
_TERMS: Final = 100_000
_Any = TypeVar("_Any")


def to_oxigraph(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """Convert a term to pyoxigraph; raises TermError at an invalid IRI or language tag."""
    if not isinstance(term, Literal):
        return subject_to_oxigraph(term)
    try:
        if term.language is not None:
            return ox.Literal(term.lexical, language=term.language)
        return ox.Literal(term.lexical, datatype=ox.NamedNode(term.datatype))
    except ValueError as error:
        raise TermError(f"{term} is not RDF: {error}") from None


def subject_to_oxigraph(term: Subject) -> OxigraphSubject:
    """Convert a subject as :func:`to_oxigraph` does."""
    try:
        if isinstance(term, BlankNode):
            return ox.BlankNode(term[2:])
        return ox.NamedNode(term)
    except ValueError as error:
        raise TermError(f"'{term}' is not RDF: {error}") from None


def from_oxigraph(term: OxigraphTerm) -> Term:
    """Convert a term of pyoxigraph to ours; raises TermError at a triple term of RDF 1.2."""
    if isinstance(term, ox.NamedNode):
        return IRI(term.value)
    if isinstance(term, ox.Literal):
        return Literal(term.value, term.datatype.value, term.language)
    if isinstance(term, ox.BlankNode):
        return BlankNode(f"_:{term.value}")
    raise TermError(f"'{term}' is a triple term: expected an IRI, blank node or literal")


def triple_from_oxigraph(quad: ox.Quad) -> Triple:
    """Convert the triple of a quad, from a store too; raises as :func:`from_oxigraph`."""
    subject = from_oxigraph(quad.subject)
    assert not isinstance(subject, Literal)
    return subject, IRI(quad.predicate.value), term_of(quad.object)


def stored_text(term: Term) -> str:
    """Write a term of N-Quads for the store."""
    if type(term) is Literal and _is_hidden(term):
        return f"{term[: -len(term.datatype) - 1]}{_WRITTEN}{term.datatype}>"
    return term.n3


def _is_hidden(literal: Literal) -> bool:
    datatype = literal.datatype
    return datatype.startswith(_HIDDEN) and datatype != xsd.STRING


def hidden(term: _Any) -> _Any | Literal:
    """Convert a term to the one that the store has for it."""
    if not isinstance(term, Literal) or not _is_hidden(term):
        return term
    return Literal(term.lexical, _WRITTEN + term.datatype)


def term_of(stored: OxigraphTerm) -> Term:
    """Convert a term of the store, or of its answers, back."""
    if isinstance(stored, ox.Literal):
        return _literal(stored.value, stored.datatype.value, stored.language)
    return from_oxigraph(stored)


@lru_cache(_TERMS)
def _literal(lexical: str, datatype: str, language: str | None) -> Literal:
    # Kept with its value, which is parsed once.
    return Literal(lexical, datatype.removeprefix(_WRITTEN), language)


@lru_cache(_TERMS)
def stored(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """Convert a term to the one of pyoxigraph that the store has for it."""
    return to_oxigraph(hidden(term))
