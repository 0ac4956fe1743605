"""The triples that a program has derived, in the knowledge base that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant


class Derived:
    """The graph of a knowledge base that several strata write.

    A triple is in it as long as at least one stratum derives it. The marks of the other graphs show
    whether the same triple is also asserted; triples of the graphs ``known``, which never change,
    are not written. ``bereft`` is called with a derived triple that has lost an assertion, or a
    stratum, and may now be supported only by itself; ``held`` with triples that come, or have
    one more reason.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        origin: Origin,
        bereft: Callable[[Triple], None],
        known: Origin,
    ) -> None:
        self.time: Instant = 0
        self.kb = kb
        self.held: Callable[[Sequence[Triple]], None] | None = None
        self._origin = origin
        self._known = int(known)
        self._mark = int(origin)
        self._bereft = bereft
        # The number of strata beyond the first that derive a triple; no entry for none, as usual.
        self._also: dict[Triple, int] = {}
        self._weights: dict[Triple, int] = {}
        self._followed: dict[IRI, dict[Triple, None]] = {}
        kb.subscribe(self._marked)

    def add(self, triples: Iterable[Triple]) -> None:
        """Add triples that a stratum derives now, and did not before."""
        triples, mark = tuple(triples), self._mark
        marked = self.kb.among(triples, mark | self._known)
        for triple, marks in marked.items():
            if marks & mark:
                self._also[triple] = self._also.get(triple, 0) + 1
                self.touch((triple,))
                if self.held is not None:
                    self.held((triple,))
        if marked:
            triples = tuple([triple for triple in triples if triple not in marked])
        self.kb.apply(self._origin, Delta(self.time, added=triples))
        self._weigh(triples, 1)

    def remove(self, triples: Iterable[Triple]) -> Iterable[Triple]:
        """Remove triples that a stratum derives no longer; no others go along: returns ()."""
        triples, also = tuple(triples), self._also
        known = self.kb.among(triples, self._known)
        gone = tuple([each for each in triples if each not in also and each not in known])
        for triple in [each for each in triples if each in also and each not in known]:
            also[triple] -= 1
            if not also[triple]:
                del also[triple]
            self._bereft(triple)
        self.kb.apply(self._origin, Delta(self.time, removed=gone))
        self._weigh(gone, -1)
        return ()

    def _weigh(self, triples: Iterable[Triple], weight: int) -> None:
        weights = self._weights
        for triple in triples:
            if triple in weights:
                del weights[triple]
            else:
                weights[triple] = weight

    def elsewhere(self, triple: Triple) -> bool:
        """Whether a triple of a stratum is asserted, too, or derived by another stratum."""
        return self.kb.marks(triple) != self._mark or triple in self._also

    def clear(self) -> None:
        """Forget all followers, and remove all derived triples."""
        self.held = None
        self._followed.clear()
        self._also.clear()
        self.remove(list(self.kb.triples(self._origin)))

    def follow(self, properties: Iterable[IRI]) -> dict[Triple, None]:
        """Note triples of properties whose reasons change, at first all; returns the notes."""
        touched: dict[Triple, None] = {}
        for property in properties:
            touched.update(dict.fromkeys(self.kb.match(None, property, None)))
            self._followed[property] = touched
        return touched

    def touch(self, triples: Iterable[Triple]) -> None:
        """Note the triples of followed properties, as their reasons may have changed."""
        followed = self._followed
        if not followed:
            return
        for triple in triples:
            if triple[1] in followed:
                followed[triple[1]][triple] = None

    def taken(self) -> Delta:
        """The change since the last call."""
        weights, self._weights = self._weights, {}
        return Delta(
            self.time,
            added=tuple(triple for triple, weight in weights.items() if weight > 0),
            removed=tuple(triple for triple, weight in weights.items() if weight < 0),
        )

    def close(self) -> None:
        self.kb.unsubscribe(self._marked)

    def _marked(self, triples: Sequence[Triple], old: int, new: int) -> None:
        self.touch(triples)
        if new == self._mark and old & new:
            for triple in triples:
                self._bereft(triple)
        elif self.held is not None and new > old:
            self.held(triples)
