"""The moments of rules over time: a moment has events, at which rules fire.

All that happens at one time is one moment, which ends when time moves on. The graphs that rules
make belong to the moment that they fire at: rules of higher levels select from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final, TypeAlias

from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.build import build
from sensorstream.network.intervals.occurrence_source import OpenOccurrences
from sensorstream.network.intervals.query_strata import InstantKinds, ends_of_rules
from sensorstream.network.network import Network
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.query_sources import DEFAULT, Knowledge
from sensorstream.network.selection.assembly import Assembly, Broken, Stores
from sensorstream.network.selection.firing_order import Order
from sensorstream.network.selection.moment_graph import Channel
from sensorstream.network.selection.running_rules import Ruleset, triples_of
from sensorstream.sparql.dotr.dotr_syntax import Mode

Told: TypeAlias = Callable[[Iterable[Triple], Instant], None]
_LOOK: Final = 256
"""Moments between two looks at what is kept."""


class Instants:
    """The rules over time of one stream processor.

    ``now`` is the present, ``told`` is called with the graphs that rules make, and ``broken`` with
    the names of texts that cannot go on.
    """

    closing: Final = True

    def __init__(
        self,
        network: Network,
        knowledge: Knowledge,
        now: Callable[[], Instant | None],
        told: Told,
        broken: Broken,
    ) -> None:
        self._network = network
        self._knowledge = knowledge
        self._now = now
        self._told = told
        self._broken = broken
        self._pending: dict[Triple, None] = {}
        self._time: Instant | None = None
        self._rulesets: dict[str, Ruleset] = {}
        self._order = Order(knowledge.conclusions)
        self._moments = 0
        # Made from the rulesets when it is needed.
        self._assembly: Assembly | None = None
        self._stores: Stores = {}
        self._windows: dict[Plan, Channel] = {}
        # The channels of windows with a change at the moment at work.
        self._stirred: dict[Channel, None] = {}

    # -- rules ------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        return not self._rulesets

    @property
    def names(self) -> Iterable[str]:
        return tuple(self._rulesets)

    def ends(self, also: Ruleset | None = None) -> InstantKinds | None:
        """The kinds that all rules, and those of another text, add to a moment and read of it."""
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
        return ends_of_rules(templates, read, self._knowledge.conclusions)

    def check(self, ruleset: Ruleset) -> None:
        """Raise UnsupportedQuery if a text, replacing that of its name, would see what it makes."""
        self._order.check(ruleset)

    def begin(self, ruleset: Ruleset) -> None:
        """Start the rules of a text."""
        self._rulesets[ruleset.name] = ruleset
        self._order.add(ruleset)
        for plan, events in ruleset.channels.items():
            if events.mode is Mode.WINDOW and plan not in self._windows:
                node = build(plan, self._network, {DEFAULT: self._knowledge.background})
                channel = Channel(node, self._touch)
                # A solution in a window is an event when it appears, and only then.
                channel.standing = {}
                self._windows[plan] = channel
                self._network.listen(node, channel.changed)
        self._take_apart()

    def end(self, name: str) -> None:
        """Stop the rules of a text."""
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
            self._network.agenda.forget(self)
        self._take_apart()

    def renew(self) -> None:
        """Take in a change of the background knowledge, or of what follows from it."""
        self._order.renew()
        self._take_apart()

    def _take_apart(self) -> None:
        """Discard the assembly, which is made anew when it is needed."""
        if self._assembly is not None:
            self._assembly.close()
        self._assembly = None

    # -- time -------------------------------------------------------------------------------

    def take(self, triples: Iterable[Triple], time: Instant) -> None:
        """Take in triples of the present moment."""
        for triple in triples:
            self._pending[triple] = None
        self._time = time
        self._network.agenda.note(self)

    def _touch(self, channel: Channel) -> None:
        self._stirred[channel] = None
        if self._time is None:
            self._time = self._now()
            self._network.agenda.note(self)

    @property
    def due(self) -> Instant | None:
        """The moment that has not ended."""
        return self._time

    def skip(self, time: Instant) -> None:
        """Do nothing: no moment is left out."""

    def elapse(self, time: Instant) -> None:
        """End the moment: its rules fire."""
        self._time = None
        said, self._pending = self._pending, {}
        try:
            for rows in self._made().fire(said, time, self._stirred):
                self._told(chain.from_iterable(map(triples_of, rows)), time)
        except BaseException:
            # The graphs may have half of a moment.
            self._take_apart()
            raise
        for channel in self._stirred:
            channel.end()
        self._stirred.clear()
        self._moments += 1
        if self._moments % _LOOK == 0:
            self._look(time)

    def _look(self, now: Instant) -> None:
        budget = self._network.budget
        for name, ruleset in self._rulesets.items():
            # Stores may hold more, for other texts.
            if budget.kept(ruleset.size()) is not None:
                overrun = budget.kept(ruleset.needed(now))
                if overrun is not None:
                    self._broken((name,), overrun)

    def ready(self) -> None:
        """Make the stores of all rules, so that their content can be read."""
        if self._rulesets:
            self._made()

    def _made(self) -> Assembly:
        if self._assembly is None:
            self._assembly = Assembly(
                tuple(self._rulesets.values()),
                self._order.levels(),
                self._windows,
                self._knowledge,
                self._stores,
                self._network,
                self._broken,
            )
        return self._assembly

    # -- at rest ----------------------------------------------------------------------------

    def state(self) -> tuple[OpenOccurrences, ...]:
        """The triples of the present moment so far; to be read between two events."""
        if self._time is None:
            return ()
        return (OpenOccurrences(self._time, self._time, tuple(self._pending)),)

    def restore(self, waiting: Iterable[OpenOccurrences]) -> None:
        """Take a :meth:`state` back, after the rules have begun."""
        for channel in self._windows.values():
            channel.end()
        self._stirred.clear()
        self._time = None
        for each in waiting:
            if not self.idle:
                self.take(each.triples, each.end)
        self._network.agenda.note(self)
