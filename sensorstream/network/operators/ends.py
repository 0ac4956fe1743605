"""The ends of a path: select and name them."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.terms import Term
from sensorstream.network.node import Node
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Variable


class Ends(Node):
    """Selects the pairs whose ends are the constants wanted, or equal, and names the rest."""

    def __init__(
        self,
        source: Node,
        at: tuple[int, int],
        wanted: tuple[Variable | Term, Variable | Term],
    ) -> None:
        names = tuple(dict.fromkeys(e.name for e in wanted if isinstance(e, Variable)))
        super().__init__((source,), names, names)
        self._at = at
        self._wanted = wanted

    def _select(self, rows: Iterable[Row]) -> list[Row]:
        (one, other), (first, second) = self._at, self._wanted
        if not isinstance(first, Variable):
            rows = [row for row in rows if row[one] == first]
        if not isinstance(second, Variable):
            rows = [row for row in rows if row[other] == second]
        if isinstance(first, Variable) and isinstance(second, Variable):
            if first == second:
                return [(row[one],) for row in rows if row[one] == row[other]]
            return [(row[one], row[other]) for row in rows]
        if isinstance(first, Variable):
            return [(row[one],) for row in rows]
        if isinstance(second, Variable):
            return [(row[other],) for row in rows]
        return [() for _ in rows]

    def flush(self) -> None:
        (source,) = self.inputs
        self.added += self._select(source.added)
        self.removed += self._select(source.removed)

    def rows(self) -> Iterable[Row]:
        return self._select(self.inputs[0].rows())

    def describe(self) -> str:
        first, second = (str(e) if isinstance(e, Variable) else e.n3 for e in self._wanted)
        return f"Ends {first} {second}"
