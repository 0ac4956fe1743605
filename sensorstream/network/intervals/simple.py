"""SELECT, UNION and LIMIT over intervals, and what holds always."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.node import Telling, TimedNode, order_of_use
from sensorstream.network.node import Node, Past
from sensorstream.network.operators.simple import RowByRow, Union
from sensorstream.network.plan import nodes as plans
from sensorstream.network.rows import ALWAYS, TimedRow, slots_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Path, Variable


class TimedProject(Telling, RowByRow):
    """SELECT: rows that become equal are one solution."""

    def flush(self) -> None:
        super().flush()
        self.added, found = [], self.added
        self.give(found)


class TimedUnion(Telling, Union):
    """The rows of all inputs; where one lacks a variable it is unbound."""

    def flush(self) -> None:
        super().flush()
        self.added, found = [], self.added
        self.give(found)

    def describe(self) -> str:
        return "UNION"


class TimedFirst(TimedNode):
    """LIMIT and OFFSET: those of all rows that end first, since what comes later changes nothing.

    What holds always comes before all that happens. Solutions that end together are taken in the
    order of their starts, and then of their bindings by name. It remembers as many as decide which
    of the later ones are wanted.
    """

    def __init__(self, plan: plans.First, source: Node) -> None:
        super().__init__((source,), plan.variables, plan.certain)
        self._offset = plan.offset
        self._limit = plan.limit
        self._lasting = 0
        self._told = _Told(plan.offset + (plan.limit or 0))

    def flush(self) -> None:
        (source,) = self.inputs
        before = self._lasting + len(self._told)
        if self._limit is not None and before >= self._offset + self._limit:
            return
        rows = sorted(source.added, key=order_of_use(self.variables))
        self._told.add(rows)
        self.give(self._cut(rows, before))

    def _cut(self, rows: list[TimedRow], before: int) -> list[TimedRow]:
        first = max(self._offset - before, 0)
        if self._limit is None:
            return rows[first:]
        return rows[first : max(self._offset + self._limit - before, 0)]

    def renew(self) -> None:
        (source,) = self.inputs
        rows = sorted(dict.fromkeys(source.rows()), key=order_of_use(self.variables))
        self._lasting = len(rows)
        self.always = self._cut(rows, 0)

    def kept(self) -> Sequence[tuple[int, Past]]:
        return ((0, self._told),)


class _Told(list[TimedRow]):
    """The first so many rows, in the order they came."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add(self, rows: Iterable[TimedRow]) -> None:
        self += islice(rows, max(self._most - len(self), 0))

    def forget(self, now: Instant) -> None:
        """Nothing: they have been told."""

    def happened(self) -> Iterator[TimedRow]:
        return iter(self)


def same_occurrence(
    names: Sequence[str], pairs: Iterable[tuple[str, str]]
) -> Callable[[TimedRow], bool]:
    """Whether the labelled occurrences that are of the same triple are one occurrence."""
    places = slots_of(names)
    compared = [(places[one], places[other]) for one, other in pairs]

    def test(row: TimedRow) -> bool:
        return all(row[i][:3] != row[j][:3] or row[i] == row[j] for i, j in compared)

    return test


class Known(TimedNode):
    """The triples, or the ends of the paths, that hold always and fit a pattern: no interval.

    A path is walked from each node where it can begin, or from the end that is given. Source:
    SPARQL 1.1 Query, section 18.4 (property paths); solutions are a set, so that of equal ends
    there is one.
    """

    def __init__(
        self, pattern: plans.Known, index: TripleIndex, holds: Callable[[Triple], bool]
    ) -> None:
        super().__init__((), pattern.variables, pattern.certain)
        self._pattern = pattern
        self._index = index
        self._holds = holds

    def flush(self) -> None:
        """Nothing happens to it."""

    def renew(self) -> None:
        pattern, found = self._pattern, dict[tuple[Any, ...], None]()
        for terms in self._fitting():
            row: dict[str, Term] = {}
            if all(
                row.setdefault(end.name, term) == term if isinstance(end, Variable) else end == term
                for end, term in zip(pattern.ends, terms, strict=True)
            ):
                found[(*ALWAYS, *row.values())] = None
        self.always = list(found)

    def _fitting(self) -> Iterator[tuple[Any, ...]]:
        pattern = self._pattern
        subject, predicate, object_ = pattern.subject, pattern.predicate, pattern.object
        start = None if isinstance(subject, Variable) else subject
        end = None if isinstance(object_, Variable) else object_
        if isinstance(predicate, Variable):
            yield from self._triples(start, None, end)
        elif isinstance(predicate, IRI):
            yield from self._triples(start, predicate, end)
        elif start is None and end is not None:
            for each in self._walked(end, predicate, back=True):
                yield each, predicate, end
        else:
            starts = self._starts(predicate, back=False) if start is None else (start,)
            for node in starts:
                for each in self._walked(node, predicate, back=False):
                    yield node, predicate, each

    def _triples(self, *ends: Any) -> Iterator[Triple]:
        for each in self._index.match(*ends):
            self.meter.take(1)
            if self._holds(each):
                yield each

    def _walked(self, node: Term, path: Path, *, back: bool) -> Iterable[Term]:
        """Where a path from a node ends; ``back``: where one to it begins."""
        match path:
            case IRI():
                return self._stepped(node, path, back)
            case algebra.Inverse(inner):
                return self._walked(node, inner, back=not back)
            case algebra.Sequence(left, right):
                first, then = (right, left) if back else (left, right)
                between = dict.fromkeys(self._walked(node, first, back=back))
                return dict.fromkeys(
                    each for middle in between for each in self._walked(middle, then, back=back)
                )
            case algebra.Alternative(left, right):
                both = (self._walked(node, each, back=back) for each in (left, right))
                return dict.fromkeys(each for part in both for each in part)
            case algebra.ZeroOrOne(inner):
                return dict.fromkeys((node, *self._walked(node, inner, back=back)))
            case algebra.ZeroOrMore(inner):
                return self._closed((node,), inner, back)
            case algebra.OneOrMore(inner):
                return self._closed(self._walked(node, inner, back=back), inner, back)
            case algebra.NegatedSet(forward, backward):
                found: dict[Term, None] = {}
                if forward or not backward:
                    found |= self._other_than(node, forward, back)
                if backward:
                    found |= self._other_than(node, backward, not back)
                return found

    def _closed(self, nodes: Iterable[Term], path: Path, back: bool) -> Iterable[Term]:
        """Some nodes, and all that is reached from them by any number of steps."""
        found = dict.fromkeys(nodes)
        ahead = list(found)
        while ahead:
            for each in self._walked(ahead.pop(), path, back=back):
                if each not in found:
                    found[each] = None
                    ahead.append(each)
        return found

    def _stepped(self, node: Term, predicate: IRI | None, back: bool) -> dict[Term, None]:
        if back:
            return dict.fromkeys(each[0] for each in self._triples(None, predicate, node))
        return dict.fromkeys(each[2] for each in self._triples(node, predicate, None))

    def _other_than(self, node: Term, names: tuple[IRI, ...], back: bool) -> dict[Term, None]:
        ends = (None, None, node) if back else (node, None, None)
        place = 0 if back else 2
        return dict.fromkeys(each[place] for each in self._triples(*ends) if each[1] not in names)

    def _starts(self, path: Path, *, back: bool) -> Iterable[Term]:
        """At least the nodes from which a path leads anywhere; ``back``: at which it ends."""
        match path:
            case IRI():
                return dict.fromkeys(t[2 if back else 0] for t in self._triples(None, path, None))
            case algebra.Inverse(inner):
                return self._starts(inner, back=not back)
            case algebra.OneOrMore(inner):
                return self._starts(inner, back=back)
            case algebra.Alternative(left, right):
                both = (self._starts(each, back=back) for each in (left, right))
                return dict.fromkeys(each for part in both for each in part)
        # All nodes: a path that may be empty leads from each to itself.
        return dict.fromkeys(t[end] for t in self._triples(None, None, None) for end in (0, 2))
