"""Axioms as clauses: a conjunction of triples implies one of several alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable

PREFIX: Final = "urn:sensorstream:bound#"
"""Names that stand for class expressions and unnamed individuals; they belong in no answer."""
THING: Final = IRI(f"{PREFIX}thing")
"""The class of every individual."""
NAMED: Final = IRI(f"{PREFIX}named")
"""The class of the individuals that assertions or axioms name."""
OPEN: Final = IRI(f"{PREFIX}open")
"""The class of the individuals of whom a clause is left to the reasoner."""
VALUES: Final = f"{PREFIX}value-"
"""Names that stand for values, and for classes of them and links to them, begin with this."""
SAME_VALUE: Final = IRI(f"{VALUES}same")
DIFFERENT_VALUE: Final = IRI(f"{VALUES}different")


class Untreated(Exception):
    """An axiom has no clauses here, for the reason in the message."""


@frozen
class ClauseHead:
    """Triples that hold together, for some value of each of the ``unnamed`` variables. ``made`` are
    further triples about their names, once they have some.
    """

    triples: tuple[TriplePattern, ...]
    unnamed: tuple[Variable, ...] = ()
    made: tuple[TriplePattern, ...] = ()


@frozen
class BoundClause:
    """A clause: all triples of ``body`` imply one of ``heads``; without heads they are impossible.

    The two terms of each pair of ``apart`` must be different names. The variables of each group of
    ``alike`` may change places without changing the clause.
    """

    name: str
    body: tuple[TriplePattern, ...]
    heads: tuple[ClauseHead, ...]
    apart: tuple[tuple[Variable, Variable], ...] = ()
    alike: tuple[tuple[Variable, ...], ...] = ()


@frozen
class Crowd:
    """A class ``kind``, told to the upper bound, of individuals with at least ``number`` neighbours
    by ``link``. The clause about so many neighbours says nothing of others; ``clause`` finds
    neighbours.
    """

    link: IRI
    number: int
    kind: IRI
    clause: BoundClause


def implies(name: str, body: tuple[TriplePattern, ...], head: TriplePattern) -> BoundClause:
    """A clause with one triple as head."""
    return BoundClause(name, body, (ClauseHead((head,)),))


def member(one: PatternTerm, of_class: IRI) -> TriplePattern:
    """The triple that an individual is of a class."""
    return TriplePattern(one, rdf.TYPE, of_class)


def renamed(triple: TriplePattern, terms: Mapping[Variable, PatternTerm]) -> TriplePattern:
    """The triple with other terms for some variables."""
    s, o = (
        terms.get(end, end) if isinstance(end, Variable) else end
        for end in (triple.subject, triple.object)
    )
    return TriplePattern(s, triple.predicate, o)


@frozen
class PropertyRole:
    """A property, or the inverse of one; a datatype property is its link to names of values."""

    name: IRI
    forward: bool = True

    @property
    def of_values(self) -> bool:
        """Whether it links to values."""
        return self.name.startswith(VALUES)

    def between(self, one: PatternTerm, other: PatternTerm) -> TriplePattern:
        """The triple that links the two."""
        if self.forward:
            return TriplePattern(one, self.name, other)
        return TriplePattern(other, self.name, one)
