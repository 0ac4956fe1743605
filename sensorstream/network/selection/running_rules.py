"""The rules of one text while they run, and the node that gives out their graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Literal, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.recursion.triple_kinds import TriplesRead, reads, written
from sensorstream.network.rows import Row
from sensorstream.network.selection.event_store import EventRows, Wanted
from sensorstream.network.selection.moment_graph import relevant
from sensorstream.network.selection.selection_plan import Events, RulePlan, RulePlans, likeness
from sensorstream.sparql.dotr.dotr_syntax import DatalogClause, Mode

Event: TypeAlias = tuple[Instant, Row]
_SPARED = 16


class Consumed(dict[tuple[str, Event], None]):
    """The events that a rule has consumed, with their labels.

    ``keeps`` is the time for which the rule may ask for each label, in units of the time line.
    """

    def __init__(self, keeps: Mapping[str, int]) -> None:
        super().__init__()
        self._keeps = keeps
        self._most = _SPARED

    def forget(self, now: Instant) -> None:
        """Forget events that no scope reaches: O(1) for each that was taken."""
        if len(self) > self._most:
            for label, event in list(self):
                if event[0] < now - self._keeps[label]:
                    del self[label, event]
            self._most = 2 * len(self) + _SPARED


@frozen
class KeptEvent:
    """An event that a store keeps, or that a rule has consumed."""

    store: int
    """The number of the store; for the consumed events of a rule, from -1 downwards."""
    label: str
    row: Row
    time: Instant


class Firings(Node):
    """Gives out the graphs of rules: rows of the rule's name and the terms of the triples."""

    def __init__(self, patterns: RulePlans, kept: Callable[[], int]) -> None:
        super().__init__((), (), ())
        self.text = patterns.text
        self._kept = kept
        self._pending: list[Row] = []

    def take(self, rows: Iterable[Row]) -> None:
        """Add graphs of rules that have fired; the caller has to wake the node."""
        self._pending += rows

    def flush(self) -> None:
        self.added, self._pending = self._pending, []

    def rows(self) -> Iterable[Row]:
        """Return nothing, as what has happened is over."""
        return ()

    def size(self) -> int:
        return self._kept()


def rule_of(row: Row) -> str:
    """The name of the rule that has made a row of :class:`Firings`."""
    name = row[0]
    assert isinstance(name, Literal)
    return name.lexical


def triples_of(row: Row) -> list[Triple]:
    """The graph of a row of :class:`Firings`."""
    return list(zip(row[1::3], row[2::3], row[3::3], strict=True))  # type: ignore[arg-type]


class StoreReading:
    """The events that the rules of a text take from a store, which other texts may use, too."""

    def __init__(self, store: EventRows) -> None:
        self.store = store
        self.keeps = 0
        self.wanted: list[Wanted] = []

    def take(self, keeps: int, wanted: Wanted) -> None:
        """Add the events that a rule wants, for the time it needs them."""
        self.keeps = max(self.keeps, keeps)
        self.wanted.append(wanted)
        self.store.longest = max(self.store.longest, keeps)
        self.store.wanted.append(wanted)

    def events(self, since: Instant | None, now: Instant | None) -> Iterator[tuple[Instant, Row]]:
        """The events since a time; with ``now``, only those that some rule of the text needs."""
        for _, time, *cells in self.store.happened():
            row = tuple(cells)
            if (since is not None and time < since) or (
                now is not None and time < now - self.keeps
            ):
                continue
            if any(wants(row) for wants in self.wanted):
                yield time, row


class Ruleset:
    """The rules of one text."""

    def __init__(self, name: str, patterns: RulePlans, clauses: Sequence[DatalogClause]) -> None:
        self.name = name
        self.patterns = patterns
        self.clauses = tuple(clauses)
        self.root = Firings(patterns, self.size)
        self.readings: list[StoreReading] | None = None
        """The stores that its rules read, in the order of the rules; None: not made yet."""
        self.since: Instant | None = None
        """The first moment whose events are for these rules; None: all that stores have."""
        self.consumed = [
            Consumed({label: dict(each.keeps)[label] for label in each.rule.consumed})
            for each in patterns.patterns
        ]
        """The events that each rule has consumed."""
        self.restored: list[KeptEvent] | None = None
        """The events that the stores are to be given."""

    @cached_property
    def channels(self) -> dict[Plan, Events]:
        """The selectors of all rules."""
        found: dict[Plan, Events] = {}
        for pattern in self.patterns.patterns:
            for each in _events(pattern):
                found.setdefault(each.source, each)
        return found

    @cached_property
    def likenesses(self) -> tuple[Hashable, ...]:
        """The :func:`.likeness` of each rule."""
        return tuple(likeness(each) for each in self.patterns.patterns)

    @cached_property
    def longest(self) -> int:
        """The longest time that any event is kept, in units of the time line."""
        lengths = (units for each in self.patterns.patterns for _, units in each.keeps)
        return max(lengths, default=0)

    @cached_property
    def sees(self) -> tuple[DatalogClause, ...]:
        """The Datalog rules that contribute to a selector."""
        return tuple(relevant(self.clauses, {kind for each in self.asked for kind in each}))

    @cached_property
    def asked(self) -> tuple[frozenset[TriplesRead], ...]:
        """The kinds of triples that each rule selects from at a moment."""
        found = dict[Plan, frozenset[TriplesRead]]()
        for plan, each in self.channels.items():
            if each.mode is Mode.INSTANT:
                found[plan] = frozenset(read.kind for read in reads(each.pattern))
        return tuple(
            frozenset().union(*(found.get(each.source, ()) for each in _events(pattern)))
            for pattern in self.patterns.patterns
        )

    @cached_property
    def read(self) -> frozenset[TriplesRead]:
        """The kinds of triples that rules, and the Datalog rules they see, read of a moment."""
        derived = {each.kind for clause in self.sees for each in reads(clause.body)}
        return frozenset(derived.union(*self.asked))

    @cached_property
    def made(self) -> tuple[frozenset[TriplesRead], ...]:
        return tuple(frozenset(map(written, each.rule.template)) for each in self.patterns.patterns)

    def size(self) -> int:
        """An upper bound of the events kept for these rules."""
        return sum(len(each.store) for each in self.readings or ())

    def needed(self, now: Instant) -> int:
        """The number of events these rules would keep without any others."""
        return sum(1 for each in self.readings or () for _ in each.events(self.since, now))

    def kept(self) -> Iterator[KeptEvent]:
        """The events that must survive a restart."""
        yield from self.restored or ()
        for number, reading in enumerate(self.readings or ()):
            for time, row in reading.events(self.since, None):
                yield KeptEvent(number, "", row, time)
        for number, consumed in enumerate(self.consumed, 1):
            for label in self.patterns.patterns[number - 1].rule.consumed:
                for of, (time, row) in consumed:
                    if of == label:
                        yield KeptEvent(-number, label, row, time)

    def keep(self, events: Iterable[KeptEvent], since: Instant | None) -> None:
        """Take the events of :meth:`kept` back, before the rules have stores."""
        self.since = since
        self.restored = []
        for each in events:
            if each.store >= 0:
                self.restored.append(each)
            else:
                self.consumed[-each.store - 1][each.label, (each.time, each.row)] = None


@frozen
class RuleMember:
    """A rule, by the number of its pattern in its text."""

    ruleset: Ruleset
    number: int

    @property
    def pattern(self) -> RulePlan:
        return self.ruleset.patterns.patterns[self.number]


def _events(pattern: RulePlan) -> Iterator[Events]:
    """The events that a rule selects, those of its trigger first."""
    yield pattern.trigger
    for part in pattern.parts:
        yield part.events
