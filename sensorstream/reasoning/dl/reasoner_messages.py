"""The questions to the reasoner's process and its answers, beside texts and numbers. The classes
have no slots, with which a pickle takes twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

PREFIX: Final = "urn:sensorstream:class:"
"""Prefix of the names of probing classes."""

TAG: Final = f"{PREFIX}tag-"
"""Prefix of the classes that stand for one member of an island."""

IS: Final = f"{PREFIX}is:"
"""Prefix of the classes that stand for an individual that axioms name; its IRI follows."""
Types: TypeAlias = list[list[str]]
"""Per member of an island the IRIs of all named classes it belongs to, ``owl:Thing`` left out."""

Statement: TypeAlias = tuple[str, str, str]
"""Subject, predicate and object as N-Triples writes them."""


@dataclass(frozen=True)
class IslandFacts:
    """The assertions about some individuals, numbered from 0.

    ``names`` holds the IRI of each individual that an axiom names, None for all others: their names
    have no meaning for the reasoner. ``values`` are (individual, property, lexical form,
    datatype, language or None). ``asked`` are the classes that the question is about; None: all.
    """

    names: list[str | None]
    types: list[tuple[int, str]]
    links: list[tuple[int, str, int]]
    values: list[tuple[int, str, str, str, str | None]]
    same: list[tuple[int, int]]
    different: list[tuple[int, int]]
    asked: list[str] | None = None


@dataclass(frozen=True)
class Explained:
    """A minimal set of axioms in Manchester syntax; None if it was not found in time.

    ``consistent``: there is no such set, axioms and triples have a model together. ``chosen`` are
    the numbers of the candidates that are in the set.
    """

    axioms: list[str] | None
    consistent: bool = False
    chosen: list[int] = field(default_factory=list)
