"""The messages between the reasoner's process and its owner.

Requests and answers alternate; the owner sends the requests. The classes have no slots: with them
a pickle takes twice as long.
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
class LoadAxioms:
    """Start the reasoner with these axioms (N-Triples)."""

    reasoner: str
    axioms: str


@dataclass(frozen=True)
class AskTypes:
    """What are the types of every member of these islands?"""

    islands: list[IslandFacts]


@dataclass(frozen=True)
class Answer:
    """One entry per island asked; None means the island contradicts the axioms.

    Answers a :class:`LoadAxioms` too: with one empty entry, or None where the axioms contradict
    themselves. ``error`` describes a failure; "" if there was none.
    """

    islands: list[Types | None]
    error: str = ""


@dataclass(frozen=True)
class Explain:
    """Which axioms contradict these triples (both N-Triples)? To be found within ``seconds``.

    ``candidates`` are assertions, each an N-Triples text with the declarations that it needs: those
    that are needed are to be found like the axioms, and preferred to these.
    """

    axioms: str
    triples: str
    seconds: float
    candidates: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Explained:
    """A minimal set of axioms in Manchester syntax; None if it was not found in time.

    ``consistent``: there is no such set, axioms and triples have a model together. ``chosen`` are
    the numbers of the candidates that are in the set.
    """

    axioms: list[str] | None
    consistent: bool = False
    error: str = ""
    chosen: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Realise:
    """What follows about the individuals of this document (N-Triples)?

    Listed values of datatype properties are those asserted with a subproperty or for an equal
    individual, and those of ``values``: (property, literal), as N-Triples.
    """

    document: str
    values: list[tuple[str, str]]


@dataclass(frozen=True)
class Realised:
    """Types, property values and equalities from HermiT's lists: some may not be entailed.

    None means that the document has no model.
    """

    statements: list[Statement] | None
    error: str = ""


@dataclass(frozen=True)
class Verify:
    """Which of these follow from the document that was realised last?"""

    statements: list[Statement]


@dataclass(frozen=True)
class Verified:
    """For each statement asked about, whether it follows."""

    holds: list[bool]
    error: str = ""


Message: TypeAlias = (
    LoadAxioms | AskTypes | Answer | Explain | Explained | Realise | Realised | Verify | Verified
)
