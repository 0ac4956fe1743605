"""A story as data: its steps in order, each with its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from sensorstream.errors import Position


class Amount(Enum):
    """How much an expectation says of what there is."""

    AT_LEAST = ""
    """What is written is there; there may be more."""
    ONLY = "only"
    """What is written is new since the expectations before, and nothing else is."""
    NOT = "not"
    """Nothing of what is written is there."""


@dataclass(frozen=True, slots=True)
class Given:
    """``message`` or ``event``: what comes in.

    ``text`` is XML, a path, or Turtle; ``time`` is the time of arrival of a message, the
    application time of an event; "" for that of the step before.
    """

    kind: str
    text: str
    source: str
    time: str
    position: Position


@dataclass(frozen=True, slots=True)
class Query:
    """``query FILE``: a continuous query begins.

    One whose ``text`` is in the document has no ``path``; the text starts at the position.
    """

    path: str
    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class Advance:
    """``advance to TIME``: nothing from before that time will come; "" ends the streams."""

    time: str
    position: Position


@dataclass(frozen=True, slots=True)
class Expectation:
    """``then …``: ``what`` is asserted, inferred, alert, reply, report, ask or a status."""

    amount: Amount
    what: str
    text: str
    position: Position

    def __str__(self) -> str:
        words = ("then", self.amount.value, self.what)
        return " ".join(word for word in words if word)


Step: TypeAlias = Given | Query | Advance | Expectation


@dataclass(frozen=True, slots=True)
class Story:
    """``rules`` are rules of the document that this story runs with; None: the deployment's.

    They start at line 1 of the document, so that errors name the right line.
    """

    name: str
    steps: tuple[Step, ...]
    position: Position
    prefixes: Mapping[str, str] = field(default_factory=dict)
    rules: str | None = None

    @property
    def file(self) -> Path:
        """The document it stands in."""
        return Path(self.position.file)
