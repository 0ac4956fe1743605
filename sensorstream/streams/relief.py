"""Which queries to stop when all of them together take more than their budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from sensorstream.errors import Overrun
from sensorstream.network.network import Network
from sensorstream.network.node import operators
from sensorstream.streams.continuous_query import ContinuousQuery


def too_costly(
    network: Network, queries: Collection[ContinuousQuery]
) -> list[tuple[ContinuousQuery, Overrun]]:
    """The costliest queries, as many as it takes, with what to tell of each.

    None, if all of them together have taken no more than the limit since the period of the load
    began, or if the limits are lifted.
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
    """The seconds of each query in the present period; what several share in equal parts."""
    seconds = network.load.seconds
    parts = {query: operators(query.root) for query in queries}
    users = Counter(node for nodes in parts.values() for node in nodes)
    return {
        query: seconds.get(query, 0.0) + sum(seconds.get(node, 0.0) / users[node] for node in nodes)
        for query, nodes in parts.items()
    }
