"""Who has more neighbours than rules compare, by the upper bound."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.reasoning.dl.bounds.clauses import Crowd


class Told(NamedTuple):
    """What the upper bound is to be told now, and what no longer."""

    come: list[Triple]
    gone: list[Triple]


class Crowds:
    """The neighbours of each individual, counted by their names; O(changes)."""

    __slots__ = ("_counts", "_crowds")

    def __init__(self, crowds: Iterable[Crowd]) -> None:
        self._crowds = {each.link: each for each in crowds}
        self._counts: dict[tuple[IRI, Subject], int] = {}

    def follow(self, added: Iterable[Triple], removed: Iterable[Triple]) -> Told:
        """Count facts that come and go."""
        told = Told([], [])
        if not self._crowds:
            return told
        before: dict[tuple[IRI, Subject], int] = {}
        for facts, by in ((added, 1), (removed, -1)):
            for s, p, _ in facts:
                if p in self._crowds:
                    now = self._counts.get((p, s), 0)
                    before.setdefault((p, s), now)
                    self._counts[p, s] = now + by
        for key, had in before.items():
            link, one = key
            crowd, now = self._crowds[link], self._counts[key]
            if not now:
                del self._counts[key]
            if (now >= crowd.number) != (had >= crowd.number):
                (told.gone if now < had else told.come).append((one, RDF_TYPE, crowd.kind))
        return told
