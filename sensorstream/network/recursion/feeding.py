"""From which kinds of triples rules may come to conclude some kind, as far as their text shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.network.recursion.kinds import KindIndex
from sensorstream.network.recursion.linear import FlatClosure
from sensorstream.network.recursion.reads import Kind, reads, written
from sensorstream.network.recursion.rule import Clause
from sensorstream.sparql.algebra import TriplePattern


def feeding(
    goal: Kind, clauses: Iterable[Clause], linear: FlatClosure | None = None
) -> frozenset[Kind]:
    """The goal, and all kinds of premises from which rules may conclude it, in several steps.

    Conclusions whose two ends are the same do not count.
    """
    writers: KindIndex[frozenset[Kind]] = KindIndex()
    for clause in clauses:
        premises = frozenset(read.kind for read in reads(clause.body.pattern))
        for kind in _linking(clause.head):
            writers.add(kind, premises)
    if linear is not None:
        for premise, head in linear.steps():
            for kind in _linking(head):
                writers.add(kind, frozenset((written(premise),)))
        for table in linear.tables:
            for kind in table.heads:
                writers.add(kind, frozenset((Kind(table.predicate, None),)))
    found = {goal}
    ahead = [goal]
    while ahead:
        for premises in list(writers.meeting(ahead.pop())):
            new = premises - found
            found |= new
            ahead += new
    return frozenset(found)


def _linking(head: Iterable[TriplePattern]) -> Iterator[Kind]:
    return (written(triple) for triple in head if triple.subject != triple.object)
