"""Operators without a memory: each row of the input gives its rows of the output by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from sensorstream.model.terms import Literal, Term
from sensorstream.network.node import Node
from sensorstream.network.rows import Row, rearranged

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


class Filter(Node):
    """FILTER and HAVING: the rows that pass a test."""

    def __init__(self, source: Node, holds: Callable[[Row], bool], text: str) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._holds = holds
        self._text = text

    def flush(self) -> None:
        (source,) = self.inputs
        through = self.meter.through
        self.added += filter(self._holds, through(source.added))
        self.removed += filter(self._holds, through(source.removed))

    @property
    def apart(self) -> bool:
        return self.inputs[0].apart

    def expected(self) -> int:
        return sum(each.expected() for each in self.inputs)

    def rows(self) -> Iterator[Row]:
        return filter(self._holds, self.inputs[0].rows())

    def describe(self) -> str:
        return f"Filter {self._text}"


class Extend(Node):
    """BIND and SELECT expressions: each row with one more value, unbound where it is an error."""

    def __init__(
        self, source: Node, variable: str, value: Callable[[Row], Term | None], text: str
    ) -> None:
        super().__init__((source,), (*source.variables, variable), source.certain)
        self._value = value
        self._text = text

    def flush(self) -> None:
        (source,) = self.inputs
        extended, through = self._extended, self.meter.through
        self.added += [extended(row) for row in through(source.added)]
        self.removed += [extended(row) for row in through(source.removed)]

    def _extended(self, row: Row) -> Row:
        value = self._value(row)
        if type(value) is Literal and len(value.lexical) > _LONG:
            # It is kept in memory with the row.
            self.meter.take(len(value.lexical) // _LONG)
        return (*row, value)

    @property
    def apart(self) -> bool:
        return self.inputs[0].apart

    def expected(self) -> int:
        return sum(each.expected() for each in self.inputs)

    def rows(self) -> Iterator[Row]:
        return map(self._extended, self.inputs[0].rows())

    def describe(self) -> str:
        return f"Extend ?{self.variables[-1]} = {self._text}"


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
        return sum(each.expected() for each in self.inputs)

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
