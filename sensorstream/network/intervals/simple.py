"""Operators over one input, UNION and LIMIT, and the occurrences that fit one pattern."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.node import Memory, TimedNode, order_of_use
from sensorstream.network.intervals.plan import ALWAYS, First, TimedRow
from sensorstream.network.intervals.plan import Occurrence as OccurrencePlan
from sensorstream.network.intervals.source import Fit, Occurring
from sensorstream.network.plan.nodes import Constant, Plan
from sensorstream.network.rows import compiled, rearranged, slots_of
from sensorstream.sparql.algebra import Variable

Holds: TypeAlias = Callable[[Triple], bool]


class Occurrences(TimedNode):
    """The occurrences that fit a pattern; what of it holds always, if it is of no one stream.

    It keeps nothing.
    """

    def __init__(
        self, pattern: OccurrencePlan, source: Occurring, background: TripleIndex, holds: Holds
    ) -> None:
        super().__init__(pattern)
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

    def __init__(self, plan: Constant) -> None:
        super().__init__(plan)
        self.always = [(*row, *ALWAYS) for row in dict.fromkeys(plan.rows)]

    def flush(self) -> None:
        """Nothing changes."""

    def describe(self) -> str:
        return f"Values {' '.join(f'?{n}' for n in self.variables)} ({len(self.always)} rows)"


class TimedMapped(TimedNode):
    """FILTER, BIND and SELECT: some function of the rows of one input.

    ``merges`` tells whether rows may become equal by it: they are one solution.
    """

    def __init__(
        self,
        plan: Plan,
        source: TimedNode,
        mapped: Callable[[Iterable[TimedRow]], Iterable[TimedRow]],
        *,
        merges: bool = False,
    ) -> None:
        super().__init__(plan, source)
        self._source = source
        self._mapped = mapped
        self._merges = merges

    def flush(self) -> None:
        if self._merges:
            self.give(list(self._mapped(self._source.added)))
        else:
            self.added += self._mapped(self.meter.through(self._source.added))

    def renew(self) -> None:
        self.always = list(dict.fromkeys(self._mapped(self._source.always)))


def laid_out(
    source: Sequence[str], target: Sequence[str]
) -> Callable[[Iterable[TimedRow]], list[TimedRow]]:
    """A function that lays rows out as other variables, with the same intervals."""
    times = (".start", ".end")
    return rearranged((*source, *times), (*target, *times))


class TimedUnion(TimedNode):
    """The rows of all inputs; where one lacks a variable it is unbound."""

    def __init__(self, plan: Plan, *parts: TimedNode) -> None:
        super().__init__(plan, *parts)
        self._rearranged = [laid_out(each.variables, self.variables) for each in parts]

    def flush(self) -> None:
        for source, rearrange in zip(self.inputs, self._rearranged, strict=True):
            self.give(rearrange(source.added))

    def renew(self) -> None:
        found: dict[TimedRow, None] = {}
        for source, rearrange in zip(self.inputs, self._rearranged, strict=True):
            found.update(dict.fromkeys(rearrange(source.always)))
        self.always = list(found)

    def describe(self) -> str:
        return "UNION"


class TimedFirst(TimedNode):
    """LIMIT and OFFSET: those of all rows that end first, since what comes later changes nothing.

    What holds always comes before all that happens. Solutions that end together are taken in the
    order of their starts, and then of their bindings by name. It remembers as many as decide which
    of the later ones are wanted.
    """

    def __init__(self, plan: First, source: TimedNode) -> None:
        super().__init__(plan, source)
        self._offset = plan.offset
        self._limit = plan.limit
        self._told = _Told(plan.offset + (plan.limit or 0))

    def flush(self) -> None:
        (source,) = self.inputs
        before = len(source.always) + len(self._told)
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
        rows = sorted(source.always, key=order_of_use(self.variables))
        self.always = self._cut(rows, 0)

    def kept(self) -> Sequence[tuple[int, Memory]]:
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

    def rows(self) -> Iterator[TimedRow]:
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
