"""Reports of a query: rows that came, rows that went, or all rows, at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row


class RowOperation(Enum):
    """The role of rows in a report."""

    ADDED = "+"
    REMOVED = "-"
    RESULT = "="
    """Rows of the whole result."""


@frozen
class Report:
    """A report of a query: ``rows`` over ``variables``, duplicates included.

    ``triples`` replace the rows for a CONSTRUCT query, ``answer`` for ASK. ``intervals`` are those
    of a pattern in time: one for each row, or the one of all ``triples``.
    """

    query: str
    time: Instant
    operation: RowOperation
    variables: tuple[str, ...] = ()
    rows: Sequence[Row] = ()
    triples: Sequence[Triple] | None = None
    answer: bool | None = None
    intervals: Sequence[tuple[Instant, Instant]] | None = None
    rule: str | None = None
    """The rule over time that made ``triples``."""


Sink: TypeAlias = Callable[[Report], None]
