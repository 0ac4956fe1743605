"""The rules of all texts, ready to fire: graphs, stores and levels; equal ones are shared."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.network import Network
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.rows import Row
from sensorstream.network.selection.event_store import EventRows
from sensorstream.network.selection.matcher import MatchedRule, Matcher
from sensorstream.network.selection.moment_graph import Channel, InstantGraph
from sensorstream.network.selection.running_rules import (
    RuleMember,
    Ruleset,
    StoreReading,
    triples_of,
)
from sensorstream.network.selection.selection_plan import Events
from sensorstream.sparql.algebra import Pattern
from sensorstream.sparql.dotr.dotr_syntax import DatalogClause, Mode

_Sees: TypeAlias = tuple[DatalogClause, ...] | None
"""The Datalog rules behind a selector; None: it reads the window."""
Broken: TypeAlias = Callable[[Iterable[str], Exception], None]
"""Gets the names of texts that cannot go on, and the error."""
Stores: TypeAlias = dict[tuple[_Sees, Plan, tuple[int, ...]], EventRows]
"""The stores by their content: Datalog rules, selector, and the places they are asked by."""


@dataclass(slots=True)
class _Fed:
    """The stores and matchers for the events of a channel at one level; sorted by ``turn``."""

    turn: int
    stores: list[EventRows] = field(default_factory=list)
    matchers: list[Matcher] = field(default_factory=list)


_Level: TypeAlias = dict[Channel, _Fed]
"""Rules that may fire together, and the stores that get their events just before."""


class Assembly:
    """The rules of all texts, ready to fire."""

    def __init__(
        self,
        rulesets: Sequence[Ruleset],
        order: Mapping[RuleMember, int],
        windows: Mapping[Plan, Channel],
        knowledge: Knowledge,
        stores: Stores,
        network: Network,
        broken: Broken,
    ) -> None:
        """Assemble rules by ``order``, the level of each; ``windows`` are the channels of windows.

        Of the existing ``stores``, those that rules use no more are removed. ``broken`` is called
        with texts that cannot go on; they are left out if their graph cannot be made.
        """
        _date(rulesets, stores)
        self._knowledge = knowledge
        self._network = network
        self._broken = broken
        self._windows = windows
        self._stores = stores
        self._graphs, faults = _graphs(rulesets, knowledge, network)
        for ruleset in rulesets:
            if ruleset.sees in faults:
                broken((ruleset.name,), faults[ruleset.sees])
        self._levels: list[_Level] = [{} for _ in range(1 + max(order.values(), default=0))]
        for channel in windows.values():
            channel.wanted.clear()
        for store in stores.values():
            store.wanted.clear()
            store.longest = 0
        # The first level at which a rule reads a store, and the channel of its events.
        self._first: dict[EventRows, tuple[int, Channel]] = {}
        matchers: dict[RuleMember, Matcher] = {}
        for members in _alike(rulesets, order, faults):
            matcher = self._matcher(members, order[members[0]])
            matchers.update(dict.fromkeys(members, matcher))
        for ruleset in rulesets:
            if ruleset.sees not in faults:
                _attach(ruleset, matchers)
        for unused in [key for key, store in stores.items() if store not in self._first]:
            del stores[unused]
        # The times when stores lose events, so that a moment costs only these stores.
        self._expiry = Agenda()
        for store, (level, source) in self._first.items():
            self._fed(level, source).stores.append(store)
            source.wanted += store.wanted
            self._expiry.note(store)
        channels = [each for graph in self._graphs.values() for each in graph.channels.values()]
        for channel in channels:
            channel.trim()
        # The channels with solutions at every moment.
        self._standing = [each for each in channels if each.standing]
        self._by_predicate = _by_predicate(self._graphs.values())
        # The names of the texts that see a graph.
        self._readers = {
            graph: [each.name for each in rulesets if each.sees == sees]
            for sees, graph in self._graphs.items()
        }

    def _matcher(self, members: Sequence[RuleMember], level: int) -> Matcher:
        """Make the matcher of rules that run together, at a level."""
        ruleset, stores, first = members[0].ruleset, self._stores, self._first

        def store_of(events: Events, places: Sequence[int]) -> EventRows:
            key = (_sees(ruleset, events), events.source, tuple(places))
            store = stores.setdefault(key, EventRows(places))
            # The store gets its events at the level of the first rule that reads it.
            if store not in first or first[store][0] > level:
                first[store] = level, self._channel(ruleset, events)
            return store

        matcher = Matcher(members, store_of, self._network.budget)
        trigger = self._channel(ruleset, matcher.pattern.trigger)
        trigger.wanted.append(matcher.accepts)
        self._fed(level, trigger).matchers.append(matcher)
        return matcher

    def _channel(self, ruleset: Ruleset, events: Events) -> Channel:
        sees = _sees(ruleset, events)
        channels = self._windows if sees is None else self._graphs[sees].channels
        return channels[events.source]

    def _fed(self, level: int, channel: Channel) -> _Fed:
        channels = self._levels[level]
        if channel not in channels:
            channels[channel] = _Fed(len(channels))
        return channels[channel]

    def close(self) -> None:
        for each in self._graphs.values():
            each.close()

    # -- a moment ---------------------------------------------------------------------------

    def fire(
        self, said: Iterable[Triple], time: Instant, stirred: Iterable[Channel]
    ) -> Iterator[list[Row]]:
        """Fire the rules of a moment, level by level, and end it; returns the graphs they make.

        ``said`` are its triples; ``stirred`` are the channels of windows with a change.
        """
        expiry = self._expiry
        while (due := expiry.next) is not None and due <= time:
            store = expiry.pop()
            store.elapse(time)
            expiry.note(store)
        graphs: dict[InstantGraph, None] = {}
        self._say(said, graphs)
        fired: list[tuple[Matcher, list[MatchedRule]]] = []
        for number, level in enumerate(self._levels, 1):
            channels = dict.fromkeys(chain(self._standing, stirred))
            for graph in graphs:
                channels.update(graph.stirred)
            if rows := self._fired(level, channels, time, fired):
                yield rows
                if number < len(self._levels):
                    self._say(chain.from_iterable(map(triples_of, rows)), graphs)
        for matcher, firings in fired:
            matcher.consume(firings, time)
        for graph in graphs:
            try:
                graph.end()
            except Exception as error:
                self._break(graph, error)

    def _fired(
        self,
        level: _Level,
        channels: Iterable[Channel],
        time: Instant,
        fired: list[tuple[Matcher, list[MatchedRule]]],
    ) -> list[Row]:
        """Fire the rules of a level for the channels that may have events."""
        concerned = [(level[each], each) for each in channels if each in level]
        concerned.sort(key=lambda each: each[0].turn)
        found = [(fed, channel.rows()) for fed, channel in concerned]
        for fed, rows in found:
            for store in fed.stores:
                store.take(time, rows)
                self._expiry.note(store)
        made: list[Row] = []
        for fed, rows in found:
            for row in rows:
                for matcher in fed.matchers:
                    try:
                        firings = matcher.firings(row, time)
                    except Exception as error:
                        self._broken([each.name for each in matcher.rulesets], error)
                        continue
                    if firings:
                        made += self._given(matcher, firings)
                        fired.append((matcher, firings))
        return made

    def _given(self, matcher: Matcher, firings: list[MatchedRule]) -> list[Row]:
        """Give the graphs of firings to the roots of their rules; returns the graphs."""
        made: list[Row] = []
        given: dict[Ruleset, list[Row]] = {}
        members, names = matcher.members, matcher.names
        for firing in firings:
            graphs = list(matcher.graphs(firing, [names[each] for each in firing.members]))
            made += graphs
            if len(matcher.rulesets) == 1:
                given.setdefault(matcher.rulesets[0], []).extend(graphs)
                continue
            # A firing without a triple has none for any member, so `graphs` may be empty.
            for member, row in zip(firing.members, graphs, strict=False):
                given.setdefault(members[member].ruleset, []).append(row)
        for ruleset, rows in given.items():
            ruleset.root.take(rows)
            if not ruleset.root.queued:
                self._network.wake(ruleset.root)
        return made

    def _say(self, triples: Iterable[Triple], graphs: dict[InstantGraph, None]) -> None:
        """Add triples, and what follows, to the moment; ``graphs`` gets the graphs concerned."""
        said: dict[InstantGraph, list[Triple]] = {}
        for triple in triples:
            for each in (triple, *self._knowledge.conclusions(triple)):
                for graph in self._by_predicate.get(each[1]) or self._by_predicate[None]:
                    said.setdefault(graph, []).append(each)
        for graph, told in said.items():
            try:
                graph.say(told)
                graphs[graph] = None
            except Exception as error:
                graphs.pop(graph, None)
                self._break(graph, error)

    def _break(self, graph: InstantGraph, error: Exception) -> None:
        """Report the texts that read a graph, as its content cannot be used any more."""
        graph.stirred.clear()
        self._broken(self._readers[graph], error)


def _sees(ruleset: Ruleset, events: Events) -> _Sees:
    return ruleset.sees if events.mode is Mode.INSTANT else None


def _alike(
    rulesets: Iterable[Ruleset],
    order: Mapping[RuleMember, int],
    broken: Container[tuple[DatalogClause, ...]],
) -> Iterable[list[RuleMember]]:
    """Groups of rules that run together."""
    found: dict[Hashable, list[RuleMember]] = {}
    for ruleset in rulesets:
        for number, likeness in enumerate(() if ruleset.sees in broken else ruleset.likenesses):
            member = RuleMember(ruleset, number)
            pattern = member.pattern
            # All members must have seen the same events for aggregates and absences.
            seen = any(each.pick is None for each in pattern.parts) and ruleset.since
            key = (_sees(ruleset, pattern.trigger), likeness, seen)
            found.setdefault(key, []).append(member)
    return found.values()


def _date(rulesets: Iterable[Ruleset], stores: Stores) -> None:
    """Let new rules take no events of earlier moments, which other rules may have in the stores."""
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
    rulesets: Iterable[Ruleset], knowledge: Knowledge, network: Network
) -> tuple[
    dict[tuple[DatalogClause, ...], InstantGraph], dict[tuple[DatalogClause, ...], Exception]
]:
    """The graphs by the Datalog rules behind them, and the errors of those that failed."""
    selectors: dict[tuple[DatalogClause, ...], dict[Plan, Pattern]] = {}
    for ruleset in rulesets:
        for plan, events in ruleset.channels.items():
            if events.mode is Mode.INSTANT:
                selectors.setdefault(ruleset.sees, {})[plan] = events.pattern
    graphs: dict[tuple[DatalogClause, ...], InstantGraph] = {}
    broken: dict[tuple[DatalogClause, ...], Exception] = {}
    for sees, wanted in selectors.items():
        try:
            graphs[sees] = InstantGraph(sees, wanted, knowledge, network.budget)
        except Exception as error:
            broken[sees] = error
    return graphs, broken


def _attach(ruleset: Ruleset, matchers: Mapping[RuleMember, Matcher]) -> None:
    """Give a text the stores that its rules read, in the order of the rules."""
    readings: dict[EventRows, StoreReading] = {}
    for number, pattern in enumerate(ruleset.patterns.patterns):
        keeps = dict(pattern.keeps)
        for each in matchers[RuleMember(ruleset, number)].candidates:
            reading = readings.setdefault(each.store, StoreReading(each.store))
            reading.take(keeps[each.label], each.wanted)
    ruleset.readings = list(readings.values())
    restored: dict[int, list[tuple[Instant, Row]]] = {}
    for kept in ruleset.restored or ():
        restored.setdefault(kept.store, []).append((kept.time, kept.row))
    for number, events in restored.items():
        ruleset.readings[number].store.merge(events)
    ruleset.restored = None


def _by_predicate(graphs: Iterable[InstantGraph]) -> dict[IRI | None, list[InstantGraph]]:
    """The graphs that a property concerns; at None, the graphs that any property does."""
    found: dict[IRI | None, list[InstantGraph]] = {None: []}
    for graph in graphs:
        if None in graph.predicates:
            for each in found.values():
                each.append(graph)
        else:
            for predicate in graph.predicates:
                found.setdefault(predicate, list(found[None])).append(graph)
    return found
