"""Conclusions from asserted triples alone, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple

_STATIC: Final = int(Origin.STATIC | Origin.STATIC_INFERRED)


def unknown(kb: KnowledgeBase, delta: Delta) -> Delta:
    """A change of conclusions without those that the static graphs hold."""
    known = kb.among((*delta.added, *delta.removed), _STATIC)
    if not known:
        return delta
    return Delta(
        delta.time,
        tuple([triple for triple in delta.added if triple not in known]),
        tuple([triple for triple in delta.removed if triple not in known]),
    )


class Implied:
    """The conclusions from asserted triples, with the number of triples that imply each."""

    def __init__(self, conclusions: Callable[..., Iterable[Triple]]) -> None:
        self._conclusions = conclusions
        self._counts: dict[Triple, int] = {}

    def change(self, delta: Delta) -> Delta:
        """Return the change of all conclusions that follows from one of the asserted triples."""
        counts, conclusions = self._counts, self._conclusions
        gone: dict[Triple, None] = {}
        for each in conclusions(*delta.removed):
            counts[each] -= 1
            if not counts[each]:
                del counts[each]
                gone[each] = None
        new: list[Triple] = []
        for each in conclusions(*delta.added):
            counts[each] = count = counts.get(each, 0) + 1
            if gone and each in gone:
                del gone[each]
            elif count == 1:
                new.append(each)
        return Delta(delta.time, tuple(new), tuple(gone))

    def clear(self) -> None:
        self._counts.clear()
