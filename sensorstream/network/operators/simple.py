"""Operators over one input, and UNION; most of them remember nothing."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from sensorstream.model.terms import Literal, Term
from sensorstream.network.node import Node
from sensorstream.network.rows import Bag, Row, net, rearranged
from sensorstream.sparql.algebra import Variable

_LONG: Final = 100
"""Characters of a text that count as a row."""


class Constant(Node):
    """Rows that never change: VALUES, and the one empty solution."""

    def __init__(self, variables: Sequence[str], rows: Sequence[Row]) -> None:
        certain = [
            n for place, n in enumerate(variables) if all(r[place] is not None for r in rows)
        ]
        super().__init__((), variables, certain)
        self._rows = tuple(rows)

    @property
    def is_unit(self) -> bool:
        """Whether it is the one empty solution, that joins with everything."""
        return self._rows == ((),)

    def flush(self) -> None:
        """Nothing changes."""

    def rows(self) -> Iterable[Row]:
        return self._rows

    def describe(self) -> str:
        return f"Values {' '.join(f'?{name}' for name in self.variables)} ({len(self._rows)} rows)"


class _RowByRow(Node):
    """Each row of the input gives its rows of the output by itself: nothing is remembered."""

    def __init__(
        self, source: Node, variables: Sequence[str], certain: Iterable[str], text: str
    ) -> None:
        super().__init__((source,), variables, certain)
        self._text = text

    @abstractmethod
    def given(self, rows: Iterable[Row]) -> Iterable[Row]:
        """The rows of the output for some of the input."""

    def flush(self) -> None:
        (source,) = self.inputs
        through = self.meter.through
        self.added += self.given(through(source.added))
        self.removed += self.given(through(source.removed))

    @property
    def apart(self) -> bool:
        return self.inputs[0].apart

    def expected(self) -> int:
        return self.inputs[0].expected()

    def rows(self) -> Iterable[Row]:
        return self.given(self.inputs[0].rows())

    def describe(self) -> str:
        return self._text


class Filter(_RowByRow):
    """FILTER and HAVING: the rows that pass a test."""

    def __init__(self, source: Node, holds: Callable[[Row], bool], text: str) -> None:
        super().__init__(source, source.variables, source.certain, f"Filter {text}")
        self._holds = holds

    def given(self, rows: Iterable[Row]) -> Iterable[Row]:
        return filter(self._holds, rows)


class Extend(_RowByRow):
    """BIND and SELECT expressions: each row with one more value, unbound where it is an error."""

    def __init__(
        self, source: Node, variable: str, value: Callable[[Row], Term | None], text: str
    ) -> None:
        names = (*source.variables, variable)
        super().__init__(source, names, source.certain, f"Extend ?{variable} = {text}")
        self._value = value

    def given(self, rows: Iterable[Row]) -> Iterable[Row]:
        return map(self._extended, rows)

    def _extended(self, row: Row) -> Row:
        value = self._value(row)
        if type(value) is Literal and len(value.lexical) > _LONG:
            # It is kept in memory with the row.
            self.meter.take(len(value.lexical) // _LONG)
        return (*row, value)


class Project(Node):
    """Only some variables, in some order."""

    def __init__(self, source: Node, variables: Sequence[str]) -> None:
        super().__init__((source,), variables, source.certain.intersection(variables))
        self._rearrange = rearranged(source.variables, variables)

    def flush(self) -> None:
        (source,) = self.inputs
        self.added += self._rearrange(source.added)
        self.removed += self._rearrange(source.removed)

    def expected(self) -> int:
        return self.inputs[0].expected()

    def rows(self) -> Iterable[Row]:
        return self._rearrange(self.inputs[0].rows())

    def describe(self) -> str:
        return f"Project {' '.join(f'?{name}' for name in self.variables)}"


class Union(Node):
    """The rows of every input; where an input lacks a variable it is unbound."""

    def __init__(self, inputs: Sequence[Node]) -> None:
        variables = tuple(dict.fromkeys(name for each in inputs for name in each.variables))
        certain = frozenset.intersection(*(each.certain for each in inputs))
        super().__init__(inputs, variables, certain)
        self._rearrange = [rearranged(each.variables, variables) for each in inputs]

    def flush(self) -> None:
        for source, rearrange in zip(self.inputs, self._rearrange, strict=True):
            if source.added:
                self.added += rearrange(source.added)
            if source.removed:
                self.removed += rearrange(source.removed)

    def expected(self) -> int:
        return sum(each.expected() for each in self.inputs)

    def rows(self) -> Iterator[Row]:
        for source, rearrange in zip(self.inputs, self._rearrange, strict=True):
            yield from rearrange(source.rows())

    def describe(self) -> str:
        return "Union"


class Distinct(Node):
    """DISTINCT: each row once, as long as it occurs at all; remembers how often that is."""

    def __init__(self, source: Node) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._counts: Bag = {}

    def flush(self) -> None:
        (source,) = self.inputs
        counts = self._counts
        if not source.removed:
            for row in source.added:
                if row in counts:
                    counts[row] += 1
                else:
                    counts[row] = 1
                    self.added.append(row)
            return
        for row, weight in net(source.added, source.removed).items():
            before = counts.get(row, 0)
            after = before + weight
            if after:
                counts[row] = after
                if not before:
                    self.added.append(row)
            else:
                del counts[row]
                self.removed.append(row)

    def load(self) -> None:
        for row in self.inputs[0].rows():
            self._counts[row] = self._counts.get(row, 0) + 1

    def rows(self) -> Iterable[Row]:
        return self._counts

    def size(self) -> int:
        return len(self._counts)

    def describe(self) -> str:
        return "Distinct"


class Ends(Node):
    """Selects the pairs whose ends are the constants wanted, or equal, and names the rest."""

    def __init__(
        self,
        source: Node,
        at: tuple[int, int],
        wanted: tuple[Variable | Term, Variable | Term],
    ) -> None:
        names = tuple(dict.fromkeys(e.name for e in wanted if isinstance(e, Variable)))
        super().__init__((source,), names, names)
        self._at = at
        self._wanted = wanted

    def _select(self, rows: Iterable[Row]) -> list[Row]:
        (one, other), (first, second) = self._at, self._wanted
        if not isinstance(first, Variable):
            rows = [row for row in rows if row[one] == first]
        if not isinstance(second, Variable):
            rows = [row for row in rows if row[other] == second]
        if isinstance(first, Variable) and isinstance(second, Variable):
            if first == second:
                return [(row[one],) for row in rows if row[one] == row[other]]
            return [(row[one], row[other]) for row in rows]
        if isinstance(first, Variable):
            return [(row[one],) for row in rows]
        if isinstance(second, Variable):
            return [(row[other],) for row in rows]
        return [() for _ in rows]

    def flush(self) -> None:
        (source,) = self.inputs
        self.added += self._select(source.added)
        self.removed += self._select(source.removed)

    def rows(self) -> Iterable[Row]:
        return self._select(self.inputs[0].rows())

    def describe(self) -> str:
        first, second = (str(e) if isinstance(e, Variable) else e.n3 for e in self._wanted)
        return f"Ends {first} {second}"


class Slice(Node):
    """LIMIT and OFFSET, with ORDER BY where there is one: a part of the rows in order.

    Keeps its input in order; the output changes by O(limit) per instant.

    ``key`` gives what a row is ordered by. Rows it does not tell apart stand in the order of
    their terms, so that the same rows always give the same slice.
    """

    def __init__(
        self, source: Node, key: Callable[[Row], Any] | None, offset: int, limit: int | None
    ) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._key = key
        self._offset = offset
        self._limit = limit
        self._ordered: list[tuple[Any, tuple[str, ...], Row]] = []
        self._shown: list[Row] = []

    def _entry(self, row: Row) -> tuple[Any, tuple[str, ...], Row]:
        order = None if self._key is None else self._key(row)
        return ((order,), tuple("" if each is None else each for each in row), row)

    def flush(self) -> None:
        (source,) = self.inputs
        ordered = self._ordered
        for row, weight in net(source.added, source.removed).items():
            entry = self._entry(row)
            if weight > 0:
                for _ in range(weight):
                    insort(ordered, entry, key=_position)
            else:
                at = bisect_left(ordered, _position(entry), key=_position)
                while ordered[at][2] != row:
                    at += 1
                del ordered[at : at - weight]
        shown = self._part()
        if shown != self._shown:
            for row, weight in net(shown, self._shown).items():
                (self.added if weight > 0 else self.removed).extend([row] * abs(weight))
            self._shown = shown

    def _part(self) -> list[Row]:
        end = None if self._limit is None else self._offset + self._limit
        return [row for _, _, row in self._ordered[self._offset : end]]

    def load(self) -> None:
        self._ordered = sorted(map(self._entry, self.inputs[0].rows()), key=_position)
        self._shown = self._part()

    def rows(self) -> Iterable[Row]:
        return self._shown

    def size(self) -> int:
        return len(self._ordered)

    def describe(self) -> str:
        limit = "all" if self._limit is None else self._limit
        return f"Slice {limit} from {self._offset}{' in order' if self._key else ''}"


def _position(entry: tuple[Any, tuple[str, ...], Row]) -> tuple[Any, tuple[str, ...]]:
    return entry[0], entry[1]
