"""What cannot be kept in step is evaluated anew, on Oxigraph, when its graphs have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.plan.one_shot import one_shot_text
from sensorstream.network.rows import Bag, Row, net
from sensorstream.network.sources import Source


class Reevaluated(Node):
    """The solutions of a whole pattern, from copies of its graphs that are kept in step."""

    __slots__ = ("_bag", "_default", "_indexes", "_network", "_reason", "_text")

    def __init__(
        self, plan: Anew, indexes: Mapping[Source, TripleIndex | Scope], network: Network
    ) -> None:
        super().__init__((), plan.output, ())
        self._indexes = [indexes[each] for each in plan.sources]
        self._network = network
        names = {each: network.copies.use(indexes[each]) for each in plan.sources}
        self._text = one_shot_text(plan, names)
        self._default = names[plan.default]
        self._reason = plan.reason
        self._bag: Bag = {}
        for index in self._indexes:
            network.dispatcher(index).follow(self)

    def flush(self) -> None:
        rows = self._evaluated()
        for row, weight in net(rows, self.rows()).items():
            (self.added if weight > 0 else self.removed).extend([row] * abs(weight))
        self._bag = net(rows, ())

    def _evaluated(self) -> list[Row]:
        return [
            tuple(
                None if solution[name] is None else from_oxigraph(solution[name])
                for name in self.variables
            )
            for solution in self._network.copies.select(self._text, self._default)
        ]

    def load(self) -> None:
        self._bag = net(self._evaluated(), ())

    def rows(self) -> Iterable[Row]:
        return (row for row, times in self._bag.items() for _ in range(times))

    def release(self) -> None:
        for index in self._indexes:
            self._network.dispatcher(index).forget(self)
            self._network.copies.leave(index)

    def size(self) -> int:
        return sum(self._bag.values())

    def describe(self) -> str:
        return f"Evaluated anew at every change: {self._reason}"
