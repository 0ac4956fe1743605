"""Inferred triples, each with a count of what implies it: the last reason gone takes it along."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant


class Claims:
    """A counted set of triples that tells how it changed; O(1) a change."""

    __slots__ = ("_before", "_counts")

    def __init__(self) -> None:
        self._counts: dict[Triple, int] = {}
        self._before: dict[Triple, bool] = {}

    def add(self, triples: Iterable[Triple]) -> None:
        """One reason more for each."""
        for triple in triples:
            count = self._counts.get(triple, 0)
            self._before.setdefault(triple, count > 0)
            self._counts[triple] = count + 1

    def drop(self, triples: Iterable[Triple]) -> None:
        """One reason less for each."""
        for triple in triples:
            count = self._counts[triple]
            self._before.setdefault(triple, True)
            if count == 1:
                del self._counts[triple]
            else:
                self._counts[triple] = count - 1

    def changes(self, time: Instant) -> Delta:
        """What came and went since the last call."""
        before, self._before = self._before, {}
        return Delta(
            time,
            added=tuple(t for t, was in before.items() if not was and t in self._counts),
            removed=tuple(t for t, was in before.items() if was and t not in self._counts),
        )

    def clear(self) -> None:
        """Forget everything."""
        self._counts.clear()
        self._before.clear()
