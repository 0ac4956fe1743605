"""What the rules of all texts come to: graphs, stores and levels; what is equal is shared."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sensorstream.dotr.syntax import Clause, Mode
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.budget import Budget
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.rows import Row
from sensorstream.network.selection.event_store import Expiry, Store
from sensorstream.network.selection.graph import Channel, Holds, InstantGraph
from sensorstream.network.selection.making import GraphOf, maker
from sensorstream.network.selection.matcher import Firing, Matcher
from sensorstream.network.selection.plan import Events, Taken
from sensorstream.network.selection.ruleset import Firings, Member, Reading, Ruleset
from sensorstream.sparql.algebra import Pattern

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


_Sees: TypeAlias = tuple[Clause, ...] | None
"""The Datalog rules behind a selector; None: it reads the window."""
Stores: TypeAlias = dict[tuple[_Sees, Plan, tuple[int, ...]], Store]
"""The stores by what is in them: Datalog rules, selector, and the places they are asked by."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """All rules, ready to fire. ``standing`` are channels with solutions at every moment."""

    graphs: Sequence[InstantGraph]
    levels: Sequence[Level]
    standing: Sequence[Channel]
    expiry: Expiry
    by_predicate: Mapping[IRI | None, Sequence[InstantGraph]]
    readers: Mapping[InstantGraph, Sequence[str]]
    """The names of the texts that see a graph."""

    def concerned(self, triple: Triple) -> Sequence[InstantGraph]:
        """The graphs in which a triple makes a difference."""
        return self.by_predicate.get(triple[1]) or self.by_predicate[None]


def assembled(
    rulesets: Sequence[Ruleset],
    order: Mapping[Member, int],
    windows: Mapping[Plan, Channel],
    background: TripleIndex,
    holds: Holds,
    stores: Stores,
    budget: Budget,
    faults: dict[str, Exception],
) -> Assembly:
    """What rules come to; ``order`` has the level of each, ``windows`` the channels of windows.

    ``stores`` are those there are; what rules do not use any more is taken out. Texts whose graph
    cannot be made are noted in ``faults``, and left out.
    """
    _date(rulesets, stores)
    graphs, broken = _graphs(rulesets, background, holds, budget)
    faults.update((each.name, broken[each.sees]) for each in rulesets if each.sees in broken)
    levels = [Level() for _ in range(1 + max(order.values(), default=0))]
    _forget_wishes(windows.values(), stores.values())
    matchers: dict[Member, Matcher] = {}
    first: dict[Store, tuple[int, Channel]] = {}
    for members in _alike(rulesets, order, broken):
        ruleset, level = members[0][0].ruleset, members[0][1]

        def channel(events: Events, ruleset: Ruleset = ruleset) -> Channel:
            sees = _sees(ruleset, events)
            return (
                windows[events.solutions]
                if sees is None
                else graphs[sees].channels[events.solutions]
            )

        def store_of(
            events: Events, places: Sequence[int], ruleset: Ruleset = ruleset, level: int = level
        ) -> Store:
            key = (_sees(ruleset, events), events.solutions, tuple(places))
            store = stores.setdefault(key, Store(places))
            # It gets its events when the first rule that reads it may fire.
            if store not in first or first[store][0] > level:
                first[store] = level, channel(events)
            return store

        matcher = Matcher([each for each, _ in members], store_of, budget)
        matchers.update((each, matcher) for each, _ in members)
        trigger = channel(matcher.pattern.trigger)
        trigger.wanted.append(matcher.accepts)
        levels[level].add(trigger, matcher, maker(matcher.pattern.rule))
    for store, (level, source) in first.items():
        levels[level].feed(source, store)
    for ruleset in rulesets:
        if ruleset.sees not in broken:
            _attach(ruleset, matchers)
    for unused in [key for key, store in stores.items() if store not in first]:
        del stores[unused]
    expiry = Expiry()
    for store, (_, source) in first.items():
        source.wanted += store.wanted
        expiry.note(store)
    channels = [each for graph in graphs.values() for each in graph.channels.values()]
    for each in channels:
        each.trim()
    return Assembly(
        tuple(graphs.values()),
        levels,
        [each for each in channels if each.standing],
        expiry,
        _by_predicate(graphs.values()),
        {graph: [e.name for e in rulesets if e.sees == sees] for sees, graph in graphs.items()},
    )


def _forget_wishes(windows: Iterable[Channel], stores: Iterable[Store]) -> None:
    for each in windows:
        each.wanted.clear()
    for store in stores:
        store.wanted.clear()
        store.longest = 0


def _sees(ruleset: Ruleset, events: Events) -> _Sees:
    return ruleset.sees if events.mode is Mode.INSTANT else None


def _alike(
    rulesets: Iterable[Ruleset], order: Mapping[Member, int], broken: Container[tuple[Clause, ...]]
) -> Iterable[list[tuple[Member, int]]]:
    """The rules that run together, each with its level."""
    found: dict[Hashable, list[tuple[Member, int]]] = {}
    for ruleset in rulesets:
        for number, likeness in enumerate(() if ruleset.sees in broken else ruleset.likenesses):
            member = Member(ruleset, number)
            pattern = member.pattern
            # What aggregates and absences are about, all members have seen.
            seen = not all(isinstance(each, Taken) for each in pattern.parts) and ruleset.since
            key = (_sees(ruleset, pattern.trigger), likeness, seen)
            found.setdefault(key, []).append((member, order[member]))
    return found.values()


def _date(rulesets: Iterable[Ruleset], stores: Stores) -> None:
    """Rules that are new take no events of moments before; what is in the stores is of such."""
    times = [each.newest for each in stores.values()]
    times += [each.time for ruleset in rulesets for each in ruleset.restored or ()]
    newest = max((each for each in times if each is not None), default=None)
    if newest is None:
        return
    for ruleset in rulesets:
        if ruleset.readings is None and ruleset.restored is None:
            ruleset.since = newest + 1
        elif ruleset.since is not None and newest - ruleset.longest >= ruleset.since:
            ruleset.since = None


def _graphs(
    rulesets: Iterable[Ruleset], background: TripleIndex, holds: Holds, budget: Budget
) -> tuple[dict[tuple[Clause, ...], InstantGraph], dict[tuple[Clause, ...], Exception]]:
    """By the Datalog rules behind them: the graphs, and why others cannot be made."""
    selectors: dict[tuple[Clause, ...], dict[Plan, Pattern]] = {}
    for ruleset in rulesets:
        for plan, events in ruleset.channels.items():
            if events.mode is Mode.INSTANT:
                selectors.setdefault(ruleset.sees, {})[plan] = events.pattern
    graphs: dict[tuple[Clause, ...], InstantGraph] = {}
    broken: dict[tuple[Clause, ...], Exception] = {}
    for sees, wanted in selectors.items():
        try:
            graphs[sees] = InstantGraph(sees, wanted, background, holds, budget)
        except Exception as error:
            broken[sees] = error
    return graphs, broken


def _attach(ruleset: Ruleset, matchers: Mapping[Member, Matcher]) -> None:
    """Give a text the stores that its rules read, in the order of the rules."""
    readings: dict[Store, Reading] = {}
    for number, pattern in enumerate(ruleset.patterns.patterns):
        keeps = dict(pattern.keeps)
        for each in matchers[Member(ruleset, number)].candidates:
            reading = readings.setdefault(each.store, Reading(each.store))
            reading.take(keeps[each.label], each.wanted)
    ruleset.readings = list(readings.values())
    restored: dict[int, list[tuple[Instant, Row]]] = {}
    for kept in ruleset.restored or ():
        restored.setdefault(kept.store, []).append((kept.time, kept.row))
    for number, events in restored.items():
        ruleset.readings[number].store.merge(events)
    ruleset.restored = None


def _by_predicate(graphs: Iterable[InstantGraph]) -> dict[IRI | None, list[InstantGraph]]:
    """The graphs that a property concerns; under None those that any does."""
    found: dict[IRI | None, list[InstantGraph]] = {None: []}
    for graph in graphs:
        if None in graph.predicates:
            for each in found.values():
                each.append(graph)
        else:
            for predicate in graph.predicates:
                found.setdefault(predicate, list(found[None])).append(graph)
    return found
