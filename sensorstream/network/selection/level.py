"""The rules that may fire together at one moment."""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

from sensorstream.model.terms import Literal, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row
from sensorstream.network.selection.graph import Channel
from sensorstream.network.selection.matcher import Firing, Matcher
from sensorstream.network.selection.ruleset import GraphOf, Ruleset
from sensorstream.network.selection.store import Store

Fired: TypeAlias = list[tuple[Matcher, list[Firing]]]


class Level:
    """Rules, and the stores that get their events when these rules may fire."""

    def __init__(self) -> None:
        self._stores: list[tuple[Channel, Store]] = []
        self._rules: dict[Channel, list[tuple[Ruleset, Matcher, GraphOf]]] = {}

    def add(self, trigger: Channel, ruleset: Ruleset, matcher: Matcher, graph: GraphOf) -> None:
        """A rule, which an event of its trigger may make fire."""
        self._rules.setdefault(trigger, []).append((ruleset, matcher, graph))

    def feed(self, channel: Channel, store: Store) -> None:
        """A store, which gets the events of a selector."""
        self._stores.append((channel, store))

    def fire(self, time: Instant, fired: Fired, faults: dict[str, Exception]) -> list[Triple]:
        """All graphs that rules make now; rules that cannot go on are noted in ``faults``."""
        rows = {channel: channel.rows() for channel, _ in self._stores}
        for channel, store in self._stores:
            if rows[channel]:
                store.add(time, rows[channel])
        made: list[Triple] = []
        for channel, rules in self._rules.items():
            found = rows[channel] if channel in rows else channel.rows()
            for row in found:
                for ruleset, matcher, graph in rules:
                    try:
                        firings = matcher.firings(row, time)
                    except Exception as error:
                        faults[ruleset.name] = error
                        continue
                    if firings:
                        made += _given(ruleset, matcher, graph, firings)
                        fired.append((matcher, firings))
        return made


def _given(
    ruleset: Ruleset, matcher: Matcher, graph: GraphOf, firings: list[Firing]
) -> list[Triple]:
    """The triples of firings, which are given to the root of their rules."""
    made: list[Triple] = []
    rows: list[Row] = []
    for firing in firings:
        for name, triples in graph(firing, [matcher.names[each] for each in firing.members]):
            rows.append((name, *chain.from_iterable(triples)))
            made += triples
    ruleset.root.take(rows)
    return made


def graph_of(row: Row) -> tuple[str, list[Triple]]:
    """The name of a rule and its graph, of a row that a root gives out."""
    name = row[0]
    assert isinstance(name, Literal)
    cells = row[1:]
    return name.lexical, list(zip(cells[::3], cells[1::3], cells[2::3], strict=True))  # type: ignore[arg-type]
