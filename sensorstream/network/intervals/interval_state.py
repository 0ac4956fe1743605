"""The state of a pattern in time that survives a restart or a change of the background."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant
from sensorstream.network.node import Node, operators
from sensorstream.network.plan.nodes import OCCURRENCE
from sensorstream.network.rows import TimedRow, shown


@frozen
class KeptRow:
    """A row that an operator remembers of one of its inputs: its terms, and all its times."""

    operator: int
    side: int
    terms: tuple[Term | None, ...]
    times: tuple[Instant, ...]


def kept_rows(root: Node) -> tuple[KeptRow, ...]:
    """The rows of what happened that the operators of a query remember."""
    return tuple(
        KeptRow(number, side, *flat(row))
        for number, node in enumerate(timed_operators(root))
        for side, kept in node.kept()
        for row in kept.happened()
    )


def keep_rows(root: Node, rows: Iterable[KeptRow]) -> None:
    """Put the rows of :func:`kept_rows` into new operators."""
    nodes = timed_operators(root)
    for each in rows:
        node = nodes[each.operator]
        kept = dict(node.kept())[each.side]
        kept.add((row_of(each, node.inputs[each.side].variables),))


def flat(row: TimedRow) -> tuple[tuple[Term | None, ...], tuple[Instant, ...]]:
    """The terms of a row, and all its times."""
    terms: list[Term | None] = []
    times: list[Instant] = []
    for cell in row[2:]:
        if isinstance(cell, tuple):
            # The label of an occurrence.
            terms += cell[:3]
            times += cell[3:]
        else:
            terms.append(cell)
    return tuple(terms), (*times, *row[:2])


def row_of(kept: KeptRow, variables: tuple[str, ...]) -> TimedRow:
    """The row from which :func:`flat` made the parts."""
    terms, times = iter(kept.terms), iter(kept.times)
    cells: list[object] = []
    for name in shown(variables):
        if name.startswith(OCCURRENCE):
            cells.append((next(terms), next(terms), next(terms), next(times), next(times)))
        else:
            cells.append(next(terms))
    return (*times, *cells)


def timed_operators(root: Node) -> list[Node]:
    """The operators of a query, the root last, in an order that is the same after a restart."""
    return [*operators(root)][::-1]


def renew(root: Node) -> None:
    """Take in the background knowledge as it is now."""
    for each in sorted(timed_operators(root), key=lambda node: node.depth):
        each.renew()
