"""The latest updates and the values they replaced, to put a late update into its place in time.

The past of a stay becomes as if the events had come in order of their times: an update between two
others replaces the value of the first, until the second. So:

- a value that it replaces ended at its time; if it was handed out with another end, it is revoked
- its own value ends with the next update of the property, or with a later value that is held
- the content of the window changes only if no later update has replaced it

A value that a rule or its age *removed* ended when that happened. Saying again a value that holds
changes nothing, unless an update says it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from sensorstream.model.events import Ended, Event, Individual, Provenance
from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.window_change import WindowChange

Pair: TypeAlias = tuple[Subject, IRI]
_NO_GRAPHS: Final[tuple[IRI, ...]] = ()
_LEAST: Final = 64
_EACH: Final = 8
_MOST: Final = 500
_VALUES: Final = 4
"""Values that an update replaces, as many as are provided for on average."""


@frozen
class IndividualUpdate:
    """An update of an individual during a stay: its time, its message and the properties."""

    stay: int
    name: Subject
    time: Instant
    message: str
    replaced: frozenset[tuple[Subject, IRI]]


@frozen
class PastState:
    """The latest updates, and the statements that ended while their individuals stayed."""

    updates: tuple[IndividualUpdate, ...] = ()
    ended: tuple[Ended, ...] = ()


@mutable
class _Stay:
    """The updates and ended statements of one stay, by their numbers."""

    updates: dict[int, IndividualUpdate] = field(default_factory=dict)
    ended: dict[int, Ended] = field(default_factory=dict)


class UpdatesBefore:
    """The latest updates in order of arrival, and by stay.

    It holds 64, and eight more for each individual in the window, but not more than 500 in all. The
    individual of a forgotten update is marked: an update from before ``Individual.settled`` comes
    too late to be put into its place. O(1) per update that comes in order.
    """

    __slots__ = ("_ended", "_mixed", "_number", "_stays", "_updates")

    def __init__(self, state: PastState | None = None) -> None:
        # By numbers that count up, so the oldest comes first.
        self._updates: dict[int, IndividualUpdate] = {}
        self._ended: dict[int, Ended] = {}
        self._stays: dict[int, _Stay] = {}
        self._number = 0
        # The stays whose numbers are out of order since an undo.
        self._mixed: set[int] = set()
        if state is not None:
            for u in state.updates:
                its = self.shared(u.stay, u.replaced)
                self._add(IndividualUpdate(u.stay, u.name, u.time, u.message, its))
            for ended in state.ended:
                self._add(ended)

    def state(self) -> PastState:
        """The state from which the constructor makes an equal object."""
        self._sort()
        return PastState(tuple(self._updates.values()), tuple(self._ended.values()))

    def shared(self, stay: int, replaced: frozenset[Pair]) -> frozenset[Pair]:
        """The pairs that an update replaces; if they are those of the last one, that very set."""
        updates = self._stays[stay].updates if stay in self._stays else {}
        last = next(reversed(updates.values())).replaced if updates else None
        return last if last is not None and last == replaced else replaced

    def note_update(self, update: IndividualUpdate, record: WindowChange) -> None:
        record.undo.append(partial(self._drop, self._add(update), update))

    def note_ended(self, ended: Ended, record: WindowChange) -> None:
        """Remember a statement that ended while its individual stayed, and hand it out."""
        record.ended.append(ended)
        record.undo.append(partial(self._drop, self._add(ended), ended))

    def revoke(self, ended: Ended, record: WindowChange) -> None:
        """Take back a statement that was handed out."""
        record.revoked.append(ended)
        self._sort()
        every = self._stays[ended.stay].ended
        self._remove(next(n for n, each in every.items() if each == ended), ended, record)

    def forget(self, stay: int, record: WindowChange) -> None:
        """Forget a stay that is over: nothing can come late for it any more."""
        of_stay = self._stays.get(stay)
        if of_stay is not None:
            for number, update in list(of_stay.updates.items()):
                self._remove(number, update, record)
            for number, ended in list(of_stay.ended.items()):
                self._remove(number, ended, record)

    def next_update(
        self, stay: int, pair: tuple[Subject, IRI], time: Instant
    ) -> IndividualUpdate | None:
        """The first update of a property of a stay after a time."""
        self._sort()
        of_stay = self._stays.get(stay)
        every = () if of_stay is None else of_stay.updates.values()
        later = (each for each in every if each.time > time and pair in each.replaced)
        # Of several updates at one time the one that came last is in force.
        return min(reversed(list(later)), key=lambda each: each.time, default=None)

    def ends_after(self, stay: int, time: Instant) -> bool:
        """Whether something of a stay has ended after a time."""
        of_stay = self._stays.get(stay)
        return of_stay is not None and any(each.valid_to > time for each in of_stay.ended.values())

    def ended_at(self, stay: int, time: Instant) -> list[Ended]:
        """The intervals of a stay that are over, and that contain a time."""
        self._sort()
        of_stay = self._stays.get(stay)
        every = () if of_stay is None else of_stay.ended.values()
        return [each for each in every if each.valid_from <= time < each.valid_to]

    def trim(self, individuals: Mapping[Subject, Individual], record: WindowChange) -> None:
        """Forget the oldest entries above the limit."""
        if not self._stays:
            return
        self._sort()
        most = min(_MOST, _LEAST + _EACH * len(individuals))
        while len(self._updates) > most:
            number, update = next(iter(self._updates.items()))
            self._settle(individuals.get(update.name), update.stay, update.time, record)
            self._remove(number, update, record)
        while len(self._ended) > most * _VALUES:
            number, ended = next(iter(self._ended.items()))
            self._settle(individuals.get(ended.name), ended.stay, ended.valid_to, record)
            self._remove(number, ended, record)

    @staticmethod
    def _settle(
        individual: Individual | None, stay: int, time: Instant, record: WindowChange
    ) -> None:
        if individual is None or individual.stay != stay:
            return
        if individual.settled is None or individual.settled < time:
            record.undo.append(partial(setattr, individual, "settled", individual.settled))
            individual.settled = time

    def _add(self, each: IndividualUpdate | Ended) -> int:
        self._number += 1
        self._put(self._number, each)
        return self._number

    def _remove(self, number: int, each: IndividualUpdate | Ended, record: WindowChange) -> None:
        self._drop(number, each)
        record.undo.append(partial(self._put_back, number, each))

    def _put(self, number: int, each: IndividualUpdate | Ended) -> None:
        of_stay = self._stays.setdefault(each.stay, _Stay())
        if isinstance(each, IndividualUpdate):
            self._updates[number] = of_stay.updates[number] = each
        else:
            self._ended[number] = of_stay.ended[number] = each

    def _put_back(self, number: int, each: IndividualUpdate | Ended) -> None:
        self._put(number, each)
        self._mixed.add(each.stay)

    def _sort(self) -> None:
        """Put restored entries back in order, all of them at once."""
        if not self._mixed:
            return
        self._updates = dict(sorted(self._updates.items()))
        self._ended = dict(sorted(self._ended.items()))
        for stay in self._mixed:
            of_stay = self._stays.get(stay)
            if of_stay is not None:
                of_stay.updates = dict(sorted(of_stay.updates.items()))
                of_stay.ended = dict(sorted(of_stay.ended.items()))
        self._mixed.clear()

    def _drop(self, number: int, each: IndividualUpdate | Ended) -> None:
        of_stay = self._stays[each.stay]
        if isinstance(each, IndividualUpdate):
            del self._updates[number], of_stay.updates[number]
        else:
            del self._ended[number], of_stay.ended[number]
        if not of_stay.updates and not of_stay.ended:
            del self._stays[each.stay]


@mutable
class Latecomer:
    """The part of a late event that is about one individual. ``graphs`` are the event's named
    graphs. ``supersede`` takes a statement out of the window at a time.
    """

    individual: Individual
    event: Event
    graphs: Mapping[Triple, Sequence[IRI]]
    past: UpdatesBefore
    record: WindowChange
    supersede: Callable[[Individual, Triple, Instant, WindowChange], None]
    _placed: dict[Triple, None] = field(default_factory=dict)
    _over: dict[BlankNode, Instant] = field(default_factory=dict)
    """When the only reference to a blank node ended."""

    def place(self, said: Sequence[Triple], replaces: Iterable[Pair]) -> Mapping[Triple, None]:
        """Put the event's statements into the past, as far as they are over; return those that must
        not enter the window. ``said`` are the triples about the individual and its blank nodes,
        ``replaces`` the properties of theirs that the event replaces.
        """
        values: dict[Pair, dict[Triple, None]] = {}
        for triple in said:
            values.setdefault(triple[:2], {})[triple] = None
        for pair in replaces:
            values.setdefault(pair, {})
        for pair, new in values.items():
            following = self.past.next_update(self.individual.stay, pair, self.event.time)
            until = None if following is None else following.time
            if pair in self.event.replaces:
                self._update(pair, new, following)
            else:
                self._say(new, until)
        self._follow_nodes(said)
        return self._placed

    def _update(
        self, pair: Pair, new: Collection[Triple], following: IndividualUpdate | None
    ) -> None:
        one, time = self.individual, self.event.time
        forgotten = one.settled is not None and time < one.settled
        if forgotten and any(triple[:2] == pair for triple in one.statements):
            # The later updates are forgotten: the value is kept as said, and held for no time.
            for triple in new:
                if triple not in one.statements:
                    self._end(triple, time)
            return
        for row in self.past.ended_at(one.stay, time):
            if row.triple[:2] == pair and row.triple not in new:
                self._cut(row, following)
        for triple, known in list(one.statements.items()):
            if triple[:2] == pair and triple not in new and known.time <= time:
                if following is None:
                    self.supersede(one, triple, time, self.record)
                else:
                    self._interrupt(triple, known, following)
        newer = [
            known.time
            for triple, known in one.statements.items()
            if triple[:2] == pair and triple not in new and known.time > time
        ]
        if following is not None:
            newer.append(following.time)
        self._say(new, min(newer, default=None))

    def _say(self, new: Collection[Triple], until: Instant | None) -> None:
        """Let values hold from the time of the event until another one; None: they still hold. A
        value that the window has from a later time holds from then on by what was said then.
        """
        one, time = self.individual, self.event.time
        for triple in new:
            known = one.statements.get(triple)
            if known is not None and known.time <= time:
                continue
            ends = [] if until is None else [until]
            ends += () if known is None else (known.time,)
            if ends:
                self._end(triple, min(ends))

    def _cut(self, row: Ended, following: IndividualUpdate | None) -> None:
        """End a finished interval at the event's earlier time, also those of its node."""
        time = self.event.time
        self.past.revoke(row, self.record)
        self.past.note_ended(replace(row, valid_to=time), self.record)
        if following is not None and row.valid_to > following.time:
            # The following update said it again.
            said = replace(row.provenance, message=following.message, time=following.time)
            self.past.note_ended(replace(row, provenance=said), self.record)
        elif isinstance(row.triple[2], BlankNode):
            for each in self.past.ended_at(row.stay, time):
                if each.triple[0] == row.triple[2]:
                    self._cut(each, None)

    def _interrupt(self, triple: Triple, known: Provenance, following: IndividualUpdate) -> None:
        """End a statement from now to the following update, which said it again."""
        one = self.individual
        ended = Ended(one.stay, one.name, triple, known, self.event.time)
        self.past.note_ended(ended, self.record)
        said = replace(known, message=following.message, time=following.time)
        one.statements[triple] = said
        self.record.undo.append(partial(one.statements.__setitem__, triple, known))

    def _end(self, triple: Triple, until: Instant) -> None:
        """Hand out a value that is over already."""
        one, event = self.individual, self.event
        graphs = " ".join(sorted(self.graphs.get(triple, _NO_GRAPHS)))
        said = Provenance(event.message, event.time, graphs)
        self.past.note_ended(Ended(one.stay, one.name, triple, said, until), self.record)
        self._placed[triple] = None
        if isinstance(triple[2], BlankNode):
            self._over[triple[2]] = until

    def _follow_nodes(self, said: Sequence[Triple]) -> None:
        """End the statements about blank nodes whose only reference is over."""
        done: set[BlankNode] = set()
        while self._over.keys() - done:
            node = next(node for node in self._over if node not in done)
            done.add(node)
            held = (t for t in said if t not in self._placed)
            if any(t[2] == node for t in (*held, *self.individual.statements)):
                continue
            for triple in said:
                if triple[0] == node and triple not in self._placed:
                    self._end(triple, self._over[node])
