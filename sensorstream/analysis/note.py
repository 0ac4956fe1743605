"""A remark on a query, and what is known around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sensorstream.errors import Position
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import Query, Update
from sensorstream.sparql.parser import Parsed

AnyParsed: TypeAlias = Parsed[Query] | Parsed[Update]


@dataclass(frozen=True, slots=True)
class Note:
    """No fault, but good to know; ``code`` is stable, ``text`` is for people."""

    code: str
    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class Known:
    """What is known outside the query.

    ``given`` names the variables that have a value from outside. ``streams`` are those that
    somebody sends; None: any may come. ``continuous`` says that the query is to be registered;
    others are answered at once.
    """

    schema: Schema = field(default_factory=Schema)
    given: frozenset[str] = frozenset()
    streams: frozenset[IRI] | None = None
    continuous: bool = False
