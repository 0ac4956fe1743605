"""``path+``: the pairs connected by one or more steps (SPARQL 1.1, section 18.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from sensorstream.model.terms import Term
from sensorstream.network.node import Node
from sensorstream.network.reachability import AllPairs, OneOrigin, Pair, Reach, StepGraph
from sensorstream.network.rows import Bag, Row, net


class ClosureOperator(Node):
    """The transitive closure of the pairs its input gives, each pair once.

    With ``start`` only what can be reached from there is kept; with ``end``, only from where it can
    be reached. For the cost of a change see :class:`~sensorstream.network.reachability.AllPairs`,
    and with a fixed end :class:`~sensorstream.network.reachability.OneOrigin`.
    """

    def __init__(
        self, source: Node, ends: tuple[str, str], start: Term | None, end: Term | None
    ) -> None:
        super().__init__((source,), ends, ends)
        self._start = start
        self._end = end if start is None else None
        self._steps = StepGraph()
        self._reach = self._reachable()

    def flush(self) -> None:
        (source,) = self.inputs
        weights = self._directed(net(source.added, source.removed))
        added, removed = self._reach.change(*self._steps.take(weights))
        self.added += self._turned(added)
        self.removed += self._turned(removed)

    def load(self) -> None:
        self._steps.take(self._directed(net(self.inputs[0].rows(), ())))
        self._reach = self._reachable()

    def rows(self) -> Iterable[Row]:
        return self._turned(self._reach.pairs())

    def size(self) -> int:
        return self._reach.size()

    def _reachable(self) -> Reach:
        if self._start is not None:
            return OneOrigin(self._steps, self._start)
        if self._end is not None:
            return OneOrigin(self._steps, self._end)
        return AllPairs(self._steps, lambda pairs: self.meter.take(pairs))

    def _directed(self, weights: Bag) -> Mapping[Pair, int]:
        """The steps away from the fixed end; the input's rows are pairs."""
        if self._end is None:
            return cast(Mapping[Pair, int], weights)
        return {(other, one): weight for (one, other), weight in weights.items()}

    def _turned(self, pairs: Iterable[Pair]) -> Iterable[Row]:
        return pairs if self._end is None else ((other, one) for one, other in pairs)
