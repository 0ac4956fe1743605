"""The moments of rules over time: what happens at one makes events, these make rules fire.

All that happens at one time is one moment, which ends when time moves on. The graphs that rules
make belong to the moment that they fire at: rules of higher levels select from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Mode
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.budget import Budget
from sensorstream.network.build import build
from sensorstream.network.intervals.source import Waiting
from sensorstream.network.intervals.strata import Ends, ends_of_rules
from sensorstream.network.network import Network
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.recursion.kinds import Conclusions
from sensorstream.network.selection.assembly import Assembly, Fired, Stores, assembled
from sensorstream.network.selection.graph import Channel, Holds, InstantGraph
from sensorstream.network.selection.making import triples_of
from sensorstream.network.selection.ruleset import Firings, Ruleset
from sensorstream.network.selection.strata import Order
from sensorstream.network.sources import DEFAULT

Told: TypeAlias = Callable[[Iterable[Triple], Instant], None]
_LOOK: Final = 256
"""Moments between two looks at what is kept."""


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
        self._order = Order(conclusions)
        self._moments = 0
        # Texts whose rules cannot go on, and why.
        self._faults: dict[str, Exception] = {}
        # What the rulesets come to; made when it is needed.
        self._assembly: Assembly | None = None
        self._stores: Stores = {}
        self._windows: dict[Plan, Channel] = {}
        # The channels of windows with a change at the moment at work.
        self._stirred: dict[Channel, None] = {}

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
        templates = dict.fromkeys(
            triple
            for ruleset in rulesets.values()
            for pattern in ruleset.patterns.patterns
            for triple in pattern.rule.template
        )
        read = {kind for ruleset in rulesets.values() for kind in ruleset.read}
        return ends_of_rules(templates, read, self._conclusions)

    def check(self, ruleset: Ruleset) -> None:
        """Whether rules could run beside the others, in place of those of their name.

        Raises:
            UnsupportedQuery: they would see what they make themselves.
        """
        self._order.check(ruleset)

    def begin(self, ruleset: Ruleset) -> None:
        """Rules run from now on."""
        self._rulesets[ruleset.name] = ruleset
        self._order.add(ruleset)
        for plan, events in ruleset.channels.items():
            if events.mode is Mode.WINDOW and plan not in self._windows:
                node = build(plan, self._network, {DEFAULT: self._background})
                channel = Channel(node, self._touch)
                # A solution happens when it becomes one.
                channel.standing = {}
                self._windows[plan] = channel
                self._network.listen(node, channel.changed)
        self._take_apart()

    def end(self, name: str) -> None:
        """The rules of a text run no more."""
        if self._rulesets.pop(name, None) is None:
            return
        self._order.drop(name)
        used = {plan for each in self._rulesets.values() for plan in each.channels}
        for plan in [each for each in self._windows if each not in used]:
            channel = self._windows.pop(plan)
            self._network.leave(channel.node, channel.changed)
            self._stirred.pop(channel, None)
        if not self._rulesets:
            self._pending.clear()
            self._time = None
            self._agenda.forget(self)
        self._take_apart()

    def renew(self) -> None:
        """The background knowledge has changed, and perhaps what follows from it."""
        self._order.renew()
        self._take_apart()

    def _take_apart(self) -> None:
        """What the rulesets come to is to be made anew."""
        if self._assembly is not None:
            for each in self._assembly.graphs:
                each.close()
        self._assembly = None

    # -- time -------------------------------------------------------------------------------

    def take(self, triples: Iterable[Triple], time: Instant) -> None:
        """Triples happen at the present."""
        for triple in triples:
            self._pending[triple] = None
        self._time = time
        self._agenda.note(self)

    def _touch(self, channel: Channel) -> None:
        self._stirred[channel] = None
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
            self._take_apart()
            raise

    def _work(self, said: Iterable[Triple], time: Instant) -> None:
        made = self._made()
        made.expiry.elapse(time)
        graphs: dict[InstantGraph, None] = {}
        self._say(made, said, graphs)
        fired: Fired = []
        made_by: dict[Firings, None] = {}
        for number, level in enumerate(made.levels):
            channels = dict.fromkeys(made.standing)
            channels.update(self._stirred)
            for graph in graphs:
                channels.update(graph.stirred)
            rows = level.fire(channels, time, made.expiry, fired, made_by, self._faults)
            if rows:
                self._told(chain.from_iterable(map(triples_of, rows)), time)
                if number + 1 < len(made.levels):
                    triples = chain.from_iterable(map(triples_of, rows))
                    self._say(made, triples, graphs)
        for matcher, firings in fired:
            matcher.consume(firings, time)
        for graph in graphs:
            try:
                graph.end()
            except Exception as error:
                self._break(made, graph, error)
        for channel in self._stirred:
            channel.end()
        self._stirred.clear()
        for root in made_by:
            self._network.wake(root)
        self._moments += 1
        if self._moments % _LOOK == 0:
            self._look(time)

    def _say(
        self, made: Assembly, triples: Iterable[Triple], graphs: dict[InstantGraph, None]
    ) -> None:
        """Triples happen, with what follows; ``graphs`` gets those that they concern."""
        said: dict[InstantGraph, list[Triple]] = {}
        for triple in triples:
            for each in (triple, *self._conclusions(triple)):
                for graph in made.concerned(each):
                    said.setdefault(graph, []).append(each)
        for graph, told in said.items():
            try:
                graph.say(told)
                graphs[graph] = None
            except Exception as error:
                graphs.pop(graph, None)
                self._break(made, graph, error)

    def _break(self, made: Assembly, graph: InstantGraph, error: Exception) -> None:
        """A graph is worth nothing any more: those who see it cannot go on."""
        graph.stirred.clear()
        self._faults.update((name, error) for name in made.readers[graph])

    def _look(self, now: Instant) -> None:
        for name, ruleset in self._rulesets.items():
            # Stores may hold more for others.
            if self._budget.kept(ruleset.size()) is not None:
                overrun = self._budget.kept(ruleset.needed(now))
                if overrun is not None:
                    self._faults[name] = overrun

    def ready(self) -> None:
        """All rules have stores by now: what they keep can be asked."""
        if self._rulesets:
            self._made()

    def _made(self) -> Assembly:
        if self._assembly is None:
            self._assembly = assembled(
                tuple(self._rulesets.values()),
                self._order.levels(),
                self._windows,
                self._background,
                self._holds,
                self._stores,
                self._budget,
                self._faults,
            )
        return self._assembly

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
        self._stirred.clear()
        self._time = None
        for each in waiting:
            if not self.idle:
                self.take(each.triples, each.end)
        self._agenda.note(self)
