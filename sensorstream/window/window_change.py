"""The change that one operation makes to a window, and how to undo it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from sensorstream.model.events import Delta, Ended, Individual
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant


class References:
    """References of one individual, while a change takes statements out. O(1) for each of them."""

    __slots__ = ("_about", "_to")

    def __init__(self, statements: Iterable[Triple]) -> None:
        self._to: Counter[BlankNode] = Counter()
        self._about: dict[BlankNode, dict[Triple, None]] = {}
        for triple in statements:
            if isinstance(triple[2], BlankNode):
                self._to[triple[2]] += 1
            if isinstance(triple[0], BlankNode):
                self._about.setdefault(triple[0], {})[triple] = None

    def drop(self, triple: Triple) -> None:
        """Take a statement out."""
        if isinstance(triple[2], BlankNode):
            self._to[triple[2]] -= 1
        if isinstance(triple[0], BlankNode):
            del self._about[triple[0]][triple]

    def refer_to(self, node: BlankNode) -> bool:
        """Whether a statement has a blank node as its object."""
        return self._to[node] > 0

    def about(self, node: BlankNode) -> list[Triple]:
        """The statements with a blank node as their subject, in order."""
        return list(self._about.get(node, ()))


Undo: TypeAlias = Callable[[], object]
GraphChange: TypeAlias = tuple[tuple[IRI, ...], tuple[IRI, ...]]
"""The named graphs of a triple before and after."""


class WindowChange:
    """The changes of one operation to the window, collected while it runs."""

    def __init__(self) -> None:
        self.weights: dict[Triple, int] = {}
        self.delta = Delta(0)
        """The net effect on the window graph, as soon as the change is complete."""
        self.departures: list[Individual] = []
        """The individuals that left, oldest first."""
        self.ended: list[Ended] = []
        """The single statements that left."""
        self.revoked: list[Ended] = []
        """Single statements that left earlier, with another interval."""
        self.undo: list[Undo] = []
        self.resettled: dict[Subject, None] = {}
        """The subjects that may belong to another stay than before."""
        self.graphs: dict[Triple, GraphChange] = {}
        """The named graphs of a triple before and now, if they differ."""
        # By stay; used only while statements are taken out.
        self.references: dict[int, References] = {}

    def weigh(self, triples: Collection[Triple], weight: int) -> None:
        """Count triples in (1) or out (-1), each once."""
        weights = self.weights
        if weights.keys().isdisjoint(triples):
            weights |= dict.fromkeys(triples, weight)
            return
        for triple in triples:
            total = weights.pop(triple, 0) + weight
            if total:
                weights[triple] = total

    def place(self, triple: Triple, old: tuple[IRI, ...], new: tuple[IRI, ...]) -> None:
        """Note that a triple has come to other named graphs."""
        first = self.graphs.pop(triple, (old, new))[0]
        if first != new:
            self.graphs[triple] = first, new

    def complete(self, time: Instant) -> WindowChange:
        items = self.weights.items()
        added, removed = [t for t, w in items if w > 0], [t for t, w in items if w < 0]
        self.delta = Delta(time, tuple(added), tuple(removed))
        if self.departures:
            left = {t[0]: None for each in self.departures for t in each.statements}
            self.resettled = left | self.resettled
        return self
