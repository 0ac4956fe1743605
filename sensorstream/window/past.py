"""What updates have lately replaced, so that one that comes late finds its place in time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sensorstream.model.events import Ended, Individual
from sensorstream.model.terms import IRI, Subject
from sensorstream.model.timeline import Instant
from sensorstream.window.change import Recorder

_LEAST: Final = 64
_EACH: Final = 8
_MOST: Final = 500
_VALUES: Final = 4
"""Values that an update replaces, as many as are provided for on average."""


@dataclass(frozen=True, slots=True)
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
    """Of one stay: updates in order of time, those of one time in order of arrival."""

    updates: list[Update] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)


class Past:
    """The latest updates in order of arrival, and by stay.

    It holds 64, and eight more for each individual in the window, but not more than 500 in all.
    When one is forgotten its individual is marked: an update from before ``Individual.settled``
    comes too late to be put into its place. O(1) per update that comes in order.
    """

    __slots__ = ("_ended", "_stays", "_updates")

    def __init__(self, state: PastState | None = None) -> None:
        self._updates: deque[Update] = deque()
        self._ended: deque[Ended] = deque()
        self._stays: dict[int, _Stay] = {}
        if state is not None:
            for update in state.updates:
                self._add_update(update)
            for each in state.ended:
                self._add_ended(each)

    def state(self) -> PastState:
        """What the constructor needs to make the same again."""
        return PastState(tuple(self._updates), tuple(self._ended))

    def note_update(self, update: Update, record: Recorder) -> None:
        """Remember an update."""
        self._add_update(update)
        record.undo.append(partial(self._drop_update, update))

    def note_ended(self, ended: Ended, record: Recorder) -> None:
        """Remember what has ended while its individual stayed, and hand it out."""
        record.ended.append(ended)
        self._add_ended(ended)
        record.undo.append(partial(self._drop_ended, ended))

    def revoke(self, ended: Ended, record: Recorder) -> None:
        """Take back what was handed out."""
        record.revoked.append(ended)
        place = self._ended.index(ended)
        self._drop_ended(ended)
        record.undo.append(partial(self._put_back, place, ended))

    def next_update(self, stay: int, pair: tuple[Subject, IRI], time: Instant) -> Update | None:
        """The first update of a property of a stay after a time."""
        of_stay = self._stays.get(stay)
        updates = () if of_stay is None else of_stay.updates
        return next((u for u in updates if u.time > time and pair in u.replaced), None)

    def ends_after(self, stay: int, time: Instant) -> bool:
        """Whether something of a stay has ended after a time."""
        of_stay = self._stays.get(stay)
        return of_stay is not None and any(each.valid_to > time for each in of_stay.ended)

    def ended_at(self, stay: int, time: Instant) -> list[Ended]:
        """The intervals of a stay that are over, and that a time lies in."""
        of_stay = self._stays.get(stay)
        every = () if of_stay is None else of_stay.ended
        return [each for each in every if each.valid_from <= time < each.valid_to]

    def trim(self, individuals: Mapping[Subject, Individual], record: Recorder) -> None:
        """Forget the oldest of what is too much."""
        most = min(_MOST, _LEAST + _EACH * len(individuals))
        while len(self._updates) > most:
            update = self._updates[0]
            self._settle(individuals.get(update.name), update.stay, update.time, record)
            self._drop_update(update)
            record.undo.append(partial(self._add_update, update, first=True))
        while len(self._ended) > most * _VALUES:
            ended = self._ended[0]
            self._settle(individuals.get(ended.name), ended.stay, ended.valid_to, record)
            self._drop_ended(ended)
            record.undo.append(partial(self._put_back, 0, ended))

    @staticmethod
    def _settle(individual: Individual | None, stay: int, time: Instant, record: Recorder) -> None:
        if individual is None or individual.stay != stay:
            return
        if individual.settled is None or individual.settled < time:
            record.undo.append(partial(setattr, individual, "settled", individual.settled))
            individual.settled = time

    def _add_update(self, update: Update, *, first: bool = False) -> None:
        updates = self._stays.setdefault(update.stay, _Stay()).updates
        place = len(updates)
        if first:
            self._updates.appendleft(update)
            while place and updates[place - 1].time >= update.time:
                place -= 1
        else:
            self._updates.append(update)
            while place and updates[place - 1].time > update.time:
                place -= 1
        updates.insert(place, update)

    def _drop_update(self, update: Update) -> None:
        if self._updates[-1] is update:
            self._updates.pop()
        else:
            self._updates.remove(update)
        self._stays[update.stay].updates.remove(update)
        self._clear(update.stay)

    def _add_ended(self, ended: Ended) -> None:
        self._put_back(len(self._ended), ended)

    def _put_back(self, place: int, ended: Ended) -> None:
        self._ended.insert(place, ended)
        self._stays.setdefault(ended.stay, _Stay()).ended.append(ended)

    def _drop_ended(self, ended: Ended) -> None:
        if self._ended[-1] is ended:
            self._ended.pop()
        else:
            self._ended.remove(ended)
        self._stays[ended.stay].ended.remove(ended)
        self._clear(ended.stay)

    def _clear(self, stay: int) -> None:
        of_stay = self._stays[stay]
        if not of_stay.updates and not of_stay.ended:
            del self._stays[stay]
