"""Queries that no operator keeps in step: Oxigraph evaluates them when their graphs change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.network.budget import Limits
from sensorstream.network.copies import Copied, Copies, Merged
from sensorstream.network.exact_values import repeated
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.plan.one_shot import one_shot
from sensorstream.network.query_sources import TripleSource
from sensorstream.network.rows import Bag, Row, cancelled, net
from sensorstream.processes.fork_once import run_apart
from sensorstream.sparql.oxigraph_query import STEPS, steps_of


class WholePattern:
    """A pattern that Oxigraph evaluates as a whole, over copies of all that it reads."""

    def __init__(self, plan: Anew, read: Mapping[TripleSource, Copied], copies: Copies) -> None:
        self._copies = copies
        self._read = [read[each] for each in plan.sources]
        names = {each: copies.use(read[each]) for each in plan.sources}
        self._default = names[plan.default]
        try:
            self._query = repeated(one_shot(plan, names))
        except BaseException:
            self.close()
            raise

    def rows(self, limits: Limits, steps: float, most: int | None, what: str) -> list[Row]:
        """The rows, at most one more than ``most``; in a fork, if they take many ``steps``.

        Raises QueryError if Oxigraph failed, and Overrun if a fork exceeds the seconds of
        ``limits``.
        """

        def found() -> list[Row]:
            rows = self._copies.select(self._query, self._default, self._read)
            return list(islice(rows, None if most is None else most + 1))

        if limits.seconds is None or steps <= STEPS:
            return found()
        self._copies.sync(self._read)
        told, setting = f"a {what} that is evaluated anew", f"{limits.settings}_seconds"
        return run_apart(found, limits.seconds, what=told, setting=setting)

    def close(self) -> None:
        for each in self._read:
            self._copies.leave(each)


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
        self._whole: WholePattern | None = None
        self._bag: Bag = {}

    def flush(self) -> None:
        rows = self._evaluated()
        self.added, self.removed = cancelled(rows, list(self.rows()))
        self._bag = net(rows, ())

    def _evaluated(self) -> list[Row]:
        assert self._whole is not None, "it is loaded first"
        budget = self._network.budget
        most, steps = (None, 0.0) if budget.lifted else (budget.limits.rows, self._steps())
        rows = self._whole.rows(budget.limits, steps, most, "query")
        # The rows are kept, and compared with those before.
        self.meter.take(len(rows))
        return rows

    def _steps(self) -> float:
        triples = sum(map(len, self._indexes.values()))
        return steps_of(self._plan.pattern, lambda pattern: triples, triples)

    def load(self) -> None:
        self._whole = WholePattern(self._plan, self._indexes, self._network.copies)
        for index in self._read.values():
            self._network.dispatcher(index).follow(self)
        self._bag = net(self._evaluated(), ())

    def state(self) -> tuple[Row, ...]:
        """The rows as they were evaluated last: NOW or RAND would give others."""
        return tuple(self.rows())

    def restore(self, state: tuple[Row, ...]) -> None:
        self._bag = net(state, ())

    def rows(self) -> Iterable[Row]:
        return (row for row, times in self._bag.items() for _ in range(times))

    def release(self) -> None:
        if self._whole is not None:
            self._whole.close()
        for index in self._read.values():
            self._network.dispatcher(index).forget(self)

    def size(self) -> int:
        return sum(self._bag.values())
