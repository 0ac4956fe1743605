"""Load shedding: what a deployment can do without while more comes than it was made for.

The load is what the journal says, not what a clock measures here: messages by their times of
arrival fill a queue that is served at the budget's rate. While more than ``queue`` would wait in
it, until half of that has gone, individuals are kept or shed by the policy of their class. So a
replay of the journal sheds what was shed.

A sample keeps the individuals whose names hash to it, each with all its messages: what one
message says of a kept individual and another does can still be joined. Where the state of every
individual counts, each is thinned out instead: of a period the first reading enters. The last one
would be newer, but all of them would enter at once, at the period's end, in the midst of a flood.

What is shed goes straight to history and into a synopsis of its class, which enters the window at
the end of each period: rules and queries know how many there were, and how their numbers lay.

Source: SensorStream paper, section 6 (load shedding as future work); Babcock et al., Load
Shedding for Aggregation Queries over Data Streams (random sampling, drops by hash).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import ceil
from typing import Final, TypeAlias

from sensorstream.engine.synopsis import Summary
from sensorstream.model.terms import IRI, Subject, Term
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import OWL_THING


@dataclass(frozen=True, slots=True)
class Sample:
    """One in ``one_in`` individuals, by their names; 1 keeps all, 0 keeps no individual."""

    one_in: int

    def keeps(self, name: Subject) -> bool:
        """Whether an individual is of the sample; the same in every run."""
        if self.one_in <= 1:
            return self.one_in == 1
        digest = blake2b(name.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.one_in == 0


@dataclass(frozen=True, slots=True)
class First:
    """Of each individual the first reading of each period."""


Keep: TypeAlias = Sample | First


@dataclass(frozen=True, slots=True)
class Policy:
    """What is kept of the individuals of some classes; ``about`` is the one a synopsis names."""

    classes: frozenset[IRI]
    about: IRI
    keep: Keep


@dataclass(frozen=True, slots=True)
class Shedding:
    """A budget in messages a ``second`` (in the unit of arrival times), and what it may cost.

    ``queue`` bounds the messages that would wait; ``period`` is a length of the time line.
    ``otherwise`` is what is kept of individuals that match no policy.
    """

    budget: int
    queue: int
    second: int
    period: int
    policies: tuple[Policy, ...]
    otherwise: Keep

    @property
    def thins_out(self) -> bool:
        """Whether it matters which individuals have entered in a period."""
        keeps = (self.otherwise, *(policy.keep for policy in self.policies))
        return any(isinstance(keep, First) for keep in keeps)

    def end_of_period(self, time: Instant) -> Instant:
        """When the period of a time is over."""
        return (time // self.period + 1) * self.period

    def verdict(self, name: Subject, kinds: frozenset[Term], first: bool) -> IRI | None:
        """The class for which an individual is shed; None where it is kept.

        Of several policies the one that keeps it wins. ``first`` says whether this is its first
        reading of the period.
        """
        of_it = [policy for policy in self.policies if kinds & policy.classes]
        if not of_it:
            named = sorted(kind for kind in kinds if isinstance(kind, IRI))
            about = named[0] if named else OWL_THING
            of_it = [Policy(frozenset(), about, self.otherwise)]
        for policy in of_it:
            if policy.keep.keeps(name) if isinstance(policy.keep, Sample) else first:
                return None
        return of_it[0].about


@dataclass(slots=True)
class Entered:
    """The individuals that have entered the window in this period of shedding; it ends then."""

    names: set[Subject] = field(default_factory=set)
    ends: Instant | None = None

    def holds(self, name: Subject, time: Instant) -> bool:
        """Whether an individual has entered in the period of a time."""
        return self.ends is not None and time < self.ends and name in self.names

    def add(self, name: Subject, ends: Instant) -> None:
        """Note an individual in the period that ends then; earlier periods are over."""
        if self.ends is None or ends > self.ends:
            self.names.clear()
            self.ends = ends
        self.names.add(name)


@dataclass(frozen=True, slots=True)
class LoadState:
    """What load shedding remembers; a new one for every change, but for ``entered``."""

    level: float = 0.0
    """Messages that would wait, were they served at the budget's rate."""
    at: Instant | None = None
    active: bool = False
    shed: int = 0
    """Individuals shed since it began."""
    summaries: Mapping[IRI, Summary] = field(default_factory=dict)
    """What has been shed in this period, by class."""
    ends: Instant | None = None
    """When the period ends; None while nothing has been shed in it."""
    entered: Entered = field(default_factory=Entered)


_CALM: Final = 2


class LoadShedder:
    """The load, and whether there is too much of it."""

    def __init__(self, shedding: Shedding) -> None:
        self.shedding = shedding
        self.state = LoadState()

    def at_rest(self) -> LoadState:
        """All that must survive a restart; it does not change any more."""
        entered = self.state.entered
        return replace(self.state, entered=Entered(set(entered.names), entered.ends))

    def advance(self, received: Instant, messages: int) -> bool:
        """Let time of arrival pass, and messages come.

        Returns:
            Whether shedding began or ended.
        """
        spec, state = self.shedding, self.state
        now = received if state.at is None else max(state.at, received)
        passed = 0 if state.at is None else now - state.at
        level = max(0.0, state.level - passed * spec.budget / spec.second)
        # The bound lets shedding end soon after the flood, however long that was.
        level = min(level + messages, 2.0 * spec.queue)
        active = level > (spec.queue / _CALM if state.active else spec.queue)
        self.state = replace(state, level=level, at=now, active=active)
        if active == state.active:
            return False
        shed = 0 if active else state.shed
        self.state = replace(self.state, shed=shed, entered=Entered())
        return True

    def is_first(self, name: Subject, time: Instant) -> bool:
        """Whether nothing of an individual has entered in the period of a time."""
        return not self.state.entered.holds(name, time)

    @property
    def due(self) -> Instant | None:
        """From which time of arrival on time alone ends the shedding; 0: at once."""
        spec, state = self.shedding, self.state
        if state.active and state.at is not None:
            left = state.level - spec.queue / _CALM
            return state.at + ceil(max(0.0, left) * spec.second / spec.budget)
        return 0 if state.summaries else None

    def closing(self, time: Instant | None) -> Mapping[IRI, Summary]:
        """The summaries of a period that is over at an application time."""
        state = self.state
        over = not state.active or (
            time is not None and state.ends is not None and time >= state.ends
        )
        return state.summaries if over else {}

    def settle(
        self,
        shed: Mapping[IRI, Summary],
        time: Instant,
        closed: bool,
        entered: Mapping[Subject, Instant],
    ) -> None:
        """Remember what a message cost.

        Args:
            shed: what was shed of it, by class.
            time: its time.
            closed: the last period's summaries were told.
            entered: who entered while shedding, and when the period of that ends.
        """
        state = self.state
        for name, end in entered.items():
            state.entered.add(name, end)
        summaries = {} if closed else dict(state.summaries)
        ends = None if closed else state.ends
        count = state.shed
        for about, summary in shed.items():
            known = summaries.get(about)
            summaries[about] = summary if known is None else known.with_(summary)
            count += summary.count
        if summaries and ends is None:
            ends = self.shedding.end_of_period(time)
        self.state = replace(state, summaries=summaries, ends=ends, shed=count)
