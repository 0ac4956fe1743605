"""Aggregates that take insertions and deletions (SPARQL 1.1, section 18.5.1).

Sums are kept as exact fractions: taking a value out leaves no trace of rounding behind, and
the order of arrival makes no difference.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

from sensorstream.model.datatypes import XSD_INTEGER
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.values import number, numeral, order_key, rank, text
from sensorstream.sparql.algebra import Aggregate


class Aggregation(Protocol):
    """The state of one aggregate of one group."""

    def take(self, value: Any, weight: int) -> None:
        """A value comes (``weight`` above 0) or goes so many times; None is an error."""

    def result(self) -> Term | None:
        """The aggregate of what there is; None is an error."""


def aggregation(aggregate: Aggregate) -> Callable[[], Aggregation]:
    """How to make an empty aggregation of a kind."""
    make: Callable[[], Aggregation]
    match aggregate.name:
        case "COUNT":
            make = Count
        case "SUM":
            make = Sum
        case "AVG":
            make = Average
        case "MIN":
            make = Least
        case "MAX":
            make = Greatest
        case "SAMPLE":
            make = Sample
        case "GROUP_CONCAT":
            separator = " " if aggregate.separator is None else aggregate.separator
            make = lambda: Concatenation(separator)  # noqa: E731
    if aggregate.distinct:
        return lambda: Distinctly(make())
    return make


class Distinctly:
    """Gives each value to another aggregation once."""

    __slots__ = ("_counts", "_inner")

    def __init__(self, inner: Aggregation) -> None:
        self._inner = inner
        self._counts: dict[Any, int] = {}

    def take(self, value: Any, weight: int) -> None:
        if value is None:
            self._inner.take(None, weight)
            return
        before = self._counts.get(value, 0)
        after = before + weight
        if after:
            self._counts[value] = after
            if not before:
                self._inner.take(value, 1)
        else:
            del self._counts[value]
            self._inner.take(value, -1)

    def result(self) -> Term | None:
        return self._inner.result()


class Count:
    """How many values there are; errors do not count."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def take(self, value: Any, weight: int) -> None:
        if value is not None:
            self._count += weight

    def result(self) -> Term:
        return Literal(str(self._count), XSD_INTEGER)


class Sum:
    """The exact sum of the finite values, and how many there are of each kind."""

    __slots__ = ("_errors", "_ranks", "_special", "_total")

    def __init__(self) -> None:
        self._total: int | Fraction = 0
        self._ranks = [0, 0, 0, 0]
        # Infinities and NaN cannot be taken out of a sum again.
        self._special: dict[str, int] = {}
        self._errors = 0

    def take(self, value: Any, weight: int) -> None:
        found = number(value)
        if found is None:
            self._errors += weight
            return
        self._ranks[rank(value)] += weight
        if isinstance(found, float) and not math.isfinite(found):
            self._special[repr(found)] = self._special.get(repr(found), 0) + weight
        elif isinstance(found, int):
            self._total += found * weight
        else:
            self._total += Fraction(found) * weight

    def result(self) -> Term | None:
        if self._errors:
            return None
        kind = max((r for r, count in enumerate(self._ranks) if count), default=0)
        return numeral(self._value(kind), kind)

    def _value(self, kind: int) -> Any:
        special = [name for name, count in self._special.items() if count]
        if special:
            return math.fsum(map(float, special)) if len(special) == 1 else math.nan
        return float(self._total) if kind >= 2 else self._total


class Average(Sum):
    """The sum divided by how many there are; of nothing, zero."""

    __slots__ = ()

    def result(self) -> Term | None:
        count = sum(self._ranks)
        if self._errors or not count:
            return None if self._errors else Literal("0", XSD_INTEGER)
        kind = max(1, *(r for r, each in enumerate(self._ranks) if each))
        total = self._value(kind)
        if isinstance(total, float):
            return numeral(total / count, kind)
        return numeral(Fraction(total) / count, kind)


class _Entry:
    """A term in a heap, in the order of ORDER BY or against it."""

    __slots__ = ("descending", "key", "term")

    def __init__(self, term: Term, descending: bool) -> None:
        self.term = term
        self.key = (order_key(term), str(term))
        self.descending = descending

    def __lt__(self, other: _Entry) -> bool:
        return other.key < self.key if self.descending else self.key < other.key


class Least:
    """MIN: O(log n) per change. A value that has gone stays in the heap until it surfaces."""

    __slots__ = ("_counts", "_errors", "_heap")
    descending = False

    def __init__(self) -> None:
        self._counts: dict[Term, int] = {}
        self._heap: list[_Entry] = []
        self._errors = 0

    def take(self, value: Any, weight: int) -> None:
        if value is None:
            self._errors += weight
            return
        before = self._counts.get(value, 0)
        after = before + weight
        if not after:
            del self._counts[value]
            return
        self._counts[value] = after
        if not before:
            heapq.heappush(self._heap, _Entry(value, self.descending))
            if len(self._heap) > 2 * len(self._counts) + 64:
                self._heap = [_Entry(term, self.descending) for term in self._counts]
                heapq.heapify(self._heap)

    def result(self) -> Term | None:
        if self._errors:
            return None
        while self._heap:
            if self._heap[0].term in self._counts:
                return self._heap[0].term
            heapq.heappop(self._heap)
        return None


class Greatest(Least):
    """MAX."""

    __slots__ = ()
    descending = True


class Sample:
    """Some value; the one that has been there longest."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[Term, int] = {}

    def take(self, value: Any, weight: int) -> None:
        if value is None:
            return
        count = self._counts.get(value, 0) + weight
        if count:
            self._counts[value] = count
        else:
            del self._counts[value]

    def result(self) -> Term | None:
        return next(iter(self._counts), None)


class Concatenation:
    """GROUP_CONCAT: the values' characters, in order of first arrival."""

    __slots__ = ("_counts", "_errors", "_separator")

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._counts: dict[str, int] = {}
        self._errors = 0

    def take(self, value: Any, weight: int) -> None:
        found = str(value) if isinstance(value, IRI) else text(value)
        if found is None and type(value) is Literal:
            found = value.lexical
        if found is None:
            self._errors += weight
            return
        count = self._counts.get(found, 0) + weight
        if count:
            self._counts[found] = count
        else:
            del self._counts[found]

    def result(self) -> Term | None:
        if self._errors:
            return None
        return Literal(
            self._separator.join(each for each, count in self._counts.items() for _ in range(count))
        )
