"""Which statements of an individual refer to a blank node, and which are about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sensorstream.model.terms import BlankNode, Triple


class References:
    """Those of one individual, while one change takes statements out. O(1) for each of them."""

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
        """A statement has been taken out."""
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
