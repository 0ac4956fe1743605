"""Load shedding: leaving out individuals while more come than a deployment can process.

The load follows from the journal, not from a clock here: messages by their times of arrival fill a
queue that is served at the budget's rate. While more than ``queue`` would wait in it, until half of
that has gone, individuals are kept or shed by the policy of their class. So a replay of the journal
sheds the same ones.

A sample keeps the individuals whose names hash to it, each with all its messages: the statements of
different messages about it can still be joined. Where the state of every individual counts, each is
thinned out instead: of a period the first reading enters. The last one would be newer, but all of
them would enter at once, at the period's end, in the midst of a flood.

A shed individual goes straight to history and into a synopsis of its class, which enters the window
at the end of each period: rules and queries know how many there were, and the range, mean and sum
of their numbers.

Source: SensorStream paper, section 6 (load shedding as future work); Babcock et al., Load Shedding
for Aggregation Queries over Data Streams (random sampling, drops by hash).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from hashlib import blake2b
from math import ceil
from typing import Final, TypeAlias, TypeVar

from sensorstream.engine.message_filters import number_of
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.events import Event
from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.schedules import Multiples
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.timeline import Instant, Timeline

VOCABULARY: Final = "urn:sensorstream:vocabulary#"
SYNOPSIS: Final = IRI(f"{VOCABULARY}Synopsis")
_OF: Final = IRI(f"{VOCABULARY}of")
_COUNT: Final = IRI(f"{VOCABULARY}count")
_FROM: Final = IRI(f"{VOCABULARY}from")
_TO: Final = IRI(f"{VOCABULARY}to")
_SUMMARY: Final = IRI(f"{VOCABULARY}summary")
_PROPERTY: Final = IRI(f"{VOCABULARY}property")
_LEAST: Final = IRI(f"{VOCABULARY}min")
_GREATEST: Final = IRI(f"{VOCABULARY}max")
_MEAN: Final = IRI(f"{VOCABULARY}mean")
_SUM: Final = IRI(f"{VOCABULARY}sum")
_MEAN_DIGITS: Final = Context(prec=15)


_Sum = TypeVar("_Sum", "NumbersSynopsis", "Summary")


def add_to(sums: dict[IRI, _Sum], about: IRI, more: _Sum) -> None:
    """Take more into the sum of a property or class."""
    known = sums.get(about)
    sums[about] = more if known is None else known.with_(more)


@frozen
class NumbersSynopsis:
    """A summary of numbers: their count, the least, the greatest and the sum, exactly."""

    count: int
    least: Fraction
    greatest: Fraction
    total: Fraction

    @classmethod
    def of(cls, number: Fraction) -> NumbersSynopsis:
        return cls(1, number, number, number)

    def with_(self, other: NumbersSynopsis) -> NumbersSynopsis:
        """The summary of these numbers and others."""
        return NumbersSynopsis(
            self.count + other.count,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            self.total + other.total,
        )


@frozen
class Summary:
    """A summary of individuals of one class: their count, their span of times, their numbers."""

    count: int
    start: Instant
    end: Instant
    numbers: Mapping[IRI, NumbersSynopsis] = field(default_factory=dict)

    @classmethod
    def of(cls, name: Subject, said: Iterable[Triple], time: Instant) -> Summary:
        """The summary of one individual in one message."""
        numbers: dict[IRI, NumbersSynopsis] = {}
        for subject, predicate, value in said:
            number = number_of(value) if subject == name else None
            if number is not None:
                add_to(numbers, predicate, NumbersSynopsis.of(number))
        return cls(1, time, time, numbers)

    def with_(self, other: Summary) -> Summary:
        """The summary of these individuals and others."""
        numbers = dict(self.numbers)
        for predicate, more in other.numbers.items():
            add_to(numbers, predicate, more)
        return Summary(
            self.count + other.count,
            min(self.start, other.start),
            max(self.end, other.end),
            numbers,
        )

    def event(self, about: IRI, message: str, number: int, line: Timeline) -> Event:
        """The individual that stands for them in the window, by the message that closes it."""
        name = IRI(f"urn:sensorstream:synopsis:{message}-{number}")
        triples: list[Triple] = [
            (name, rdf.TYPE, SYNOPSIS),
            (name, _OF, about),
            (name, _COUNT, _whole(self.count)),
            (name, _FROM, line.literal(self.start)),
            (name, _TO, line.literal(self.end)),
        ]
        for place, (predicate, numbers) in enumerate(self.numbers.items(), 1):
            node = BlankNode(f"_:{message}s{number}-{place}")
            mean = numbers.total / numbers.count
            triples += [
                (name, _SUMMARY, node),
                (node, _PROPERTY, predicate),
                (node, _COUNT, _whole(numbers.count)),
                (node, _LEAST, _decimal(numbers.least)),
                (node, _GREATEST, _decimal(numbers.greatest)),
                (node, _SUM, _decimal(numbers.total)),
                (node, _MEAN, _rounded(mean)),
            ]
        return Event(tuple(triples), self.end, message)


def _whole(number: int) -> Literal:
    return Literal(str(number), xsd.INTEGER)


def _decimal(number: Fraction) -> Literal:
    # Sums of decimals are decimals: the denominator has no factors but 2 and 5.
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    whole = str(abs(int(number * 10**digits))).rjust(digits + 1, "0")
    text = f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    return Literal(f"-{text}" if number < 0 else text, xsd.DECIMAL)


def _rounded(number: Fraction) -> Literal:
    mean = _MEAN_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Literal(f"{mean:f}", xsd.DECIMAL)


@frozen
class NameSample:
    """A sample of one in ``one_in`` individuals, by their names; 1 keeps all, 0 keeps none."""

    one_in: int

    def keeps(self, name: Subject) -> bool:
        """Whether an individual is of the sample; the same in every run."""
        if self.one_in <= 1:
            return self.one_in == 1
        digest = blake2b(name.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.one_in == 0


@frozen
class First:
    """The first reading of each individual in each period."""


Keep: TypeAlias = NameSample | First


@frozen
class SheddingPolicy:
    """The individuals of some classes to keep; ``about`` is the class that a synopsis names."""

    classes: frozenset[IRI]
    about: IRI
    keep: Keep


@frozen
class Shedding:
    """A budget in messages a ``second`` (in the unit of arrival times), and what it may cost.
    ``queue`` bounds the messages that would wait; ``period`` is a length of the time line.
    ``otherwise`` decides for individuals that match no policy.
    """

    budget: int
    queue: int
    second: int
    period: int
    policies: tuple[SheddingPolicy, ...]
    otherwise: Keep

    @property
    def thins_out(self) -> bool:
        """Whether it matters which individuals have entered in a period."""
        keeps = (self.otherwise, *(policy.keep for policy in self.policies))
        return any(isinstance(keep, First) for keep in keeps)

    def end_of_period(self, time: Instant) -> Instant:
        return Multiples(self.period).after(time)

    def verdict(self, name: Subject, kinds: frozenset[Term], first: bool) -> IRI | None:
        """The class for which an individual is shed; None where it is kept. Of several policies the
        one that keeps it wins. ``first`` says whether this is its first reading of the period.
        """
        of_it = [policy for policy in self.policies if kinds & policy.classes]
        if not of_it:
            named = sorted(kind for kind in kinds if isinstance(kind, IRI))
            about = named[0] if named else owl.THING
            of_it = [SheddingPolicy(frozenset(), about, self.otherwise)]
        for policy in of_it:
            if policy.keep.keeps(name) if isinstance(policy.keep, NameSample) else first:
                return None
        return of_it[0].about


@mutable
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


@frozen
class LoadState:
    """The memory of load shedding; a new object for every change, but for ``entered``."""

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
    """The load, and whether it is too high."""

    def __init__(self, shedding: Shedding) -> None:
        self.shedding = shedding
        self.state = LoadState()

    def at_rest(self) -> LoadState:
        """The state that must survive a restart; it does not change any more."""
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

    @property
    def due(self) -> Instant | None:
        """The time of arrival at which time alone ends the shedding; 0: at once."""
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
        """Remember what a message at a time shed, by class. ``closed``: the last period's summaries
        were reported. ``entered``: who entered while shedding, and when the period of that ends.
        """
        state = self.state
        for name, end in entered.items():
            state.entered.add(name, end)
        summaries = {} if closed else dict(state.summaries)
        ends = None if closed else state.ends
        count = state.shed
        for about, summary in shed.items():
            add_to(summaries, about, summary)
            count += summary.count
        if summaries and ends is None:
            ends = self.shedding.end_of_period(time)
        self.state = replace(state, summaries=summaries, ends=ends, shed=count)
