"""Groups over the past of windows: what a group over their present was some time ago.

An average of the last hour and those of the hours before are one group, which is kept in step once;
each of the others is told of its changes later. So each event enters one group, however many times
a query looks back to.
"""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.network.plan.nodes import Anew, Delayed, Group, Match, Plan
from sensorstream.network.plan.refusals import plans
from sensorstream.network.sources import Past, Source
from sensorstream.sparql.algebra import Aggregate
from sensorstream.sparql.walk import replaced


class Delays:
    """The groups of one query that do not differ but in their time and their names."""

    def __init__(self) -> None:
        self._groups: dict[tuple[Plan, tuple[str, ...], tuple[Aggregate, ...]], Group] = {}

    def of(self, group: Group) -> Plan:
        """A plan for a group: itself, or another group delayed.

        That can be where all it reads is the past of something, by the same length of time.
        """
        pasts = {source.past for source in sources_read(group)}
        delays = {each.delay for each in pasts if each is not None}
        if None in pasts or len(delays) != 1:
            self._first(group)
            return group
        first = self._first(replaced(group, _present))
        return Delayed(first, delays.pop(), group.variables)

    def _first(self, group: Group) -> Group:
        aggregates = tuple(aggregate for _, aggregate in group.aggregates)
        return self._groups.setdefault((group.source, group.keys, aggregates), group)


def sources_read(plan: Plan) -> Iterator[Source]:
    """The graphs that a plan reads; one may come several times."""
    for each in plans(plan):
        if isinstance(each, Match):
            for triple in each.triples:
                yield from triple.source.graphs
        elif isinstance(each, Anew):
            for source in each.sources:
                yield from source.graphs


def _present(node: object) -> object | None:
    match node:
        case Source(past=Past(source)):
            return source
    return None
