"""What updates have lately replaced, so that one that comes late finds its place in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sensorstream.model.events import Ended, Individual
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Subject
from sensorstream.model.timeline import Instant
from sensorstream.window.change import WindowChange

_LEAST: Final = 64
_EACH: Final = 8
_MOST: Final = 500
_VALUES: Final = 4
"""Values that an update replaces, as many as are provided for on average."""


@frozen
class Update:
    """An update of an individual during a stay: when, by which message, of which properties."""

    stay: int
    name: Subject
    time: Instant
    message: str
    replaced: frozenset[tuple[Subject, IRI]]


@dataclass(frozen=True, slots=True)
class PastState:
    """The latest updates, and the statements that ended while their individuals stayed."""

    updates: tuple[Update, ...] = ()
    ended: tuple[Ended, ...] = ()


@dataclass(slots=True)
class _Stay:
    """Of one stay, by their numbers."""

    updates: dict[int, Update] = field(default_factory=dict)
    ended: dict[int, Ended] = field(default_factory=dict)


class Past:
    """The latest updates in order of arrival, and by stay.

    It holds 64, and eight more for each individual in the window, but not more than 500 in all.
    When one is forgotten its individual is marked: an update from before ``Individual.settled``
    comes too late to be put into its place. O(1) per update that comes in order.
    """

    __slots__ = ("_ended", "_mixed", "_number", "_stays", "_updates")

    def __init__(self, state: PastState | None = None) -> None:
        # By numbers that count up: the oldest is the first.
        self._updates: dict[int, Update] = {}
        self._ended: dict[int, Ended] = {}
        self._stays: dict[int, _Stay] = {}
        self._number = 0
        # The stays whose numbers are out of order since something was put back.
        self._mixed: set[int] = set()
        if state is not None:
            for update in state.updates:
                self._add(update)
            for ended in state.ended:
                self._add(ended)

    def state(self) -> PastState:
        """What the constructor needs to make the same again."""
        self._sort()
        return PastState(tuple(self._updates.values()), tuple(self._ended.values()))

    def note_update(self, update: Update, record: WindowChange) -> None:
        """Remember an update."""
        record.undo.append(partial(self._drop, self._add(update), update))

    def note_ended(self, ended: Ended, record: WindowChange) -> None:
        """Remember what has ended while its individual stayed, and hand it out."""
        record.ended.append(ended)
        record.undo.append(partial(self._drop, self._add(ended), ended))

    def revoke(self, ended: Ended, record: WindowChange) -> None:
        """Take back what was handed out."""
        record.revoked.append(ended)
        self._sort()
        every = self._stays[ended.stay].ended
        self._remove(next(n for n, each in every.items() if each == ended), ended, record)

    def forget(self, stay: int, record: WindowChange) -> None:
        """A stay is over: nothing can come late for it any more."""
        of_stay = self._stays.get(stay)
        if of_stay is not None:
            for number, update in list(of_stay.updates.items()):
                self._remove(number, update, record)
            for number, ended in list(of_stay.ended.items()):
                self._remove(number, ended, record)

    def next_update(self, stay: int, pair: tuple[Subject, IRI], time: Instant) -> Update | None:
        """The first update of a property of a stay after a time."""
        self._sort()
        of_stay = self._stays.get(stay)
        every = () if of_stay is None else of_stay.updates.values()
        later = (each for each in every if each.time > time and pair in each.replaced)
        # Of several at one time the last one that came is in force.
        return min(reversed(list(later)), key=lambda each: each.time, default=None)

    def ends_after(self, stay: int, time: Instant) -> bool:
        """Whether something of a stay has ended after a time."""
        of_stay = self._stays.get(stay)
        return of_stay is not None and any(each.valid_to > time for each in of_stay.ended.values())

    def ended_at(self, stay: int, time: Instant) -> list[Ended]:
        """The intervals of a stay that are over, and that a time lies in."""
        self._sort()
        of_stay = self._stays.get(stay)
        every = () if of_stay is None else of_stay.ended.values()
        return [each for each in every if each.valid_from <= time < each.valid_to]

    def trim(self, individuals: Mapping[Subject, Individual], record: WindowChange) -> None:
        """Forget the oldest of what is too much."""
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

    def _add(self, each: Update | Ended) -> int:
        self._number += 1
        self._put(self._number, each)
        return self._number

    def _remove(self, number: int, each: Update | Ended, record: WindowChange) -> None:
        self._drop(number, each)
        record.undo.append(partial(self._put_back, number, each))

    def _put(self, number: int, each: Update | Ended) -> None:
        of_stay = self._stays.setdefault(each.stay, _Stay())
        if isinstance(each, Update):
            self._updates[number] = of_stay.updates[number] = each
        else:
            self._ended[number] = of_stay.ended[number] = each

    def _put_back(self, number: int, each: Update | Ended) -> None:
        self._put(number, each)
        self._mixed.add(each.stay)

    def _sort(self) -> None:
        """Put in order what was put back, all of it at once."""
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

    def _drop(self, number: int, each: Update | Ended) -> None:
        of_stay = self._stays[each.stay]
        if isinstance(each, Update):
            del self._updates[number], of_stay.updates[number]
        else:
            del self._ended[number], of_stay.ended[number]
        if not of_stay.updates and not of_stay.ended:
            del self._stays[each.stay]
