"""A note on a query, and the known context of the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from sensorstream.analysis.value_kinds import Kinds
from sensorstream.errors import Position
from sensorstream.model.frozen import field, frozen
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import Query, Update
from sensorstream.sparql.query_parser import Parsed

AnyParsed: TypeAlias = Parsed[Query] | Parsed[Update]


@frozen
class Note:
    """Not a fault, but worth knowing; ``code`` is stable, ``text`` is for people."""

    code: str
    text: str
    position: Position


@frozen
class QueryContext:
    """The context of a query.

    ``given`` has the variables with a value from outside, and its kinds. ``streams`` are those with
    a known source; None: any stream may have data. ``continuous``: the query is for registration;
    other queries are answered at once. ``beside`` are those that run beside it.
    """

    schema: Schema = field(default_factory=Schema)
    given: Mapping[str, Kinds] = field(default_factory=dict)
    streams: frozenset[IRI] | None = None
    continuous: bool = False
    beside: Mapping[str, Query] = field(default_factory=dict)
