"""Windows of individuals and of triples: equations (3)-(5) and (11), for any element.

The elements of a partition are in a pane, in order of age, with the events that wait to enter.
``tests/window/reference.py`` states the definitions; property tests compare the two.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from sensorstream.model.events import Ended, Event, Individual
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.replaced_updates import UpdatesBefore
from sensorstream.window.window_change import WindowChange
from sensorstream.window.window_content import Content
from sensorstream.window.window_partition import (
    PaneState,
    WindowState,
    key_of,
    owners_of,
    part,
    regroup,
)
from sensorstream.window.window_spec import Elements, WindowMove, WindowPartitioning, WindowSpec

E = TypeVar("E")


class Pane(Generic[E]):
    """Elements with their ages. The age of an element is ``(time, arrival)``; the least is oldest.

    ``entered`` counts all elements that ever became known: the position of a physical window.
    ``boundary`` is the last instant a logical window was computed at. ``pending`` are the events
    that came after the last step (eq. 3, third branch), ``waiting`` the elements in them, if the
    window is physical.
    """

    __slots__ = ("ages", "boundary", "entered", "key", "pending", "queue", "waiting")

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.entered = 0
        self.boundary: Instant | None = None
        self.pending: list[Event] = []
        self.waiting: set[E] = set()
        self.ages: dict[E, tuple[Instant, int, E]] = {}
        # The oldest comes first; an entry that differs from ``ages`` is stale.
        self.queue: list[tuple[Instant, int, E]] = []

    def begin(self, record: WindowChange) -> None:
        """Make later changes undoable: the position and the waiting events as they are now."""
        pending, waiting = self.pending, self.waiting
        entered, boundary, length = self.entered, self.boundary, len(self.pending)

        def undo() -> None:
            del pending[length:]
            self.pending, self.waiting = pending, waiting
            self.entered, self.boundary = entered, boundary

        record.undo.append(undo)

    def wait(self, event: Event, elements: Iterable[E], record: WindowChange) -> None:
        """Keep an event with these ``elements`` for the next step."""
        self.pending.append(event)
        fresh = [element for element in elements if element not in self.waiting]
        if fresh:
            self.waiting.update(fresh)
            record.undo.append(partial(self.waiting.difference_update, fresh))

    def renew(self, element: E, time: Instant, arrival: int, record: WindowChange) -> None:
        """Give an element its age; it may be new."""
        old = self.ages.get(element)
        record.undo.append(
            partial(self.ages.__delitem__, element) if old is None else partial(self._put, old)
        )
        self._put((time, arrival, element))

    def drop(self, element: E, record: WindowChange) -> None:
        """Remove an element, if it is in the pane."""
        entry = self.ages.pop(element, None)
        if entry is not None:
            record.undo.append(partial(self._put, entry))

    def oldest(self) -> tuple[Instant, int, E]:
        """The entry of the oldest element; there must be one."""
        while True:
            entry = self.queue[0]
            if self.ages.get(entry[2]) is entry:
                return entry
            heapq.heappop(self.queue)

    def fill(self, entries: Iterable[tuple[Instant, int, E]], pending: Iterable[Event]) -> None:
        """Hold exactly these elements, with these events waiting."""
        self.pending = list(pending)
        self.ages = {entry[2]: entry for entry in entries}
        self.queue = list(self.ages.values())
        heapq.heapify(self.queue)

    def _put(self, entry: tuple[Instant, int, E]) -> None:
        self.ages[entry[2]] = entry
        heapq.heappush(self.queue, entry)
        if len(self.queue) > 2 * len(self.ages) + 8:
            # Most entries are stale: an element that is renewed often leaves one each time.
            self.queue = list(self.ages.values())
            heapq.heapify(self.queue)


class SteppingWindow(ABC, Generic[E]):
    """The state of one window; see :class:`.WindowSpec` for its parameters.

    A partitioned physical window has a pane for each key, each with its own count. A logical window
    has one pane: its content depends on times alone, so partitions do not change it.
    """

    def __init__(self, spec: WindowSpec, partition: WindowPartitioning | None = None) -> None:
        self.spec = spec
        self._physical = spec.physical
        self.partition = partition if spec.physical else None
        self._content = Content()
        self._whole: Pane[E] = Pane()
        self._panes: dict[str | None, Pane[E]] = {}
        # The pane of each individual, also of those that wait; used only if there are several
        # panes.
        self._homes: dict[Subject, Pane[E]] = {}

    def __len__(self) -> int:
        return len(self._content.individuals)

    def __contains__(self, name: Subject) -> bool:
        return name in self._content.individuals

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._content.individuals.values())

    def get(self, name: Subject) -> Individual | None:
        """The individual of that name, if it is in the window now."""
        return self._content.individuals.get(name)

    def follow(self, touched: set[Subject]) -> None:
        """Let a set have the name of each individual that is said, changed or leaves from now on;
        also of some that did not change in the end.
        """
        self._content.touched = touched

    def number_stays_after(self, number: int) -> None:
        """Give stays that begin from now on numbers above ``number``, and above all before."""
        counters = self._content.counters
        counters.stays = max(counters.stays, number)

    def owner(self, subject: Subject) -> Subject:
        """The individual a subject's triples belong to: itself, or a blank node's owner."""
        return self._content.owner(subject)

    @property
    def now(self) -> Instant | None:
        """Application time: the latest time any event brought."""
        return self._content.counters.now

    @property
    def pending(self) -> int:
        """Events that wait for the window's next step."""
        return sum(len(pane.pending) for pane in self._all_panes())

    @property
    def due(self) -> Instant | None:
        """The instant from which on passing time changes the content; None: it never does."""
        spec = self.spec
        if spec.physical:
            return None
        pane = self._whole
        dues: list[Instant | None] = []
        if pane.ages:
            dues.append(spec.leaves(pane.oldest()[0]))
        if pane.pending and pane.boundary is not None:
            dues.append(spec.next_boundary(pane.boundary))
        return min((due for due in dues if due is not None), default=None)

    @property
    def partitions(self) -> int:
        """Partitions with elements or waiting events; 1 if the window is not partitioned."""
        return len(self._all_panes())

    def insert(self, event: Event) -> WindowChange:
        """Take an event in; elements that the window's definition excludes now depart. A late event
        enters with its own time: it renews nothing, and departs at once if it is older than all in
        a full window.
        """
        record = WindowChange()
        now = self._content.begin(event.time, record)
        if self.partition is None:
            self._insert(self._whole, event, now, record)
        else:
            for pane, its_part in self._parts(event, self.partition, record):
                self._insert(pane, its_part, now, record)
            self._leave_homes(record)
        return record.complete(now)

    def retract(self, triples: Iterable[Triple], time: Instant) -> WindowChange:
        """Take statements out; an individual that loses its last one departs whole. Triples that
        the window does not hold are ignored.
        """
        record = WindowChange()
        now = self._content.begin(time, record)
        self._content.retract(triples, time, record)
        self._drop_ages(record.ended, record)
        self._drop_departed(record.departures, record)
        self._leave_homes(record)
        return record.complete(now)

    def undo(self, change: WindowChange) -> None:
        """Undo the last change that is not undone yet."""
        for step in reversed(change.undo):
            step()
        change.undo.clear()

    def state(self) -> WindowState:
        """Everything that must survive a restart."""
        content = self._content
        names: dict[Pane[E], list[Subject]] = {pane: [] for pane in self._all_panes()}
        for name in content.individuals:
            names[self._home(name)].append(name)
        return WindowState(
            replace(content.counters),
            tuple(self),
            dict(content.owners),
            tuple(
                PaneState(
                    pane.key, pane.entered, pane.boundary, tuple(names[pane]), tuple(pane.pending)
                )
                for pane in self._all_panes()
            ),
            self.partition,
            self._ages(),
            content.past.state(),
        )

    def restore(self, state: WindowState) -> None:
        """Restore the window from a state. If the state is of a window with another definition, its
        elements are sorted anew, and surplus elements leave with the next events.
        """
        content = self._content
        content.counters = replace(state.counters)
        content.individuals = {each.name: each for each in state.individuals}
        content.owners = dict(state.owners)
        content.past = UpdatesBefore(state.past)
        self._whole, self._panes, self._homes = Pane(), {}, {}
        same = state.partition == self.partition
        for each in state.panes if same else regroup(state, self.partition):
            pane = self._pane(each.key)
            pane.boundary = each.boundary
            pane.fill(self._entries(each.names, state), each.pending)
            if self.spec.physical:
                pane.waiting = {e for event in each.pending for e in self._elements(event)}
                known = len(pane.ages.keys() | pane.waiting)
                pane.entered = max(each.entered, self.spec.least_entered(known))
            if self.partition is not None:
                self._homes.update(dict.fromkeys(each.names, pane))
                for event in each.pending:
                    for name in owners_of(event, content.owners).values():
                        self._homes.setdefault(name, pane)

    # -- what an element is -----------------------------------------------------------------

    @abstractmethod
    def _elements(self, event: Event) -> Iterable[E]:
        """The elements of an event, each once, in order."""

    @abstractmethod
    def _renew(self, event: Event, renewed: list[Individual], record: WindowChange) -> None:
        """Date the elements of an event that has entered; ``renewed`` became younger by it."""

    @abstractmethod
    def _expel(self, elements: list[E], now: Instant, record: WindowChange) -> None:
        """Let elements, oldest first, leave the content; they have left their pane."""

    @abstractmethod
    def _drop_departed(self, departures: Iterable[Individual], record: WindowChange) -> None:
        """Drop the elements of individuals that left on request from their panes."""

    def _drop_ages(self, ended: Iterable[Ended], record: WindowChange) -> None:
        """Drop single statements that left, where they are elements, from their panes."""

    @abstractmethod
    def _entries(
        self, names: Iterable[Subject], state: WindowState
    ) -> list[tuple[Instant, int, E]]:
        """The elements of some individuals of a state, with their ages."""

    def _ages(self) -> dict[Triple, tuple[Instant, int]]:
        """The ages in a state that are not ages of individuals."""
        return {}

    # -- by count ---------------------------------------------------------------------------

    def _insert(self, pane: Pane[E], event: Event, now: Instant, record: WindowChange) -> None:
        if self._physical and not event.triples:
            # Such a window does not depend on time.
            return
        pane.begin(record)
        if self._physical:
            self._insert_by_count(pane, event, now, record)
        else:
            self._insert_by_time(pane, event, now, record)

    def _insert_by_count(
        self, pane: Pane[E], event: Event, now: Instant, record: WindowChange
    ) -> None:
        ages, waiting, step = pane.ages, pane.waiting, self.spec.step
        before = pane.entered
        elements = self._elements(event)
        for each in elements:
            if each not in ages and each not in waiting:
                pane.entered += 1
        if step > 1 and pane.entered % step and before // step == pane.entered // step:
            pane.wait(event, elements, record)
            return
        self._enter_pending(pane, record)
        self._enter(pane, event, record)
        excess = len(ages) - self.spec.capacity(pane.entered)
        if excess > 0:
            gone = []
            for _ in range(excess):
                element = pane.oldest()[2]
                pane.drop(element, record)
                gone.append(element)
            self._expel(gone, now, record)

    # -- by time ----------------------------------------------------------------------------

    def _insert_by_time(
        self, pane: Pane[E], event: Event, now: Instant, record: WindowChange
    ) -> None:
        spec, last = self.spec, pane.boundary
        boundary = pane.boundary = spec.boundary(now)
        if last is not None and boundary > last:
            # The steps before this instant happen without the event: an element that left in one of
            # them is not renewed by an update that comes later.
            passed = boundary if boundary < now else boundary - spec.step
            if passed > last:
                if pane.pending:
                    self._enter_pending(pane, record)
                    self._expire(pane, spec.lower_bound(last + spec.step), now, record)
                self._expire(pane, spec.lower_bound(passed), now, record)
            self._enter_pending(pane, record)
        if event.time <= boundary:
            self._enter(pane, event, record)
        elif event.triples:
            pane.wait(event, (), record)
        self._expire(pane, spec.lower_bound(boundary), now, record)

    def _expire(self, pane: Pane[E], lower: Instant, now: Instant, record: WindowChange) -> None:
        gone = []
        while pane.ages:
            time, _, element = pane.oldest()
            if time >= lower:
                break
            pane.drop(element, record)
            gone.append(element)
        if gone:
            self._expel(gone, now, record)

    # -- entering ---------------------------------------------------------------------------

    def _enter_pending(self, pane: Pane[E], record: WindowChange) -> None:
        if pane.pending:
            events, pane.pending, pane.waiting = pane.pending, [], set()
            for event in events:
                self._enter(pane, event, record)
            self._settle(events, record)

    def _enter(self, pane: Pane[E], event: Event, record: WindowChange) -> None:
        ended, departures = len(record.ended), len(record.departures)
        renewed = self._content.enter(event, record)
        if self.partition is not None:
            for individual in renewed:
                self._settle_in(individual.name, pane, record)
        self._renew(event, renewed, record)
        if len(record.ended) > ended:
            self._drop_ages(record.ended[ended:], record)
            self._drop_departed(record.departures[departures:], record)

    # -- partitions -------------------------------------------------------------------------

    def _all_panes(self) -> list[Pane[E]]:
        return [self._whole] if self.partition is None else list(self._panes.values())

    def _pane(self, key: str | None) -> Pane[E]:
        if self.partition is None:
            return self._whole
        if key not in self._panes:
            self._panes[key] = Pane(key)
        return self._panes[key]

    def _home(self, name: Subject) -> Pane[E]:
        return self._whole if self.partition is None else self._homes[name]

    def _parts(
        self, event: Event, partition: WindowPartitioning, record: WindowChange
    ) -> list[tuple[Pane[E], Event]]:
        """Give each individual of an event a pane, and return the event split by pane."""
        owners = owners_of(event, self._content.owners)
        names: dict[Pane[E], list[Subject]] = {}
        for name in dict.fromkeys(owners.values()):
            pane = self._homes.get(name)
            if pane is None:
                key = key_of(name, event.triples, event.source, partition)
                if key not in self._panes:
                    record.undo.append(partial(self._panes.pop, key))
                pane = self._pane(key)
                self._settle_in(name, pane, record)
            names.setdefault(pane, []).append(name)
        if len(names) == 1:
            return [(pane, event) for pane in names]
        return [(pane, part(event, frozenset(its), owners)) for pane, its in names.items()]

    def _settle_in(self, name: Subject, pane: Pane[E], record: WindowChange) -> None:
        if name not in self._homes:
            self._homes[name] = pane
            record.undo.append(partial(self._homes.__delitem__, name))

    def _settle(self, events: Iterable[Event], record: WindowChange) -> None:
        """Remove the panes of blank nodes that got an owner while they waited."""
        for event in events if self._homes else ():
            for subject, _, _ in event.triples:
                if subject in self._homes and subject not in self._content.individuals:
                    pane = self._homes.pop(subject)
                    record.undo.append(partial(self._homes.__setitem__, subject, pane))

    def _leave_homes(self, record: WindowChange) -> None:
        """Remove the panes of individuals that left, and empty panes."""
        for individual in record.departures:
            name = individual.name
            pane = self._homes.get(name)
            if pane is None or name in self._content.individuals or self._waits(name, pane):
                continue
            del self._homes[name]
            record.undo.append(partial(self._homes.__setitem__, name, pane))
            if (
                not pane.ages
                and not pane.pending
                and not self._counts_on(pane)
                and pane.key in self._panes
            ):
                del self._panes[pane.key]
                record.undo.append(partial(self._panes.__setitem__, pane.key, pane))

    def _waits(self, name: Subject, pane: Pane[E]) -> bool:
        owners = self._content.owners
        return any(name in owners_of(event, owners).values() for event in pane.pending)

    def _counts_on(self, pane: Pane[E]) -> bool:
        """Whether an empty pane must keep the number of elements that have come."""
        return self.spec.kind is WindowMove.LANDMARK and pane.entered < (self.spec.start or 1)


class TripleWindow(SteppingWindow[Triple]):
    """A window whose elements are triples.

    A physical window keeps the N triples that were stated last, a logical one those stated in a
    closed interval; one that is stated again has the age of its last statement. A triple that
    leaves while its individual has others is handed out alone; the individual departs with its last
    triple.
    """

    def _elements(self, event: Event) -> Iterable[Triple]:
        return event.triples

    def _renew(self, event: Event, renewed: list[Individual], record: WindowChange) -> None:
        content = self._content
        for triple in event.triples:
            name = content.owner(triple[0])
            individual = content.individuals.get(name)
            if individual is None or triple not in individual.statements:
                continue
            content.counters.arrivals += 1
            pane = self._home(name)
            entry = pane.ages.get(triple)
            if entry is None or event.time >= entry[0]:
                pane.renew(triple, event.time, content.counters.arrivals, record)

    def _expel(self, elements: list[Triple], now: Instant, record: WindowChange) -> None:
        self._content.expire(elements, now, record)

    def _drop_ages(self, ended: Iterable[Ended], record: WindowChange) -> None:
        individuals = self._content.individuals
        for each in ended:
            held = individuals.get(each.name)
            if held is None or each.triple not in held.statements:
                self._home(each.name).drop(each.triple, record)

    def _drop_departed(self, departures: Iterable[Individual], record: WindowChange) -> None:
        for individual in departures:
            pane = self._home(individual.name)
            for triple in individual.statements:
                pane.drop(triple, record)

    def _entries(
        self, names: Iterable[Subject], state: WindowState
    ) -> list[tuple[Instant, int, Triple]]:
        individuals = self._content.individuals
        # The state of a window of individuals says only when a triple was first stated.
        return [
            (*state.ages.get(triple, (said.time, individuals[name].arrival)), triple)
            for name in names
            for triple, said in individuals[name].statements.items()
        ]

    def _ages(self) -> dict[Triple, tuple[Instant, int]]:
        return {
            triple: (time, arrival)
            for pane in self._all_panes()
            for time, arrival, triple in pane.ages.values()
        }


class IndividualWindow(SteppingWindow[Subject]):
    """A window whose elements are individuals: the triples of each come and go together.

    A physical window keeps the N individuals with the latest ``(t_ind, arrival)``, a logical one
    those with t_ind in a closed interval. An individual that leaves is handed to history as the
    same object.
    """

    def _elements(self, event: Event) -> Iterable[Subject]:
        return dict.fromkeys(owners_of(event, self._content.owners).values())

    def _renew(self, event: Event, renewed: list[Individual], record: WindowChange) -> None:
        for each in renewed:
            self._home(each.name).renew(each.name, each.time, each.arrival, record)

    def _expel(self, elements: list[Subject], now: Instant, record: WindowChange) -> None:
        for name in elements:
            self._content.depart(self._content.individuals[name], record)

    def _drop_departed(self, departures: Iterable[Individual], record: WindowChange) -> None:
        for individual in departures:
            self._home(individual.name).drop(individual.name, record)

    def _entries(
        self, names: Iterable[Subject], state: WindowState
    ) -> list[tuple[Instant, int, Subject]]:
        individuals = self._content.individuals
        return [(individuals[name].time, individuals[name].arrival, name) for name in names]


Window: TypeAlias = IndividualWindow | TripleWindow
"""The individuals that are in the window now, each with the statements it has there."""


def make_window(spec: WindowSpec, partition: WindowPartitioning | None = None) -> Window:
    """An empty window."""
    if spec.elements is Elements.TRIPLES:
        return TripleWindow(spec, partition)
    return IndividualWindow(spec, partition)
