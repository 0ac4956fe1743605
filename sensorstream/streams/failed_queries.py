"""Queries that cannot continue because of a defect, their own or that of a shared operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from sensorstream.errors import Overrun
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import MovedByTime
from sensorstream.network.network import Network
from sensorstream.network.node import Node, operators
from sensorstream.network.selection.instants import Instants
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.open_windows import OpenWindows
from sensorstream.streams.stream_window import StreamWindow, WindowedStream


class Broken:
    """The queries that failed during an instant; they are stopped when it has settled.

    ``queries`` are the running queries.
    """

    def __init__(
        self, network: Network, windows: OpenWindows, queries: Mapping[str, ContinuousQuery]
    ) -> None:
        self._network = network
        self._windows = windows
        self._queries = queries
        self._found: dict[ContinuousQuery, Exception] = {}

    def note(self, query: ContinuousQuery, error: Exception) -> None:
        """Note that a query failed."""
        self._found[query] = error

    def note_named(self, names: Iterable[str], error: Exception) -> None:
        """Note that queries failed, by name."""
        self._found.update(dict.fromkeys(map(self._queries.__getitem__, names), error))

    def note_entry(self, entry: MovedByTime, error: Exception) -> None:
        """Note a failed entry of the agenda and all queries that use it; remove it from the agenda.

        Raises the error itself if no query is known to use the entry.
        """
        self._network.agenda.forget(entry)
        match entry:
            case ContinuousQuery():
                self._found[entry] = error
            case StreamWindow() | WindowedStream():
                # Windows of one stream share their content.
                stream = entry if isinstance(entry, WindowedStream) else entry.stream
                self._found.update(dict.fromkeys(self._windows.readers[stream], error))
            case Node():
                self._network.faults[entry] = error
            case Instants():
                self.note_named(entry.names, error)
            case _:
                raise error

    def forget(self, query: ContinuousQuery) -> None:
        """Remove a query that has ended."""
        self._found.pop(query, None)

    def move(self, entry: MovedByTime, move: Callable[[Instant], None], time: Instant) -> None:
        """Move an entry to a time, and schedule its next one; an entry that fails is removed."""
        try:
            move(time)
            self._network.agenda.note(entry)
        except Exception as error:
            self.note_entry(entry, error)

    def asked(self, query: ContinuousQuery, what: Callable[[ContinuousQuery], bool]) -> bool:
        """The answer of a query to a question about itself; False if it fails."""
        try:
            return what(query)
        except Exception as error:
            self._found[query] = error
            return False

    def stop(self, stop: Callable[[ContinuousQuery, Exception], None]) -> None:
        """Stop the failed queries and no others; ``stop`` must call :meth:`forget` for each."""
        while self._found:
            stop(*next(iter(self._found.items())))
        faults = self._network.faults
        while faults:
            node, error = next(iter(faults.items()))
            for query in [q for q in self._queries.values() if node in operators(q.root)]:
                stop(query, error)
            faults.pop(node, None)


def too_costly(
    network: Network, queries: Collection[ContinuousQuery]
) -> list[tuple[ContinuousQuery, Overrun]]:
    """The costliest queries, as many as must stop to relieve the load, with the error of each.

    Empty if all queries together took no more than the limit since the period of the load began, or
    if the limits are lifted.
    """
    load = network.load
    excess = load.excess()
    if not excess or network.budget.lifted:
        return []
    costs = _costs(network, queries)
    taken = load.for_a_message(sum(load.seconds.values()))
    limits = network.budget.limits
    found = []
    for query in sorted(costs, key=costs.__getitem__, reverse=True):
        if excess <= 0:
            break
        excess -= costs[query]
        own = load.for_a_message(costs[query])
        error = Overrun(
            f"all continuous queries together took {taken:.2g} s for a message, and this "
            f"one took {own:.2g} s of it; the setting {limits.settings}_seconds_together "
            f"({limits.together:g}) raises the limit"
        )
        found.append((query, error))
    return found


def _costs(network: Network, queries: Collection[ContinuousQuery]) -> dict[ContinuousQuery, float]:
    """The seconds of each query in the present period; shared costs are divided equally."""
    seconds = network.load.seconds
    parts = {query: operators(query.root) for query in queries}
    users = Counter(node for nodes in parts.values() for node in nodes)
    return {
        query: seconds.get(query, 0.0) + sum(seconds.get(node, 0.0) / users[node] for node in nodes)
        for query, nodes in parts.items()
    }
