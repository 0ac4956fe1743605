"""Inferred triples, each with the number of its reasons: without reasons it is removed."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant


class Claims:
    """A counted set of triples that records its changes; O(1) per change."""

    __slots__ = ("_before", "_counts")

    def __init__(self) -> None:
        self._counts: dict[Triple, int] = {}
        self._before: dict[Triple, bool] = {}

    def add(self, triples: Iterable[Triple]) -> None:
        """Add one reason to each."""
        for triple in triples:
            count = self._counts.get(triple, 0)
            self._before.setdefault(triple, count > 0)
            self._counts[triple] = count + 1

    def drop(self, triples: Iterable[Triple]) -> None:
        """Remove one reason from each."""
        for triple in triples:
            count = self._counts[triple]
            self._before.setdefault(triple, True)
            if count == 1:
                del self._counts[triple]
            else:
                self._counts[triple] = count - 1

    def changes(self, time: Instant) -> Delta:
        """The triples that were added and removed since the last call."""
        before, self._before = self._before, {}
        return Delta(
            time,
            added=tuple(t for t, was in before.items() if not was and t in self._counts),
            removed=tuple(t for t, was in before.items() if was and t not in self._counts),
        )

    def clear(self) -> None:
        """Remove everything."""
        self._counts.clear()
        self._before.clear()
