"""Axioms as clauses: a conjunction of triples implies one of several alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable

PREFIX: Final = "urn:sensorstream:bound#"
"""Names that stand for class expressions and unnamed individuals; they belong in no answer."""
THING: Final = IRI(f"{PREFIX}thing")
"""The class of every individual."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Triples that hold together, for some value of each of the ``unnamed`` variables."""

    triples: tuple[TriplePattern, ...]
    unnamed: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class Clause:
    """If all triples of ``body`` hold, one of ``heads`` does; without heads that is impossible."""

    name: str
    body: tuple[TriplePattern, ...]
    heads: tuple[Alternative, ...]


def member(one: PatternTerm, of_class: IRI) -> TriplePattern:
    """An individual is of a class."""
    return TriplePattern(one, RDF_TYPE, of_class)


@dataclass(frozen=True, slots=True)
class Role:
    """A property, or the inverse of one."""

    name: IRI
    forward: bool = True

    def between(self, one: PatternTerm, other: PatternTerm) -> TriplePattern:
        """The triple that links the two."""
        if self.forward:
            return TriplePattern(one, self.name, other)
        return TriplePattern(other, self.name, one)
