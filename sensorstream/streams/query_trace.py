"""The last instants of a query, operator by operator: what came in, what went out.

Source: "Monitoring eBay auctions by querying RDF streams", section 4.3 (the demonstrator steps
through the operator graph).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import statement_text
from sensorstream.model.timeline import Instant
from sensorstream.network.copies import IndexChanges
from sensorstream.network.network import Network
from sensorstream.network.node import Node, operators
from sensorstream.network.operators.scoped_join import OLDEST
from sensorstream.network.plan.nodes import OCCURRENCE
from sensorstream.network.rows import TIMES, Row
from sensorstream.network.selection.running_rules import Firings, rule_of, triples_of
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.operator_graph import window_text
from sensorstream.streams.report_data import bindings

_Told = TypeVar("_Told")
_SHOWN: Final = 100
"""The most rows or triples kept of one change; beyond it only their number is."""
_INSTANTS: Final = 100
_OUTSIDE: Final = "outside the windows"


def _taken(changes: IndexChanges) -> dict[str, Any]:
    """The triples that have entered and left a graph since the last call."""
    come, gone = changes.read()
    changes.done()
    return _change(come, gone, statement_text)


class InstantTrace:
    """A record of the latest 100 instants that concern a query, until it is closed.

    ``default`` is the graph outside the windows; ``now`` gives the present instant, ``time`` writes
    it; ``on_fault`` gets the errors of instants that could not be recorded.
    """

    def __init__(
        self,
        query: ContinuousQuery,
        network: Network,
        default: TripleIndex,
        now: Callable[[], Instant | None],
        time: Callable[[Instant], object],
        on_fault: Callable[[Exception], None],
    ) -> None:
        self._network = network
        self._on_fault = on_fault
        self._operators = operators(query.root)
        graphs = [*((window_text(each), each.graph) for each in query.windows), (_OUTSIDE, default)]
        self._graphs = [(name, IndexChanges(index)) for name, index in graphs]
        self._now = now
        self._time = time
        self._instants: deque[dict[str, Any]] = deque(maxlen=_INSTANTS)
        for window in query.windows:
            network.agenda.note(window)
        network.observers.append(self.observe)

    def observe(self, changed: Sequence[Node]) -> None:
        """Record an instant that has changed these operators, of any query."""
        try:
            self._record(changed)
        except Exception as error:
            self._on_fault(error)

    def _record(self, changed: Sequence[Node]) -> None:
        graphs = [{"graph": name, **_taken(changes)} for name, changes in self._graphs]
        steps = [_step(node) for node in changed if node in self._operators]
        now = self._now()
        if now is not None and (
            steps or any(g["added_count"] or g["removed_count"] for g in graphs)
        ):
            self._instants.append({"time": self._time(now), "graphs": graphs, "steps": steps})

    def last(self, count: int) -> list[dict[str, Any]]:
        """The last recorded instants, oldest first."""
        return list(self._instants)[-count:]

    def close(self) -> None:
        """Stop collecting."""
        self._network.observers.remove(self.observe)
        for _, changes in self._graphs:
            changes.close()


def _step(node: Node) -> dict[str, Any]:
    return {
        "id": node.number,
        "operator": node.describe(),
        "in": [{"from": each.number, **_rows(each)} for each in node.inputs],
        "out": _rows(node),
    }


def _rows(node: Node) -> dict[str, Any]:
    # The number of a solution in its stream, its interval and an occurrence are not terms.
    places = [
        place
        for place, name in enumerate(node.variables)
        if name not in (OLDEST, *TIMES) and not name.startswith(OCCURRENCE)
    ]
    names = [node.variables[place] for place in places]

    def written(row: Row) -> Any:
        if isinstance(node, Firings):
            return {"rule": rule_of(row), "graph": list(map(statement_text, triples_of(row)))}
        return bindings(names, [row[place] for place in places])

    return _change(*node.change(), written)


def _change(
    added: Sequence[_Told], removed: Sequence[_Told], written: Callable[[_Told], Any]
) -> dict[str, Any]:
    return {
        "added": list(map(written, added[:_SHOWN])),
        "added_count": len(added),
        "removed": list(map(written, removed[:_SHOWN])),
        "removed_count": len(removed),
    }
