"""Basic graph patterns inside one window, for all windows of a stream that differ in their range.

A solution over a stream is in a scope as long as the oldest of its triples is. So the solutions
of all scopes are found once (:class:`ScopedJoin`), each with the number of its oldest triple, and
a window takes those whose number is in its scope (:class:`InScope`). What expires is looked up
by its number: no join is made for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

from sensorstream.kb.occurrences import Occurrences, Scope
from sensorstream.network.dispatch import Dispatcher, Watched
from sensorstream.network.node import Node
from sensorstream.network.operators.delta_join import (
    JoinWriter,
    Pattern,
    Test,
    guard_of,
    patterns_text,
)
from sensorstream.network.rows import Bag, Row
from sensorstream.sparql.algebra import Variable

OLDEST: Final = ".oldest"
"""The last variable of a :class:`ScopedJoin`: the number of a solution's oldest triple."""
_Numbered: TypeAlias = list[tuple[Any, ...]]
"""Rows with a number as their last element."""
_Held: TypeAlias = Row | Bag
"""The solutions of one number: the row itself where there is one, as most often."""


class ScopedJoin(Node):
    """The solutions of ``patterns`` over the occurrences of a stream, with their numbers.

    Its output is a relation: a solution, and the number of its oldest triple. What expires is
    not removed from it, since every scope has its own end. Memory: the solutions in the widest
    scope that reads it.
    """

    __slots__ = (
        "_by_number",
        "_dispatcher_of",
        "_occurrences",
        "_patterns",
        "_scan",
        "_tests",
        "forgotten",
        "fresh",
        "least",
    )

    def __init__(
        self,
        occurrences: Occurrences,
        patterns: Sequence[Pattern],
        tests: Sequence[Test],
        output: Sequence[str],
        dispatchers: Callable[[Watched], Dispatcher],
    ) -> None:
        super().__init__((), (*output, OLDEST), (*output, OLDEST))
        self._patterns = tuple(patterns)
        self._tests = tuple(tests)
        self._by_number: dict[int, _Held] = {}
        self.forgotten = 0
        """The number up to which nothing is held."""
        self.fresh: list[Row] = []
        """What was added in the instant, without numbers."""
        self.least = 0
        """The lowest number of what was added in the instant."""
        self._occurrences = occurrences
        self._dispatcher_of = dispatchers
        self._scan = self._writer().scan()

    def _writer(self) -> JoinWriter:
        output, numbers = self.variables[:-1], self._occurrences.latest
        return JoinWriter(self._patterns, self._tests, output, numbers)

    def load(self) -> None:
        dispatcher = self._dispatcher_of(self._occurrences)
        for place, pattern in enumerate(self._patterns):
            predicate, object_ = pattern.predicate, pattern.object
            dispatcher.subscribe(
                self,
                None if isinstance(predicate, Variable) else predicate,
                None if isinstance(object_, Variable) else object_,
                self._writer().trigger(place),
                guard_of(pattern, self._patterns),
            )

    def flush(self) -> None:
        forgotten = self.forgotten
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

    def between(self, after: int, until: int) -> Iterator[Row]:
        """The solutions with the numbers in ``(after, until]``, each as often as it occurs."""
        by_number = self._by_number
        for number in range(after + 1, until + 1):
            held = by_number.get(number)
            if held is not None:
                yield from _rows(held)

    def after(self, number: int) -> Iterator[Row]:
        """The solutions with higher numbers, each as often as it occurs; O(solutions)."""
        for each, held in self._by_number.items():
            if each > number:
                yield from _rows(held)

    def reach(self, low: int) -> None:
        """Hold all solutions after a number, for a reader that is about to begin."""
        if self.consumers and low >= self.forgotten:
            return
        found: _Numbered = []
        self._scan(found)
        self._by_number.clear()
        self.forgotten = low
        for each in found:
            if each[-1] > low:
                self._hold(each[-1], each[:-1])

    def forget(self, leaving: InScope | None = None) -> None:
        """Forget what no reader needs any more."""
        readers = (each for each in self.consumers if each is not leaving)
        least = min((each.low for each in readers if isinstance(each, InScope)), default=0)
        for number in range(self.forgotten + 1, least + 1):
            self._by_number.pop(number, None)
        self.forgotten = max(self.forgotten, least)

    def rows(self) -> Iterator[Row]:
        for number, held in self._by_number.items():
            for row in _rows(held):
                yield cast(Row, (*row, number))

    def release(self) -> None:
        self._dispatcher_of(self._occurrences).forget(self)

    def size(self) -> int:
        return sum(sum(h.values()) if isinstance(h, dict) else 1 for h in self._by_number.values())

    def describe(self) -> str:
        return f"Stream pattern {patterns_text(self._patterns, self._tests)}"


class InScope(Node):
    """The solutions of a :class:`ScopedJoin` that are in the scope of one window.

    O(solutions that come and go).
    """

    __slots__ = ("_scope", "_source", "_wake", "low")

    def __init__(self, source: ScopedJoin, scope: Scope, wake: Callable[[Node], None]) -> None:
        names = source.variables[:-1]
        super().__init__((source,), names, names)
        self.low = scope.low
        """The number after which solutions are in the output."""
        self._source = source
        self._scope = scope
        self._wake = lambda: None if self.queued else wake(self)

    def flush(self) -> None:
        source, before, now = self._source, self.low, self._scope.low
        if source.added and not source.removed and source.least > before:
            # The same list for all windows: nobody changes it.
            self.added = source.fresh
        elif source.added or source.removed:
            added, removed = cast(_Numbered, source.added), cast(_Numbered, source.removed)
            self.added = [found[:-1] for found in added if found[-1] > before]
            self.removed = [found[:-1] for found in removed if found[-1] > before]
        if now != before:
            # What has come in the same instant and is too old already is in both: it cancels.
            self.removed = [*self.removed, *source.between(before, now)]
            self.low = now
            if before <= source.forgotten:
                source.forget()

    def load(self) -> None:
        self._source.reach(self.low)
        self._scope.followers.append(self._wake)

    def rows(self) -> Iterator[Row]:
        return self._source.after(self.low)

    def release(self) -> None:
        if self._wake in self._scope.followers:
            self._scope.followers.remove(self._wake)
        self._source.forget(self)

    def describe(self) -> str:
        return "In the scope of its window"


def _rows(held: _Held) -> Iterator[Row]:
    if isinstance(held, dict):
        for row, count in held.items():
            for _ in range(count):
                yield row
    else:
        yield held
