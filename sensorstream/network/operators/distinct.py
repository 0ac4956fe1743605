"""DISTINCT: each row once, as long as it occurs at all."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.network.node import Node
from sensorstream.network.rows import Bag, Row, net


class Distinct(Node):
    """Remembers how often each row occurs."""

    def __init__(self, source: Node) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._counts: Bag = {}

    def flush(self) -> None:
        (source,) = self.inputs
        counts = self._counts
        if not source.removed:
            for row in source.added:
                if row in counts:
                    counts[row] += 1
                else:
                    counts[row] = 1
                    self.added.append(row)
            return
        for row, weight in net(source.added, source.removed).items():
            before = counts.get(row, 0)
            after = before + weight
            if after:
                counts[row] = after
                if not before:
                    self.added.append(row)
            else:
                del counts[row]
                self.removed.append(row)

    def load(self) -> None:
        for row in self.inputs[0].rows():
            self._counts[row] = self._counts.get(row, 0) + 1

    def rows(self) -> Iterable[Row]:
        return self._counts

    def size(self) -> int:
        return len(self._counts)

    def describe(self) -> str:
        return "Distinct"
