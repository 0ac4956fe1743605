"""What a query gives out: rows that came, rows that went, or all rows, at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from hashlib import blake2b
from typing import TypeAlias

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row, slots_of
from sensorstream.sparql.algebra import TriplePattern, Variable


class RowOperation(Enum):
    """How rows stand in a report."""

    ADDED = "+"
    REMOVED = "-"
    RESULT = "="
    """A row of the whole result."""


@frozen
class Report:
    """One report of a query: ``rows`` lay out ``variables``; each as often as it occurs.

    ``triples`` stand for rows in the reports of a CONSTRUCT query, ``answer`` in those of ASK.
    ``intervals`` are those of a pattern in time: one for each row, or the one of all ``triples``.
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
    """The rule over time that has made ``triples``."""


Sink: TypeAlias = Callable[[Report], None]


def instantiated(
    template: Sequence[TriplePattern], variables: Sequence[str]
) -> Callable[[Iterable[Row]], list[Triple]]:
    """A function from solutions to the triples of a CONSTRUCT template (section 16.2).

    A solution always gives the same triples: blank nodes are named after solution and label.
    What is no triple (an unbound end, a literal as subject) is left out.
    """
    places = slots_of(variables)

    def triples(rows: Iterable[Row]) -> list[Triple]:
        found: list[Triple] = []
        for row in rows:
            for pattern in template:
                s = _filled(pattern.subject, row, places)
                p = _filled(pattern.predicate, row, places)
                o = _filled(pattern.object, row, places)
                if isinstance(s, IRI | BlankNode) and isinstance(p, IRI) and o is not None:
                    found.append((s, p, o))
        return found

    return triples


def _filled(end: object, row: Row, places: dict[str, int]) -> Term | None:
    if isinstance(end, Variable):
        place = places.get(end.name)
        return None if place is None else row[place]
    if isinstance(end, BlankNode):
        content = "\x00".join((end, *("" if each is None else each.n3 for each in row)))
        return BlankNode(f"_:c{blake2b(content.encode(), digest_size=12).hexdigest()}")
    return end if isinstance(end, IRI | Literal) else None
