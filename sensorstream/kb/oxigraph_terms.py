"""Terms to and from pyoxigraph, and how its store changes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import pyoxigraph as ox

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.xsd import RDF_LANG_STRING
from sensorstream.sparql.extensions import EXTENSIONS, Extension

OxigraphTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
OxigraphSubject: TypeAlias = ox.NamedNode | ox.BlankNode

_KEPT_AS_WRITTEN: Final = frozenset({xsd.STRING, RDF_LANG_STRING})


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
    """Convert the triple of a quad; raises as :func:`from_oxigraph`."""
    subject = from_oxigraph(quad.subject)
    assert not isinstance(subject, Literal)
    return subject, IRI(quad.predicate.value), from_oxigraph(quad.object)


def _for_oxigraph(extension: Extension) -> Callable[..., OxigraphTerm | None]:
    def function(*terms: OxigraphTerm) -> OxigraphTerm | None:
        if len(terms) != 2 or any(isinstance(term, ox.Triple) for term in terms):
            return None
        found = extension(*map(from_oxigraph, terms))
        return None if found is None else to_oxigraph(found)

    return function


FUNCTIONS: Final = {
    ox.NamedNode(name): _for_oxigraph(extension) for name, extension in EXTENSIONS.items()
}


def stored_form(literal: Literal) -> Literal:
    """Return what Oxigraph's store makes of a literal: the value of numbers, booleans and times.

    It does not keep how they were written: ``01`` becomes ``1``, an ``xsd:int`` an ``xsd:integer``.
    """
    if literal.datatype in _KEPT_AS_WRITTEN:
        return literal
    store = ox.Store()
    node = ox.BlankNode("x")
    store.add(ox.Quad(node, ox.NamedNode("x:x"), to_oxigraph(literal)))
    stored = from_oxigraph(next(iter(store)).object)
    assert isinstance(stored, Literal)
    return stored


def same_when_stored(one: Term, other: Term) -> bool:
    """Whether Oxigraph's store cannot tell two terms apart."""
    if one == other:
        return True
    if not (isinstance(one, Literal) and isinstance(other, Literal)):
        return False
    if one.datatype in _KEPT_AS_WRITTEN or other.datatype in _KEPT_AS_WRITTEN:
        return False
    return stored_form(one) == stored_form(other)
