"""Operators over one input, UNION, and the occurrences that fit one pattern."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import Term, Triple
from sensorstream.network.intervals.node import TimedNode
from sensorstream.network.intervals.plan import ALWAYS, TimedRow
from sensorstream.network.intervals.plan import Occurrence as OccurrencePlan
from sensorstream.network.intervals.source import Fit, Occurring
from sensorstream.network.rows import Row, compiled, rearranged, slots_of
from sensorstream.sparql.algebra import Variable

Holds: TypeAlias = Callable[[Triple], bool]


class Occurrences(TimedNode):
    """The occurrences that fit a pattern; what of it holds always, if it is of no one stream.

    It keeps nothing.
    """

    def __init__(
        self, pattern: OccurrencePlan, source: Occurring, background: TripleIndex, holds: Holds
    ) -> None:
        super().__init__((), pattern.variables, pattern.variables)
        self._pattern = pattern
        self._source = source
        self._background = background
        self._holds = holds
        self.predicate = _constant(pattern.predicate)
        self.object = _constant(pattern.object)
        self.stream = pattern.stream
        self.fit, self.shape = _fitting(pattern)
        self.since = 0

    @property
    def timeless(self) -> bool:
        return False

    def flush(self) -> None:
        """The source has done the work already."""

    def renew(self) -> None:
        pattern = self._pattern
        if pattern.stream is not None:
            return
        ends: tuple[Any, Any, Any] = (
            _constant(pattern.subject),
            self.predicate,
            self.object,
        )
        found = (self.fit(*t, *ALWAYS) for t in self._background.match(*ends) if self._holds(t))
        self.always = [row for row in found if row is not None]

    def load(self) -> None:
        self._source.subscribe(self)
        self.renew()

    def release(self) -> None:
        self._source.forget(self)

    def describe(self) -> str:
        return self._pattern.text


def _constant(end: Variable | Term) -> Term | None:
    return None if isinstance(end, Variable) else end


def _fitting(pattern: OccurrencePlan) -> tuple[Fit, Hashable]:
    """From subject, predicate, object, start and end to a row, or None; and what decides it."""
    cells, tests = dict[str, str](), list[str]()
    constants: list[Term] = []
    for end, place in zip(pattern.ends, "spo", strict=True):
        if not isinstance(end, Variable):
            if place == "s":
                tests.append("s == c")
                constants.append(end)
        elif end.name in cells:
            tests.append(f"{cells[end.name]} == {place}")
        else:
            cells[end.name] = place
    if pattern.label:
        cells[pattern.label] = "(s, p, o, a, b)"
    row = f"({''.join(f'{each}, ' for each in cells.values())}a, b)"
    text = f"{row} if {' and '.join(tests)} else None" if tests else row
    made = compiled(f"lambda c: lambda s, p, o, a, b: {text}")
    constant = constants[0] if constants else None
    return made(constant), (text, constant)


class TimedValues(TimedNode):
    """Rows that hold always: VALUES, and the one empty solution."""

    def __init__(
        self, variables: Sequence[str], certain: Iterable[str], rows: Iterable[Row]
    ) -> None:
        super().__init__((), variables, certain)
        self.always = [(*row, *ALWAYS) for row in dict.fromkeys(rows)]

    def flush(self) -> None:
        """Nothing changes."""

    def describe(self) -> str:
        return f"Values {' '.join(f'?{n}' for n in self.variables)} ({len(self.always)} rows)"


class _Mapped(TimedNode):
    """Some function of the rows of one input."""

    def __init__(
        self, source: TimedNode, variables: Sequence[str], certain: Iterable[str], text: str
    ) -> None:
        super().__init__((source,), variables, certain)
        self._source = source
        self._text = text

    def _mapped(self, rows: Iterable[TimedRow]) -> list[TimedRow]:
        raise NotImplementedError

    def flush(self) -> None:
        self.added += self._mapped(self.meter.through(self._source.added))

    def renew(self) -> None:
        self.always = list(dict.fromkeys(self._mapped(self._source.always)))

    def describe(self) -> str:
        return self._text


class TimedFilter(_Mapped):
    """The rows that pass a test, which may look at their intervals."""

    def __init__(self, source: TimedNode, test: Callable[[TimedRow], bool], text: str) -> None:
        super().__init__(source, source.variables, source.certain, text)
        self._test = test

    def _mapped(self, rows: Iterable[TimedRow]) -> list[TimedRow]:
        return list(filter(self._test, rows))


class TimedExtend(_Mapped):
    """BIND and SELECT expressions: one value more, unbound where it is an error."""

    def __init__(
        self, source: TimedNode, name: str, value: Callable[[TimedRow], Term | None], text: str
    ) -> None:
        super().__init__(source, (*source.variables, name), source.certain, text)
        self._value = value

    def _mapped(self, rows: Iterable[TimedRow]) -> list[TimedRow]:
        value = self._value
        return [(*row[:-2], value(row), *row[-2:]) for row in rows]


class TimedProject(_Mapped):
    """Only some variables; rows that become equal are one solution."""

    def __init__(self, source: TimedNode, names: Sequence[str], text: str) -> None:
        super().__init__(source, names, source.certain.intersection(names), text)
        self._rearrange = laid_out(source.variables, names)

    def _mapped(self, rows: Iterable[TimedRow]) -> list[TimedRow]:
        return self._rearrange(rows)

    def flush(self) -> None:
        self.give(self._mapped(self._source.added))


def laid_out(
    source: Sequence[str], target: Sequence[str]
) -> Callable[[Iterable[TimedRow]], list[TimedRow]]:
    """A function that lays rows out as other variables, with the same intervals."""
    times = (".start", ".end")
    return rearranged((*source, *times), (*target, *times))


class TimedUnion(TimedNode):
    """The rows of all inputs; where one lacks a variable it is unbound."""

    def __init__(self, parts: Sequence[TimedNode]) -> None:
        variables = tuple(dict.fromkeys(name for each in parts for name in each.variables))
        super().__init__(parts, variables, frozenset.intersection(*(p.certain for p in parts)))
        self._rearranged = [laid_out(each.variables, variables) for each in parts]

    def flush(self) -> None:
        for source, rearrange in zip(self.inputs, self._rearranged, strict=True):
            self.give(rearrange(source.added))

    def renew(self) -> None:
        found: dict[TimedRow, None] = {}
        for source, rearrange in zip(self.inputs, self._rearranged, strict=True):
            assert isinstance(source, TimedNode)
            found.update(dict.fromkeys(rearrange(source.always)))
        self.always = list(found)

    def describe(self) -> str:
        return "UNION"


def same_occurrence(
    names: Sequence[str], pairs: Iterable[tuple[str, str]]
) -> Callable[[TimedRow], bool]:
    """Whether the labelled occurrences that are of the same triple are one occurrence."""
    places = slots_of(names)
    compared = [(places[one], places[other]) for one, other in pairs]

    def test(row: TimedRow) -> bool:
        return all(row[i][:3] != row[j][:3] or row[i] == row[j] for i, j in compared)

    return test
