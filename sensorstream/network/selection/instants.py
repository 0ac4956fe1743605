"""The moments of rules over time: what happens at one makes events, these make rules fire.

All that happens at one time is one moment, which ends when time moves on. The graphs that rules
make belong to the moment that they fire at: rules of higher levels select from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Clause, Mode
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.budget import Budget
from sensorstream.network.build import build
from sensorstream.network.intervals.source import Waiting
from sensorstream.network.intervals.strata import Ends, ends_of_rules
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.recursion.reads import reads
from sensorstream.network.rows import Row
from sensorstream.network.selection.graph import Channel, Holds, InstantGraph
from sensorstream.network.selection.level import Fired, Level
from sensorstream.network.selection.ruleset import Ruleset
from sensorstream.network.selection.store import Store
from sensorstream.network.selection.strata import Ordered, levels
from sensorstream.network.sources import DEFAULT
from sensorstream.sparql.algebra import Pattern

Conclusions: TypeAlias = Callable[[Triple], Iterable[Triple]]
Told: TypeAlias = Callable[[Sequence[Triple], Instant], None]
_LOOK: Final = 256
"""Moments between two looks at what is kept."""


class _WindowChannel(Channel):
    """The events of a selector over the window: a solution happens when it becomes one."""

    def __init__(self, node: Node, touched: Callable[[], None]) -> None:
        super().__init__(node)
        self.standing = {}
        self._touched = touched

    def changed(self, added: list[Row], removed: list[Row]) -> None:
        super().changed(added, removed)
        self._touched()


class Instants:
    """All rules over time of one stream processor.

    ``background`` has the triples that hold always (``holds``), perhaps among others. With a
    triple its ``conclusions`` happen. ``now`` is the present, ``told`` is called with the graphs
    that rules make.
    """

    closing: Final = True

    def __init__(
        self,
        network: Network,
        background: TripleIndex,
        holds: Holds,
        conclusions: Conclusions,
        now: Callable[[], Instant | None],
        told: Told,
    ) -> None:
        self._network = network
        self._agenda: Agenda = network.agenda
        self._budget: Budget = network.budget
        self._background = background
        self._holds = holds
        self._conclusions = conclusions
        self._now = now
        self._told = told
        self._pending: dict[Triple, None] = {}
        self._time: Instant | None = None
        self._rulesets: dict[str, Ruleset] = {}
        self._moments = 0
        # Texts whose rules cannot go on, and why.
        self._faults: dict[str, Exception] = {}
        # What the rulesets come to; made when it is needed.
        self._levels: list[Level] | None = None
        self._graphs: list[InstantGraph] = []
        self._windows: dict[Plan, Channel] = {}

    # -- rules ------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether there are no rules."""
        return not self._rulesets

    @property
    def names(self) -> Iterable[str]:
        """The names of all texts."""
        return tuple(self._rulesets)

    def take_faults(self) -> list[tuple[str, Exception]]:
        """The texts whose rules cannot go on, and why, since the last call."""
        faults, self._faults = self._faults, {}
        return [each for each in faults.items() if each[0] in self._rulesets]

    def ends(self, also: Ruleset | None = None) -> Ends | None:
        """What all rules, and those of another text, add to a moment and read of it."""
        rulesets = self._rulesets if also is None else {**self._rulesets, also.name: also}
        if not rulesets:
            return None
        rules = [each for each in _ordered(rulesets) if each.rule.mode is Mode.INSTANT]
        bodies = dict.fromkeys(body for each in rules for body in each.reads)
        bodies.update((clause.body, None) for each in rules for clause in each.clauses)
        templates = [each for rule in _ordered(rulesets) for each in rule.rule.template]
        read = [each.kind for body in bodies for each in reads(body)]
        return ends_of_rules(templates, read, self._conclusions)

    def check(self, ruleset: Ruleset) -> None:
        """Whether rules could run beside the others, in place of those of their name.

        Raises:
            UnsupportedQuery: they would see what they make themselves.
        """
        levels(_ordered({**self._rulesets, ruleset.name: ruleset}), self._conclusions)

    def begin(self, ruleset: Ruleset) -> None:
        """Rules run from now on."""
        ruleset.start()
        self._rulesets[ruleset.name] = ruleset
        for plan, events in ruleset.channels().items():
            if events.mode is Mode.WINDOW and plan not in self._windows:
                node = build(plan, self._network, {DEFAULT: self._background})
                channel = _WindowChannel(node, self._touch)
                self._windows[plan] = channel
                self._network.listen(node, channel.changed)
        self.renew()

    def end(self, name: str) -> None:
        """The rules of a text run no more."""
        if self._rulesets.pop(name, None) is None:
            return
        used = {plan for each in self._rulesets.values() for plan in each.channels()}
        for plan in [each for each in self._windows if each not in used]:
            channel = self._windows.pop(plan)
            self._network.leave(channel.node, channel.changed)
        if not self._rulesets:
            self._pending.clear()
            self._time = None
            self._agenda.forget(self)
        self.renew()

    def renew(self) -> None:
        """The rules or the background knowledge have changed."""
        for each in self._graphs:
            each.close()
        self._graphs = []
        self._levels = None

    # -- time -------------------------------------------------------------------------------

    def take(self, triples: Iterable[Triple], time: Instant) -> None:
        """Triples happen at the present."""
        for triple in triples:
            self._pending[triple] = None
        self._time = time
        self._agenda.note(self)

    def _touch(self) -> None:
        if self._time is None:
            self._time = self._now()
            self._agenda.note(self)

    @property
    def due(self) -> Instant | None:
        """The moment that has not ended."""
        return self._time

    def skip(self, time: Instant) -> None:
        """Nothing is left out."""

    def elapse(self, time: Instant) -> None:
        """The moment ends."""
        self._time = None
        said, self._pending = self._pending, {}
        try:
            self._work(said, time)
        except BaseException:
            # Half of a moment may stand in the graphs.
            self.renew()
            raise

    def _work(self, said: Iterable[Triple], time: Instant) -> None:
        made = self._made()
        for ruleset in self._rulesets.values():
            for _, store in ruleset.stores.values():
                store.forget(time)
        holding = self._with_conclusions(said)
        for graph in self._graphs:
            graph.say(holding)
        fired: Fired = []
        for number, level in enumerate(made):
            triples = level.fire(time, fired, self._faults)
            if triples:
                self._told(triples, time)
                if number + 1 < len(made):
                    more = self._with_conclusions(triples)
                    for graph in self._graphs:
                        graph.say(more)
        for matcher, firings in fired:
            matcher.consume(firings, time)
        for graph in self._graphs:
            graph.end()
        for channel in self._windows.values():
            channel.end()
        for ruleset in self._rulesets.values():
            if ruleset.root.waits:
                self._network.wake(ruleset.root)
        self._moments += 1
        if self._moments % _LOOK == 0:
            self._look()

    def _look(self) -> None:
        for name, ruleset in self._rulesets.items():
            overrun = self._budget.kept(ruleset.root.size())
            if overrun is not None:
                self._faults[name] = overrun

    def _with_conclusions(self, triples: Iterable[Triple]) -> list[Triple]:
        found: list[Triple] = []
        for triple in triples:
            found.append(triple)
            found += self._conclusions(triple)
        return found

    def _made(self) -> list[Level]:
        if self._levels is None:
            self._levels = self._make()
        return self._levels

    def _make(self) -> list[Level]:
        """The graphs, and the levels of all rules."""
        order = levels(_ordered(self._rulesets), self._conclusions)
        selectors: dict[tuple[Clause, ...], dict[Plan, Pattern]] = {}
        for ruleset in self._rulesets.values():
            for plan, events in ruleset.channels().items():
                if events.mode is Mode.INSTANT:
                    selectors.setdefault(ruleset.clauses, {})[plan] = events.pattern
        graphs = {
            clauses: InstantGraph(clauses, wanted, self._background, self._holds)
            for clauses, wanted in selectors.items()
        }
        self._graphs = list(graphs.values())
        made = [Level() for _ in range(1 + max(order, default=0))]
        numbers = iter(order)
        for ruleset in self._rulesets.values():
            graph = graphs.get(ruleset.clauses)

            def channel(plan: Plan, graph: InstantGraph | None = graph) -> Channel:
                found = self._windows.get(plan)
                if found is None:
                    assert graph is not None
                    found = graph.channels[plan]
                return found

            # A store gets its events when the first rule that reads it may fire.
            first: dict[Store, int] = {}
            # Rules that run together make and select the same: they are of one level.
            level_of = {each.rule.name: next(numbers) for each in ruleset.patterns.patterns}
            for matcher, make in zip(ruleset.matchers, ruleset.makers, strict=True):
                level = level_of[matcher.pattern.rule.name]
                trigger = channel(matcher.pattern.trigger.solutions)
                made[level].add(trigger, ruleset, matcher, make)
                for store in matcher.stores:
                    first[store] = min(first.get(store, level), level)
            for events, store in ruleset.stores.values():
                made[first[store]].feed(channel(events.solutions), store)
        return made

    # -- at rest ----------------------------------------------------------------------------

    def state(self) -> tuple[Waiting, ...]:
        """What the present moment has said so far; between two events."""
        if self._time is None:
            return ()
        return (Waiting(self._time, self._time, tuple(self._pending)),)

    def restore(self, waiting: Iterable[Waiting]) -> None:
        """Go on from a :meth:`state`; the rules are there already."""
        for channel in self._windows.values():
            channel.end()
        self._time = None
        for each in waiting:
            if not self.idle:
                self.take(each.triples, each.end)
        self._agenda.note(self)


def _ordered(rulesets: Mapping[str, Ruleset]) -> list[Ordered]:
    numbers: dict[tuple[Clause, ...], int] = {}
    seen = [
        (ruleset, numbers.setdefault(ruleset.clauses, len(numbers)))
        for ruleset in rulesets.values()
    ]
    return [
        Ordered(
            pattern.rule,
            sees,
            ruleset.clauses,
            tuple(
                dict.fromkeys(
                    each.pattern
                    for each in (pattern.trigger, *(part.events for part in pattern.parts))
                )
            ),
        )
        for ruleset, sees in seen
        for pattern in ruleset.patterns.patterns
    ]
