"""What the workers of Spark and the processes that hold the engines say to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sensorstream.history.pipeline import Standing
from sensorstream.journal.takeover import PutRules
from sensorstream.settings import Settings


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key's engine is: ``last`` is its last entry, ``first`` that which it began with.

    ``since`` counts the entries since its checkpoint.
    """

    first: int
    last: int
    since: int


@dataclass(frozen=True, slots=True)
class HostTask:
    """What a host is for.

    ``ontology`` is one put in force, with its media type; ``rules`` is the entry that put rules.
    """

    settings: Settings
    url: str
    ontology: tuple[bytes, str] | None
    secret: bytes
    rules: PutRules | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """The next entries of a key, packed; none where it is woken by what all engines hear.

    ``place`` is where its engine must be; None: it is new. ``controls`` is the last entry for all
    engines that it must have heard of then.
    ``checkpoint`` and ``kept`` (packed as well) are sent when the host has asked for them.
    """

    key: str
    place: Place | None
    controls: int
    chunks: Sequence[bytes]
    rebuild: bool = False
    checkpoint: tuple[int, bytes] | None = None
    kept: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The packed effects, and what is to be kept: the entries, or a checkpoint instead of all."""

    place: Place
    effects: bytes
    entries: bytes
    checkpoint: bytes | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Failed:
    """Why the work could not be done."""

    reason: str
