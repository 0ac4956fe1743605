"""The messages between the reasoner's process and its owner.

A frame is four bytes of length (big-endian) and that many bytes of JSON. Requests and answers
alternate; the owner sends the requests.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

HEADER: Final = struct.Struct(">I")
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LoadAxioms:
    """Start the reasoner with these axioms (N-Triples)."""

    reasoner: str
    axioms: str


@dataclass(frozen=True, slots=True)
class AskTypes:
    """What are the types of every member of these islands?"""

    islands: list[IslandFacts]


@dataclass(frozen=True, slots=True)
class Answer:
    """One entry per island asked; None means the island contradicts the axioms.

    Answers a :class:`LoadAxioms` too: with one empty entry, or None where the axioms contradict
    themselves. ``error`` describes a failure; "" if there was none.
    """

    islands: list[Types | None]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Explain:
    """Which axioms contradict these triples (both N-Triples)? To be found within ``seconds``.

    ``candidates`` are assertions, each an N-Triples text with the declarations that it needs: those
    that are needed are to be found like the axioms, and preferred to these.
    """

    axioms: str
    triples: str
    seconds: float
    candidates: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explained:
    """A minimal set of axioms in Manchester syntax; None if it was not found in time.

    ``consistent``: there is no such set, axioms and triples have a model together. ``chosen`` are
    the numbers of the candidates that are in the set.
    """

    axioms: list[str] | None
    consistent: bool = False
    error: str = ""
    chosen: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Realise:
    """What follows about the individuals of this document (N-Triples)?

    Listed values of datatype properties are those asserted with a subproperty or for an equal
    individual, and those of ``values``: (property, literal), as N-Triples.
    """

    document: str
    values: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Realised:
    """Types, property values and equalities from HermiT's lists: some may not be entailed.

    None means that the document has no model.
    """

    statements: list[Statement] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Verify:
    """Which of these follow from the document that was realised last?"""

    statements: list[Statement]


@dataclass(frozen=True, slots=True)
class Verified:
    """For each statement asked about, whether it follows."""

    holds: list[bool]
    error: str = ""


Message: TypeAlias = (
    LoadAxioms | AskTypes | Answer | Explain | Explained | Realise | Realised | Verify | Verified
)


_KINDS: Final[dict[str, type[Any]]] = {
    "load": LoadAxioms,
    "ask": AskTypes,
    "answer": Answer,
    "explain": Explain,
    "explained": Explained,
    "realise": Realise,
    "realised": Realised,
    "verify": Verify,
    "verified": Verified,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def encode(message: Message) -> bytes:
    """The frame of one message: its name and its fields, in JSON."""
    body = [_NAMES[type(message)], *_fields(message)]
    data = json.dumps(body, separators=(",", ":"), ensure_ascii=False, default=_fields).encode()
    return HEADER.pack(len(data)) + data


def _fields(message: Any) -> list[Any]:
    return [getattr(message, name) for name in type(message).__slots__]


def decode(body: bytes) -> Message:
    """The message in one frame's body; what were tuples are lists."""
    match json.loads(body):
        case ["ask", islands]:
            return AskTypes([IslandFacts(*each) for each in islands])
        case [str() as name, *parts] if name in _KINDS:
            return _KINDS[name](*parts)  # type: ignore[no-any-return]
        case other:
            raise ValueError(f"'{str(other)[:80]}' is not a message of the protocol")


def read(receive: Callable[[int], bytes]) -> Message | None:
    """One message from ``receive(n)``, which returns n bytes, or b"" at the end (then: None)."""
    header = receive(HEADER.size)
    if not header:
        return None
    (length,) = HEADER.unpack(header)
    return decode(receive(length))
