"""The triples of units in the derived graph, and what follows from them beside the unit."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from sensorstream.errors import Overrun
from sensorstream.model.terms import Literal, Triple
from sensorstream.network.budget import Budget, Meter
from sensorstream.network.recursion.derived import Derived
from sensorstream.network.recursion.linear import FlatClosure

_TOGETHER: Final = 1024
"""Triples that are written before the next look at what that takes."""


class UnitWriter:
    """Writes triples of units to the derived graph; O(triples and what follows).

    ``count`` is told of what follows from them, and no longer does: copies with the literals that
    their objects are said to be, and what ``linear`` concludes. ``is_written`` tells whether rules
    derive a triple, and it was added. ``size`` is how many triples units have, and ``at_work``
    whether the graph changes because of it.

    Raises:
        Overrun: they are too many, or take too long; ``name`` is that of the rule to blame.
    """

    def __init__(
        self,
        name: str,
        derived: Derived,
        linear: FlatClosure | None,
        count: Callable[[Iterable[Triple], Iterable[Triple]], None],
        is_written: Callable[[Triple], bool],
        budget: Budget,
    ) -> None:
        self.is_written = is_written
        self.size = 0
        self.at_work = False
        self._name = name
        self._derived = derived
        self._linear = linear
        self._count = count
        self._meter = Meter(budget)

    def write_alone(self, triples: Iterable[Triple]) -> None:
        """Write triples that rules derive, and that are of no unit."""
        self.at_work = True
        self._derived.add(triples)
        self.at_work = False

    def write(
        self, triples: Iterator[Triple], values: Iterable[Literal], *, joined: bool = False
    ) -> None:
        """Write triples of a unit; if it was ``joined``, rules may have written some."""
        while part := list(islice(triples, _TOGETHER)):
            self._take(len(part))
            new = [each for each in part if not self.is_written(each)] if joined else part
            self.write_alone(new)
            self._derived.touch(part)
            self.size += len(part)
            self._count(self._following(part, values), ())

    def erase(
        self, triples: Iterator[Triple], values: Iterable[Literal], kept: Container[Triple] = ()
    ) -> None:
        """Take triples from a unit; those that are ``kept`` stay in the graph."""
        while part := list(islice(triples, _TOGETHER)):
            self._take(len(part))
            self._derived.remove([each for each in part if each not in kept])
            self._derived.touch(part)
            self.size -= len(part)
            self._count((), self._following(part, values))

    def _following(self, part: Sequence[Triple], values: Iterable[Literal]) -> Iterator[Triple]:
        """What follows from triples of a unit, other than triples of the unit."""
        return chain(self._copied(part, values), self._concluded(part))

    def exchange(
        self, triples: Sequence[Triple], new: Iterable[Literal], gone: Iterable[Literal]
    ) -> None:
        """The objects of a unit's triples are said to be new literals, and others no longer."""
        self._take(len(triples))
        self._count(self._copied(triples, new), self._copied(triples, gone))

    def _copied(self, part: Iterable[Triple], values: Iterable[Literal]) -> Iterator[Triple]:
        """The triples with values in the place of their objects, and what follows from these."""
        copies: list[Triple] = [(s, p, value) for value in values for s, p, _ in part]
        return chain(copies, self._concluded(copies))

    def _concluded(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        if self._linear is None:
            return iter(())
        return chain.from_iterable(map(self._linear.conclusions, triples))

    def _take(self, triples: int) -> None:
        try:
            self._meter.take(triples)
        except Overrun as error:
            raise Overrun(f"{self._name}: {error.message}") from None
