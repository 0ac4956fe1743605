"""The closure as it was before: a set of reached nodes for each origin, walked anew."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.model.terms import Term
from sensorstream.network.node import Node
from sensorstream.network.rows import Row, net


class WalkedClosure(Node):
    """The transitive closure of the pairs its input gives, each pair once.

    With ``start`` only what can be reached from there is kept; with ``end``, only from where
    it can be reached. A change costs what it changes: a new step extends the walks that pass
    its beginning, a lost one makes those walks be walked again.
    """

    __slots__ = ("_end", "_reached", "_start", "_steps", "_through")

    def __init__(
        self, source: Node, ends: tuple[str, str], start: Term | None, end: Term | None
    ) -> None:
        super().__init__((source,), ends, ends)
        self._start = start
        self._end = end if start is None else None
        self._steps: dict[Term | None, dict[Term | None, int]] = {}
        # From each origin what is reached, and for each node the origins that reach it.
        self._reached: dict[Term | None, set[Term | None]] = {}
        self._through: dict[Term | None, set[Term | None]] = {}

    def flush(self) -> None:
        (source,) = self.inputs
        lost, won = [], []
        for row, weight in net(source.added, source.removed).items():
            one, other = self._directed(row)
            steps = self._steps.setdefault(one, {})
            before = steps.get(other, 0)
            after = before + weight
            if after:
                steps[other] = after
                if not before:
                    won.append((one, other))
            else:
                del steps[other]
                if not steps:
                    del self._steps[one]
                lost.append((one, other))
        again = {origin for one, _ in lost for origin in self._origins(one)}
        for origin in again:
            old = self._reached.pop(origin, set())
            new = self._walk(origin)
            self._replace(origin, old, new)
        for one, other in won:
            for origin in self._origins(one) - again:
                old = self._reached.get(origin, set())
                if other not in old:
                    self._replace(origin, old, old | self._walk_on(other, old))

    def _directed(self, row: Row) -> tuple[Term | None, Term | None]:
        return (row[0], row[1]) if self._end is None else (row[1], row[0])

    def _origins(self, node: Term | None) -> set[Term | None]:
        """Whose walks pass a node, its own included."""
        fixed = self._start if self._end is None else self._end
        passing = set(self._through.get(node, ()))
        if fixed is None or node == fixed:
            passing.add(node)
        return passing

    def _walk(self, origin: Term | None) -> set[Term | None]:
        found: set[Term | None] = set()
        for other in self._steps.get(origin, ()):
            if other not in found:
                found |= self._walk_on(other, found)
        return found

    def _walk_on(self, node: Term | None, seen: set[Term | None]) -> set[Term | None]:
        """A node and what is reached from it, without what has been seen."""
        found = {node}
        ahead = [node]
        while ahead:
            for other in self._steps.get(ahead.pop(), ()):
                if other not in found and other not in seen:
                    found.add(other)
                    ahead.append(other)
        return found

    def _replace(self, origin: Term | None, old: set[Term | None], new: set[Term | None]) -> None:
        for node in old - new:
            self.removed.append(self._pair(origin, node))
            through = self._through[node]
            through.discard(origin)
            if not through:
                del self._through[node]
        for node in new - old:
            self.added.append(self._pair(origin, node))
            self._through.setdefault(node, set()).add(origin)
        if new:
            self._reached[origin] = new
        else:
            self._reached.pop(origin, None)

    def _pair(self, origin: Term | None, node: Term | None) -> Row:
        return (origin, node) if self._end is None else (node, origin)

    def load(self) -> None:
        for row in self.inputs[0].rows():
            one, other = self._directed(row)
            steps = self._steps.setdefault(one, {})
            steps[other] = steps.get(other, 0) + 1
        fixed = self._start if self._end is None else self._end
        for origin in list(self._steps) if fixed is None else [fixed]:
            self._replace(origin, set(), self._walk(origin))
        self.added.clear()

    def rows(self) -> Iterator[Row]:
        return (self._pair(origin, n) for origin, nodes in self._reached.items() for n in nodes)

    def size(self) -> int:
        return sum(map(len, self._reached.values()))

    def describe(self) -> str:
        fixed = ""
        if self._start is not None:
            fixed = f" from {self._start.n3}"
        elif self._end is not None:
            fixed = f" to {self._end.n3}"
        return f"One or more steps{fixed}"
