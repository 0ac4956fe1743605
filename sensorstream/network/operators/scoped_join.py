"""Basic graph patterns inside one window, for all windows of a stream that differ in their range.

A solution over a stream is in a scope as long as the oldest of its triples is. So the solutions of
all scopes are found once (:class:`ScopedJoin`), each with the number of its oldest triple, which is
kept with it through filters (:class:`.ThresholdsOperator`). The result is held by number
(:class:`ByNumber`), and a window takes the solutions whose number is in its scope
(:class:`InScope`). Expiry is a look-up by number, without joins or filters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

from sensorstream.kb.occurrences import OccurrenceIndex, WindowScope
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.dispatch import Dispatcher, Watched
from sensorstream.network.node import Node
from sensorstream.network.operators.delta_join import DeltaJoin, JoinWriter, Pattern, Test
from sensorstream.network.rows import Bag, Row, repeated

OLDEST: Final = ".oldest"
"""The last variable of a :class:`ScopedJoin`: the number of a solution's oldest triple."""
_Numbered: TypeAlias = list[tuple[Any, ...]]
"""Rows with a number as their last element."""
_Held: TypeAlias = Row | Bag
"""The solutions of one number: the row itself where there is one, as most often."""


class ScopedJoin(DeltaJoin):
    """The solutions of ``patterns`` over the occurrences of a stream, with their numbers.

    Its output is a relation: a solution, and the number of its oldest triple. Expired solutions are
    not removed, since every scope has its own end. It remembers nothing.
    """

    def __init__(
        self,
        occurrences: OccurrenceIndex,
        patterns: Sequence[Pattern],
        tests: Sequence[Test],
        output: Sequence[str],
        dispatchers: Callable[[Watched], Dispatcher],
    ) -> None:
        super().__init__(patterns, tests, (*output, OLDEST), dispatchers)
        self._occurrences = occurrences

    @property
    def graphs(self) -> tuple[object, ...]:
        return (self._occurrences,)

    def _watched(self, pattern: Pattern) -> Watched:
        return self._occurrences

    def _writer(self) -> JoinWriter:
        output, numbers = self.variables[:-1], self._occurrences.latest
        return JoinWriter(self._patterns, self._tests, output, self.meter, numbers)

    def rows(self) -> Iterable[Row]:
        return () if self._occurrences.empty else super().rows()


class ByNumber(Node):
    """The numbered solutions that some scope still sees, by number.

    Memory: the solutions in the widest scope that reads it.
    """

    def __init__(self, source: Node) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._by_number: dict[int, _Held] = {}
        # The keys in order, and those of solutions that have been removed.
        self._numbers: list[int] = []
        self.forgotten = 0
        """The number up to which solutions are not held any more."""
        self.fresh: list[Row] = []
        """The rows added in the instant, without numbers."""
        self.least = 0
        """The lowest number of the rows added in the instant."""

    def flush(self) -> None:
        (source,) = self.inputs
        forgotten = self.forgotten
        self.added, self.removed = source.added, source.removed
        added, removed = cast(_Numbered, self.added), cast(_Numbered, self.removed)
        for found in added:
            if found[-1] > forgotten:
                self._hold(found[-1], found[:-1])
        for found in removed:
            if found[-1] > forgotten:
                self._release(found[-1], found[:-1])
        if added:
            self.fresh = [found[:-1] for found in added]
            self.least = min([found[-1] for found in added])

    def _hold(self, number: int, row: Row) -> None:
        held = self._by_number.get(number)
        if held is None:
            self._by_number[number] = row
            numbers = self._numbers
            if not numbers or number > numbers[-1]:
                numbers.append(number)
            else:
                place = bisect_left(numbers, number)
                if numbers[place] != number:
                    numbers.insert(place, number)
        elif isinstance(held, dict):
            held[row] = held.get(row, 0) + 1
        elif held == row:
            self._by_number[number] = {row: 2}
        else:
            self._by_number[number] = {held: 1, row: 1}

    def _release(self, number: int, row: Row) -> None:
        held = self._by_number[number]
        if isinstance(held, dict):
            held[row] -= 1
            if not held[row]:
                del held[row]
            if held:
                return
        del self._by_number[number]

    def between(self, after: int, until: int) -> list[Row]:
        """The solutions with numbers in ``(after, until]``, each as often as it occurs."""
        numbers, by_number = self._numbers, self._by_number
        found: list[Row] = []
        for place in range(bisect_right(numbers, after), bisect_right(numbers, until)):
            held = by_number.get(numbers[place])
            if isinstance(held, tuple):
                found.append(held)
            elif held is not None:
                found += _rows(held)
        return found

    def after(self, number: int) -> Iterator[Row]:
        """The solutions with higher numbers, each as often as it occurs; O(solutions)."""
        for each, held in self._by_number.items():
            if each > number:
                yield from _rows(held)

    def first_after(self, number: int) -> int | None:
        """The lowest of the higher numbers at which a solution is, or was, held."""
        place = bisect_right(self._numbers, number)
        return self._numbers[place] if place < len(self._numbers) else None

    def reach(self, low: int) -> None:
        """Hold all solutions after a number, for a reader that is about to begin."""
        if self.consumers and low >= self.forgotten:
            return
        self._by_number.clear()
        self._numbers.clear()
        self.forgotten = low
        for each in cast(_Numbered, self.inputs[0].rows()):
            if each[-1] > low:
                self._hold(each[-1], each[:-1])

    def forget(self, leaving: InScope | None = None) -> None:
        """Forget solutions that no reader needs any more."""
        readers = [each for each in self.consumers if each is not leaving]
        least = min([each.low for each in readers if isinstance(each, InScope)], default=0)
        numbers = self._numbers
        if numbers and numbers[-1] <= least:
            self._by_number.clear()
            numbers.clear()
        else:
            until = bisect_right(numbers, least)
            for number in numbers[:until]:
                self._by_number.pop(number, None)
            del numbers[:until]
        self.forgotten = max(self.forgotten, least)

    def rows(self) -> Iterator[Row]:
        for number, held in self._by_number.items():
            for row in _rows(held):
                yield cast(Row, (*row, number))

    def size(self) -> int:
        return sum(sum(h.values()) if isinstance(h, dict) else 1 for h in self._by_number.values())

    def describe(self) -> str:
        return "By its oldest occurrence"


class InScope(Node):
    """The solutions of a :class:`ByNumber` that are in the scope of one window.

    For a scope of a length of time the agenda wakes it when its next solution leaves; other scopes
    call it when they have moved. O(solutions that come and go), however many events leave.
    """

    closing: Final = False

    def __init__(
        self, source: ByNumber, scope: WindowScope, agenda: Agenda, wake: Callable[[Node], None]
    ) -> None:
        names = source.variables[:-1]
        super().__init__((source,), names, names)
        self.low = scope.low
        """The number after which solutions are in the output."""
        self._source = source
        self._scope = scope
        self._wake: Callable[[], None] = lambda: None if self.queued else wake(self)
        self._agenda = agenda
        self._next: int | None = None
        self.due: Instant | None = None
        """The time the solution numbered ``_next`` leaves, for scopes of a length of time."""

    def flush(self) -> None:
        self._scope.catch_up()
        source, before, now = self._source, self.low, self._scope.low
        if source.added and not source.removed and source.least > before:
            # All windows share this list, which is never changed.
            self.added = source.fresh
        elif source.added or source.removed:
            added, removed = cast(_Numbered, source.added), cast(_Numbered, source.removed)
            self.added = [found[:-1] for found in added if found[-1] > before]
            self.removed = [found[:-1] for found in removed if found[-1] > before]
        if now != before:
            # Rows added in the instant that are too old already are in both: they cancel.
            gone = source.between(before, now)
            self.removed = [*self.removed, *gone] if self.removed else gone
            self.low = now
            if before <= source.forgotten:
                source.forget()
        if self._next is None or now != before or (source.added and source.least < self._next):
            self._await()

    def _await(self) -> None:
        """Note in the agenda when the next solution leaves."""
        length = self._scope.length
        if length is None:
            return
        self._next, due = self._source.first_after(self.low), None
        if self._next is not None:
            due = self._scope.occurrences.time_of(self._next) + length
        if due != self.due:
            self.due = due
            self._agenda.note(self)

    def elapse(self, time: Instant) -> None:
        """Wake, as the time has come at which a solution leaves."""
        self._scope.occurrences.present = time
        self._next = self.due = None
        self._wake()

    def skip(self, time: Instant) -> None:
        """Do nothing: solutions that have left by then leave together."""

    def load(self) -> None:
        self._source.reach(self.low)
        if self._scope.length is None:
            self._scope.followers.append(self._wake)
        self._await()

    def rows(self) -> Iterator[Row]:
        return self._source.after(self.low)

    def release(self) -> None:
        if self._wake in self._scope.followers:
            self._scope.followers.remove(self._wake)
        self._agenda.forget(self)
        self._source.forget(self)

    def describe(self) -> str:
        return "In the scope of its window"


def _rows(held: _Held) -> Iterator[Row]:
    return repeated(held) if isinstance(held, dict) else iter((held,))
