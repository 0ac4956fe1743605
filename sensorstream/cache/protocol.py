"""What a server and the process with the copy of its cache say to each other.

The server sends :class:`Change`, :class:`Ask` and :class:`End` over a socket, and after each
``Ask`` two descriptors for what comes back: the process that answers writes to the first one,
:class:`Begun`, then pieces of the answer (bytes), then :class:`Answered` or :class:`Failed`. When
it has ended, its exit code is written to the second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sensorstream.errors import SensorStreamError


@dataclass(frozen=True, slots=True)
class Formats:
    """The media type to answer each kind of query in; None: the client takes none of that kind."""

    solutions: str | None
    boolean: str | None
    graph: str | None


@dataclass(frozen=True, slots=True)
class CacheQuestion:
    """A query as it came; the graphs are those of the SPARQL Protocol.

    ``names_only``: it must not describe classes; see :func:`.check_named`.
    """

    text: str
    formats: Formats
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    names_only: bool = False


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Of one question: seconds, MiB, and rows (solutions, or triples) of the answer."""

    seconds: float
    memory: int
    rows: int


@dataclass(frozen=True, slots=True)
class Change:
    """What the copy is to remove, then to add: N-Quads in UTF-8."""

    added: bytes
    removed: bytes


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer a question from the copy as it is now."""

    number: int
    question: CacheQuestion
    limits: CacheLimits


@dataclass(frozen=True, slots=True)
class End:
    """End the process that answers a question, if it still does."""

    number: int


Request: TypeAlias = Change | Ask | End


@dataclass(frozen=True, slots=True)
class Begun:
    """The question is being answered."""


@dataclass(frozen=True, slots=True)
class Answered:
    """All of the answer has been sent. ``media_type`` None: the client takes none of ``offered``,
    and nothing has been sent.
    """

    media_type: str | None
    offered: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The question cannot be answered."""

    error: SensorStreamError


Reply: TypeAlias = Begun | bytes | Answered | Failed
