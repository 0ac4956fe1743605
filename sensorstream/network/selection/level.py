"""The rules that may fire together at one moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row
from sensorstream.network.selection.event_store import Expiry, Store
from sensorstream.network.selection.graph import Channel
from sensorstream.network.selection.making import GraphOf
from sensorstream.network.selection.matcher import Firing, Matcher
from sensorstream.network.selection.ruleset import Firings, Ruleset

Fired: TypeAlias = list[tuple[Matcher, list[Firing]]]


class Level:
    """Rules, and the stores that get their events when these rules may fire."""

    def __init__(self) -> None:
        self._stores: dict[Channel, list[Store]] = {}
        self._rules: dict[Channel, list[tuple[Matcher, GraphOf]]] = {}
        self._order: dict[Channel, int] = {}

    def add(self, trigger: Channel, matcher: Matcher, graph: GraphOf) -> None:
        """Rules, which an event of their trigger may make fire."""
        self._order.setdefault(trigger, len(self._order))
        self._rules.setdefault(trigger, []).append((matcher, graph))

    def feed(self, channel: Channel, store: Store) -> None:
        """A store, which gets the events of a selector."""
        self._order.setdefault(channel, len(self._order))
        self._stores.setdefault(channel, []).append(store)

    def fire(
        self,
        channels: Iterable[Channel],
        time: Instant,
        expiry: Expiry,
        fired: Fired,
        made_by: dict[Firings, None],
        faults: dict[str, Exception],
    ) -> list[Row]:
        """All graphs that rules make now, of the channels that may have events.

        What fires is noted in ``fired``, the roots that give out graphs in ``made_by``, rules that
        cannot go on in ``faults``.
        """
        order = self._order
        concerned = sorted((each for each in channels if each in order), key=order.__getitem__)
        rows = [(channel, channel.rows()) for channel in concerned]
        for channel, found in rows:
            for store in self._stores.get(channel, ()):
                store.add(time, found)
                expiry.note(store)
        made: list[Row] = []
        for channel, found in rows:
            rules = self._rules.get(channel, ())
            for row in found:
                for matcher, graph in rules:
                    try:
                        firings = matcher.firings(row, time)
                    except Exception as error:
                        faults.update((each.name, error) for each in matcher.rulesets)
                        continue
                    if firings:
                        made += _given(matcher, graph, firings, made_by)
                        fired.append((matcher, firings))
        return made


def _given(
    matcher: Matcher, graph: GraphOf, firings: list[Firing], made_by: dict[Firings, None]
) -> list[Row]:
    """The graphs of firings, which are given to the roots of their rules."""
    made: list[Row] = []
    rows: dict[Ruleset, list[Row]] = {}
    members, names = matcher.members, matcher.names
    for firing in firings:
        graphs = list(graph(firing, [names[each] for each in firing.members]))
        made += graphs
        if len(matcher.rulesets) == 1:
            rows.setdefault(matcher.rulesets[0], []).extend(graphs)
            continue
        # A firing that makes no triple makes none for any rule.
        for member, row in zip(firing.members, graphs, strict=False):
            rows.setdefault(members[member].ruleset, []).append(row)
    for ruleset, given in rows.items():
        ruleset.root.take(given)
        made_by[ruleset.root] = None
    return made
