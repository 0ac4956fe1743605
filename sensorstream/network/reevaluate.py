"""Queries that no operator keeps in step: Oxigraph evaluates them when their graphs change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import pyoxigraph as ox

from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.copies import Copied, Merged
from sensorstream.network.exact_values import OxigraphQuery, repeated
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.plan.one_shot import one_shot
from sensorstream.network.query_sources import TripleSource
from sensorstream.network.rows import Bag, Row, cancelled, net
from sensorstream.processes.fork_once import run_apart
from sensorstream.sparql.oxigraph_query import STEPS, steps_of


class Reevaluated(Node):
    """The solutions of a whole pattern, from copies of its graphs that are kept in step."""

    def __init__(
        self,
        plan: Anew,
        indexes: Mapping[TripleSource, TripleIndex | WindowScope],
        network: Network,
    ) -> None:
        super().__init__((), plan.variables, ())
        self._plan = plan
        self._read = {part: indexes[part] for each in plan.sources for part in each.graphs}
        self._indexes: dict[TripleSource, Copied] = {
            each: Merged([indexes[part] for part in each.parts]) if each.parts else indexes[each]
            for each in plan.sources
        }
        self._network = network
        # The names, in the text, of the copies that it uses.
        self._names: dict[TripleSource, IRI] = {}
        self._query: Callable[[ox.Store], OxigraphQuery] | None = None
        self._bag: Bag = {}

    def flush(self) -> None:
        rows = self._evaluated()
        self.added, self.removed = cancelled(rows, list(self.rows()))
        self._bag = net(rows, ())

    def _evaluated(self) -> list[Row]:
        budget = self._network.budget
        limits = budget.limits
        if limits.seconds is None or budget.lifted or self._steps() <= STEPS:
            rows = self._selected(None)
        else:
            self._network.copies.sync(self._indexes.values())
            rows = run_apart(
                lambda: self._selected(limits.rows),
                limits.seconds,
                what="a query that is evaluated anew",
                setting=f"{limits.settings}_seconds",
            )
        # They are kept, and compared with those before.
        self.meter.take(len(rows))
        return rows

    def _selected(self, most: int | None) -> list[Row]:
        """The solutions; at most one more than ``most``."""
        assert self._query is not None, "it is loaded first"
        found = self._network.copies.select(
            self._query, self._names[self._plan.default], self._indexes.values()
        )
        return list(islice(found, None if most is None else most + 1))

    def _steps(self) -> float:
        triples = sum(map(len, self._indexes.values()))
        return steps_of(self._plan.pattern, lambda pattern: triples, triples)

    def load(self) -> None:
        for source, copied in self._indexes.items():
            self._names[source] = self._network.copies.use(copied)
        for index in self._read.values():
            self._network.dispatcher(index).follow(self)
        self._query = repeated(one_shot(self._plan, self._names))
        self._bag = net(self._evaluated(), ())

    def state(self) -> tuple[Row, ...]:
        """The rows as they were evaluated last: NOW or RAND would give others."""
        return tuple(self.rows())

    def restore(self, state: tuple[Row, ...]) -> None:
        self._bag = net(state, ())

    def rows(self) -> Iterable[Row]:
        return (row for row, times in self._bag.items() for _ in range(times))

    def release(self) -> None:
        for source in self._names:
            self._network.copies.leave(self._indexes[source])
        for index in self._read.values():
            self._network.dispatcher(index).forget(self)
        self._names.clear()

    def size(self) -> int:
        return sum(self._bag.values())
