"""Events that may still be selected, by time and by the values that conditions ask for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeAlias

from sensorstream.model import xsd
from sensorstream.model.terms import Literal, Term
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_node import Kept, Lane, ended
from sensorstream.network.rows import Row
from sensorstream.sparql.values import number

Wanted: TypeAlias = Callable[[Row], bool]
LOOSE: Final = "loose"
"""The key of rows with a value that may equal terms of other forms."""


def key_of(terms: Iterable[Term | None]) -> Hashable:
    """A key that is equal for terms that ``=`` may find equal, or :data:`LOOSE`."""
    found: list[Hashable] = []
    for term in terms:
        if type(term) is not Literal:
            if term is None:
                return LOOSE
            found.append(term)
        elif term.datatype == xsd.STRING:
            found.append(term)
        else:
            value = number(term)
            try:
                rounded = None if value is None else float(value)
            except OverflowError:
                return LOOSE
            if rounded is None or rounded != rounded:
                return LOOSE
            found.append(rounded)
    return tuple(found)


class EventRows(Kept):
    """The events of one selector that some rule wants, by the values at some places.

    They are rows that begin with the time, as start and end; :attr:`longest` is the length of time
    for which rules may ask for them. All operations are O(log n) for what they find.
    """

    closing: Final = True

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(lambda row: key_of([row[2 + place] for place in places]), 0)
        self.longest: int = 0
        self.wanted: list[Wanted] = []
        """Tests of which an event must pass at least one."""

    def take(self, time: Instant, rows: Iterable[Row]) -> None:
        """Take in the events of a time, which is not before that of any other."""
        wanted = self.wanted
        self.add([(time, time, *row) for row in rows if any(wants(row) for wants in wanted)])

    def merge(self, events: Iterable[tuple[Instant, Row]]) -> None:
        """Add events of earlier times, except those that are here already."""
        here = list(self.happened())
        known = set(here)
        found = ((time, time, *row) for time, row in events)
        if new := [each for each in found if each not in known]:
            self._lanes.clear()
            self._ends.clear()
            self._size = 0
            self.add(sorted([*here, *new], key=ended))

    @property
    def newest(self) -> Instant | None:
        return self._ends[-1][0] if self._ends else None

    @property
    def due(self) -> Instant | None:
        """The time at which the first event goes, as no scope that ends then reaches it."""
        return self._ends[0][0] + self.longest + 1 if self._ends else None

    def skip(self, time: Instant) -> None:
        """Do nothing: events that are too old go together."""

    def elapse(self, time: Instant) -> None:
        """Remove events that no scope that ends with a present event reaches."""
        self.forget(time)

    def lanes(self, key: Hashable) -> Sequence[Lane]:
        """The lanes of the events that may have a key."""
        if key == LOOSE:
            return list(self._lanes.values())
        lane, loose = self._lanes.get(key), self._lanes.get(LOOSE)
        return [each for each in (lane, loose) if each is not None]
