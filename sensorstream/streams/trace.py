"""The last instants of a query, operator by operator: what came in, what went out.

Source: "Monitoring eBay auctions by querying RDF streams", section 4.3 (the demonstrator steps
through the operator graph).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from sensorstream.kb.index import TripleIndex
from sensorstream.model.timeline import Instant
from sensorstream.network.copies import ChangeNotes
from sensorstream.network.dispatch import Watched
from sensorstream.network.network import Network
from sensorstream.network.node import Node, operators
from sensorstream.network.operators.scoped_join import OLDEST
from sensorstream.network.plan.nodes import OCCURRENCE
from sensorstream.network.rows import TIMES, Row
from sensorstream.network.selection.making import rule_of, triples_of
from sensorstream.network.selection.ruleset import Firings
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.operator_graph import window_text
from sensorstream.streams.report_data import bindings

_SHOWN: Final = 100
"""The most rows or triples kept of one change; beyond it only their number is."""
_INSTANTS: Final = 100


def _taken(changes: ChangeNotes) -> dict[str, Any]:
    """The triples that have entered and left a graph since the last call."""
    notes, changes.notes = changes.notes, {}
    written = {triple: " ".join(term.n3 for term in triple) for triple in notes}
    return _change(
        [written[triple] for triple, there in notes.items() if there],
        [written[triple] for triple, there in notes.items() if not there],
    )


class Trace:
    """Records the instants that concern a query, the latest 100.

    ``graphs`` are the query's windows and graphs by what they are to be called; ``now`` gives the
    instant at work, and ``time`` writes it; ``on_fault`` is told of an instant that could not be
    recorded.
    """

    def __init__(
        self,
        root: Node,
        graphs: Sequence[tuple[str, Watched]],
        now: Callable[[], Instant | None],
        time: Callable[[Instant], object],
        on_fault: Callable[[Exception], None],
    ) -> None:
        self._on_fault = on_fault
        self._operators = operators(root)
        self._graphs = [(name, ChangeNotes(index)) for name, index in graphs]
        self._now = now
        self._time = time
        self._instants: deque[dict[str, Any]] = deque(maxlen=_INSTANTS)

    def observe(self, changed: Sequence[Node]) -> None:
        """An instant has changed these operators, of whichever query."""
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
        for _, changes in self._graphs:
            changes.close()


class Traces:
    """The records of the queries of a network, by their names; see :class:`Trace`."""

    def __init__(
        self, network: Network, default: TripleIndex, now: Callable[[], Instant | None]
    ) -> None:
        self._network = network
        self._default = default
        self._now = now
        self._traces: dict[str, Trace] = {}

    def of(
        self,
        query: ContinuousQuery,
        time: Callable[[Instant], object],
        on_fault: Callable[[Exception], None],
    ) -> Trace:
        """The record of a query's instants, begun now if it does not exist yet."""
        trace = self._traces.get(query.name)
        if trace is None:
            graphs = [(window_text(each), each.graph) for each in query.windows]
            graphs.append(("outside the windows", self._default))
            trace = Trace(query.root, graphs, self._now, time, on_fault)
            self._traces[query.name] = trace
            for window in query.windows:
                self._network.agenda.note(window)
            self._network.observers.append(trace.observe)
        return trace

    def end(self, name: str) -> None:
        """End the record of a query's instants, if there is one."""
        trace = self._traces.pop(name, None)
        if trace is not None:
            self._network.observers.remove(trace.observe)
            trace.close()


def _step(node: Node) -> dict[str, Any]:
    return {
        "id": node.number,
        "operator": node.describe(),
        "in": [{"from": each.number, **_rows(each)} for each in node.inputs],
        "out": _rows(node),
    }


def _rows(node: Node) -> dict[str, Any]:
    # Neither the number of a solution in its stream, its interval nor an occurrence is a term.
    places = [
        place
        for place, name in enumerate(node.variables)
        if name not in (OLDEST, *TIMES) and not name.startswith(OCCURRENCE)
    ]
    names = [node.variables[place] for place in places]

    def written(rows: Sequence[Row]) -> list[Any]:
        if isinstance(node, Firings):
            return list(map(_graph, rows[:_SHOWN]))
        return [bindings(names, [row[place] for place in places]) for row in rows[:_SHOWN]]

    added, removed = node.change()
    return {
        "added": written(added),
        "added_count": len(added),
        "removed": written(removed),
        "removed_count": len(removed),
    }


def _graph(row: Row) -> dict[str, Any]:
    """What a rule over time has made."""
    graph = [" ".join(term.n3 for term in triple) for triple in triples_of(row)]
    return {"rule": rule_of(row), "graph": graph}


def _change(added: Sequence[str], removed: Sequence[str]) -> dict[str, Any]:
    return {
        "added": list(added[:_SHOWN]),
        "added_count": len(added),
        "removed": list(removed[:_SHOWN]),
        "removed_count": len(removed),
    }
