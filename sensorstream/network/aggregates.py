"""Aggregates that take insertions and deletions (SPARQL 1.1, section 18.5.1).

Sums are exact: removing a value leaves no trace of rounding behind, and the order of arrival makes
no difference. A result becomes a term when the group asks for it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, Final, Protocol

from sensorstream.errors import TermError
from sensorstream.model.frozen import frozen
from sensorstream.model.numerals import quotient
from sensorstream.model.regex import LONGEST_TEXT
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.ordering import order_text
from sensorstream.sparql.algebra import Aggregate
from sensorstream.sparql.place_functions import PLACE_AGGREGATES
from sensorstream.sparql.values import RANKS, numeral, text

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Decimals have no exponents in RDF: a sum is as long as its longest value, and never rounded."""
_ZERO: Final = Decimal(0)
_add: Final = _EXACT.add
_subtract: Final = _EXACT.subtract
_rank: Final = dict(RANKS).get
"""Bound once, as it is called for every value."""


class Aggregation(Protocol):
    """The state of one or more aggregates of one group."""

    def take(self, value: Any, weight: int) -> None:
        """Add a value ``weight`` times, or remove it if that is negative; None is an error."""


@frozen
class AggregationKind:
    """The way to make an empty aggregation, and to get an aggregate from it.

    Kinds that are ``made`` alike, of the same values, can share one aggregation. ``result`` gives
    None where the aggregate is an error.
    """

    made: Hashable
    make: Callable[[], Aggregation]
    result: Callable[[Any], Term | None]


def kind_of(aggregate: Aggregate, longest: float = LONGEST_TEXT) -> AggregationKind:
    """The kind of an aggregate of SPARQL; a text above ``longest`` is an error."""
    name = aggregate.name
    found = _KINDS.get(name) or _concatenation(aggregate.separator, longest)
    if name in PLACE_AGGREGATES:
        compute = PLACE_AGGREGATES[name].value
        found = AggregationKind(Gathering, Gathering, lambda state: state.result(compute))
    if aggregate.distinct:
        make, result = found.make, found.result
        return AggregationKind(
            ("distinct", found.made),
            lambda: Distinctly(make()),
            lambda state: result(state.inner),
        )
    return found


class Distinctly:
    """Gives each value to another aggregation once."""

    __slots__ = ("_counts", "inner")

    def __init__(self, inner: Aggregation) -> None:
        self.inner = inner
        self._counts: dict[Any, int] = {}

    def take(self, value: Any, weight: int) -> None:
        if value is None:
            self.inner.take(None, weight)
            return
        counts = self._counts
        before = counts.get(value, 0)
        after = before + weight
        if after:
            counts[value] = after
            if not before:
                self.inner.take(value, 1)
        else:
            del counts[value]
            self.inner.take(value, -1)


class ValueCount:
    """COUNT: the number of values; errors do not count."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def take(self, value: Any, weight: int) -> None:
        if value is not None:
            self._count += weight

    def result(self) -> Term | None:
        return numeral(self._count, 0)


class SumAndAverage:
    """SUM and AVG: the exact sum of the values, and their number by numeric type.

    Integers and decimals are added as such; floats and doubles as integers over one power of two,
    which grows with the finest value (at most 2**1074).
    """

    __slots__ = ("_binary", "_decimals", "_errors", "_integers", "_ranks", "_shift", "_special")

    def __init__(self) -> None:
        self._integers = 0
        self._decimals = _ZERO
        # The floats and doubles add up to _binary / 2**_shift.
        self._binary = 0
        self._shift = 0
        self._ranks = [0, 0, 0, 0]
        # Infinities and NaN cannot be taken out of a sum again.
        self._special: dict[str, int] = {}
        self._errors = 0

    def take(self, value: Any, weight: int) -> None:
        # As number() and rank() in one: this runs for every value.
        rank = _rank(value.datatype) if type(value) is Literal else None
        found = None if rank is None else value.known
        if rank is None or found is None:
            self._errors += weight
            return
        ranks = self._ranks
        ranks[rank] += weight
        if rank == 1:
            if not ranks[1]:
                # Reset when there are no values, so that digits do not grow for ever.
                self._decimals = _ZERO
            elif weight == 1:
                self._decimals = _add(self._decimals, found)
            elif weight == -1:
                self._decimals = _subtract(self._decimals, found)
            else:
                self._decimals = _EXACT.fma(found, weight, self._decimals)
        elif rank == 0:
            self._integers += found * weight
        else:
            self._take_float(found, weight)

    def _take_float(self, value: float, weight: int) -> None:
        if not isfinite(value):
            self._special[repr(value)] = self._special.get(repr(value), 0) + weight
            return
        numerator, denominator = value.as_integer_ratio()
        finer = denominator.bit_length() - 1 - self._shift
        if finer > 0:
            self._binary = (self._binary << finer) + numerator * weight
            self._shift += finer
        else:
            self._binary += (numerator << -finer) * weight

    def sum(self) -> Term | None:
        """The sum; of nothing, zero."""
        if self._errors:
            return None
        _, decimals, floats, doubles = self._ranks
        if floats or doubles:
            return numeral(self._float(), 3 if doubles else 2)
        return numeral(self._decimal(), 1) if decimals else numeral(self._integers, 0)

    def average(self) -> Term | None:
        """The sum divided by the number of values; of nothing, zero."""
        if self._errors:
            return None
        integers, decimals, floats, doubles = self._ranks
        count = integers + decimals + floats + doubles
        if not count:
            return numeral(0, 0)
        if floats or doubles:
            return numeral(self._float() / count, 3 if doubles else 2)
        return numeral(quotient(self._decimal(), Decimal(count)), 1)

    def _decimal(self) -> Decimal:
        return _EXACT.add(self._decimals, self._integers) if self._integers else self._decimals

    def _float(self) -> float:
        special = [name for name, count in self._special.items() if count]
        if special:
            return float(special[0]) if len(special) == 1 else math.nan
        shift = self._shift
        # True division of integers is rounded correctly, whatever their size.
        top, bottom = self._binary + (self._integers << shift), 1 << shift
        if self._decimals:
            exact = Fraction(self._decimals) + Fraction(top, bottom)
            top, bottom = exact.numerator, exact.denominator
        try:
            return top / bottom
        except OverflowError:
            return math.inf if top > 0 else -math.inf


class _Entry:
    """A term in a heap, in the order of ORDER BY or against it."""

    __slots__ = ("descending", "key", "term")

    def __init__(self, term: Term, descending: bool) -> None:
        self.term = term
        self.key = (order_text(term), str(term))
        self.descending = descending

    def __lt__(self, other: _Entry) -> bool:
        return other.key < self.key if self.descending else self.key < other.key


class Least:
    """MIN: O(log n) per change. A removed value stays in the heap until it surfaces."""

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


class LeastSample(Least):
    """SAMPLE: the least value, so that it does not depend on the order of arrival."""

    __slots__ = ()

    def take(self, value: Any, weight: int) -> None:
        if value is not None:
            super().take(value, weight)


class Concatenation:
    """GROUP_CONCAT: the texts of the values in sorted order, so that arrival does not matter."""

    __slots__ = ("_counts", "_errors", "_longest", "_separator")

    def __init__(self, separator: str, longest: float) -> None:
        self._separator = separator
        self._longest = longest
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
        counts = self._counts
        between = len(self._separator)
        if sum((len(each) + between) * many for each, many in counts.items()) > self._longest:
            return None
        return Literal(
            self._separator.join(each for each in sorted(counts) for _ in range(counts[each]))
        )


class Gathering:
    """An aggregate of GeoSPARQL: it keeps the values, and is computed anew when asked for."""

    __slots__ = ("_counts", "_errors")

    def __init__(self) -> None:
        self._counts: dict[Term, int] = {}
        self._errors = 0

    def take(self, value: Any, weight: int) -> None:
        if value is None:
            self._errors += weight
            return
        self._counts[value] = self._counts.get(value, 0) + weight
        if not self._counts[value]:
            del self._counts[value]

    def result(self, compute: Callable[[Mapping[Term, int]], Term]) -> Term | None:
        try:
            return None if self._errors else compute(self._counts)
        except TermError:
            return None


def _concatenation(separator: str | None, longest: float) -> AggregationKind:
    between = " " if separator is None else separator
    made = ("GROUP_CONCAT", between, longest)
    return AggregationKind(made, lambda: Concatenation(between, longest), Concatenation.result)


_KINDS: Final[Mapping[str, AggregationKind]] = {
    "COUNT": AggregationKind(ValueCount, ValueCount, ValueCount.result),
    "SUM": AggregationKind(SumAndAverage, SumAndAverage, SumAndAverage.sum),
    "AVG": AggregationKind(SumAndAverage, SumAndAverage, SumAndAverage.average),
    "MIN": AggregationKind(Least, Least, Least.result),
    "MAX": AggregationKind(Greatest, Greatest, Greatest.result),
    "SAMPLE": AggregationKind(LeastSample, LeastSample, LeastSample.result),
}
