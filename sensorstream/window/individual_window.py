"""The individual-based window: eq. (6)-(8) and (11) of the paper, in O(change) per event.

The unit is the individual; its triples come and go together. A physical window keeps the N
individuals with the latest ``(t_ind, arrival)``, a logical one those with t_ind in a closed
interval. What leaves is handed out as the object that was kept, for history.

``reference.py`` is the same by the definitions, naively; tests hold the two together.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from sensorstream.model.events import (
    Delta,
    Event,
    Individual,
    Provenance,
    Superseded,
)
from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.ownership import owners_of
from sensorstream.window.spec import Unit, WindowSpec

_Undo: TypeAlias = Callable[[], None]
_Key: TypeAlias = tuple[Instant, int, Subject]


@dataclass(slots=True)
class WindowChange:
    """What one operation did to the window.

    ``delta`` is its net effect on the window graph; ``departures`` are the individuals that
    left, oldest first; ``superseded`` the single statements that left.
    """

    delta: Delta
    departures: tuple[Individual, ...]
    superseded: tuple[Superseded, ...]
    undo_log: list[_Undo] = field(default_factory=list, repr=False)


class _Recorder:
    """Collects one change while it happens."""

    __slots__ = ("departures", "superseded", "undo", "weights")

    def __init__(self) -> None:
        self.weights: dict[Triple, int] = {}
        self.departures: list[Individual] = []
        self.superseded: list[Superseded] = []
        self.undo: list[_Undo] = []

    def weigh(self, triple: Triple, weight: int) -> None:
        total = self.weights.pop(triple, 0) + weight
        if total:
            self.weights[triple] = total

    def change(self, time: Instant) -> WindowChange:
        return WindowChange(
            Delta(
                time,
                added=tuple(t for t, w in self.weights.items() if w > 0),
                removed=tuple(t for t, w in self.weights.items() if w < 0),
            ),
            tuple(self.departures),
            tuple(self.superseded),
            self.undo,
        )


@dataclass(slots=True)
class Counters:
    """The window's numbers; replaced as a whole so that undo is one assignment."""

    now: Instant | None = None
    """Application time: the latest time seen."""
    boundary: Instant | None = None
    """The last instant a logical window was computed at."""
    entered: int = 0
    """Individuals that became known, ever: the position of a physical window."""
    arrivals: int = 0
    """Appearances of individuals, ever: breaks ties between equal times."""
    stays: int = 0


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window at rest: what :meth:`IndividualWindow.restore` takes."""

    counters: Counters
    individuals: tuple[Individual, ...]
    pending: tuple[Event, ...]


class IndividualWindow:
    """The state of one window; see :class:`WindowSpec` for its parameters."""

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self._counters = Counters()
        self._individuals: dict[Subject, Individual] = {}
        self._owners: dict[BlankNode, Subject] = {}
        # Oldest first; an entry whose time and arrival are no longer its individual's is stale.
        self._queue: list[_Key] = []
        # Events that came after the last step (eq. 3, third branch): not yet in the window.
        self._pending: list[Event] = []
        self._waiting: set[Subject] = set()

    def __len__(self) -> int:
        return len(self._individuals)

    def __contains__(self, name: Subject) -> bool:
        return name in self._individuals

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._individuals.values())

    def get(self, name: Subject) -> Individual | None:
        """The individual of that name, if it is in the window now."""
        return self._individuals.get(name)

    def owner(self, subject: Subject) -> Subject:
        """The individual a subject's triples belong to: itself, or a blank node's owner."""
        if isinstance(subject, BlankNode):
            return self._owners.get(subject, subject)
        return subject

    @property
    def now(self) -> Instant | None:
        """Application time: the latest time any event brought."""
        return self._counters.now

    @property
    def pending(self) -> int:
        """Events that wait for the window's next step."""
        return len(self._pending)

    def insert(self, event: Event) -> WindowChange:
        """Take an event in; whatever the window's definition pushes out departs.

        An event that arrives late enters by its own time: it does not make an individual
        younger, and an individual older than all that a full window holds departs at once.
        """
        record = _Recorder()
        counters = self._begin(record, event.time)
        if self.spec.unit is Unit.INDIVIDUALS:
            self._insert_by_count(event, counters, record)
        else:
            self._insert_by_time(event, counters, record)
        return record.change(self._present())

    def retract(self, triples: Iterable[Triple], time: Instant) -> WindowChange:
        """Take statements out; an individual that loses its last one departs whole.

        Triples the window does not hold are passed over.
        """
        record = _Recorder()
        self._begin(record, time)
        losses: dict[Subject, dict[Triple, None]] = {}
        for triple in triples:
            losses.setdefault(self.owner(triple[0]), {})[triple] = None
        for name, lost in losses.items():
            individual = self._individuals.get(name)
            if individual is None:
                continue
            held = [triple for triple in lost if triple in individual.statements]
            if held and len(held) == len(individual.statements):
                self._depart(individual, record)
            else:
                for triple in held:
                    self._supersede(individual, triple, time, record)
        return record.change(self._present())

    def undo(self, change: WindowChange) -> None:
        """Take back the last change not yet taken back."""
        for step in reversed(change.undo_log):
            step()
        change.undo_log.clear()

    def state(self) -> WindowState:
        """Everything that must survive a restart."""
        return WindowState(self._counters, tuple(self), tuple(self._pending))

    def restore(self, state: WindowState) -> None:
        """Become the window that a state was taken of."""
        self._counters = replace(state.counters)
        self._individuals = {each.name: each for each in state.individuals}
        self._queue = [(each.time, each.arrival, each.name) for each in state.individuals]
        heapq.heapify(self._queue)
        self._owners = {
            subject: each.name
            for each in state.individuals
            for subject, _, _ in each.statements
            if isinstance(subject, BlankNode) and subject != each.name
        }
        self._pending = list(state.pending)
        self._waiting = {
            name
            for event in state.pending
            for name in owners_of(event, self._owners).values()
            if name not in self._individuals
        }

    # -- by count ---------------------------------------------------------------------------

    def _insert_by_count(self, event: Event, counters: Counters, record: _Recorder) -> None:
        before = counters.entered
        for name in dict.fromkeys(owners_of(event, self._owners).values()):
            if name not in self._individuals and name not in self._waiting:
                counters.entered += 1
                self._waiting.add(name)
                record.undo.append(partial(self._waiting.discard, name))
        step = self.spec.interval
        self._pending.append(event)
        if counters.entered % step and before // step == counters.entered // step:
            return
        self._enter_pending(counters, record)
        capacity = self.spec.capacity(counters.entered)
        while len(self._individuals) > capacity:
            self._depart(self._oldest(), record)

    # -- by time ----------------------------------------------------------------------------

    def _insert_by_time(self, event: Event, counters: Counters, record: _Recorder) -> None:
        now, last = counters.now, counters.boundary
        assert now is not None
        boundary = counters.boundary = self.spec.boundary(now)
        if last is not None and boundary > last:
            # The steps before this instant happen without the event: an individual that one of
            # them pushes out is not made younger by an update that comes after it left.
            passed = boundary if boundary < now else boundary - self.spec.interval
            if passed > last:
                if self._pending:
                    self._enter_pending(counters, record)
                    self._expire(self.spec.lower_bound(last + self.spec.interval), record)
                self._expire(self.spec.lower_bound(passed), record)
            self._enter_pending(counters, record)
        if event.time <= boundary:
            self._enter(event, counters, record)
        else:
            self._pending.append(event)
        self._expire(self.spec.lower_bound(boundary), record)

    def _expire(self, lower_bound: Instant, record: _Recorder) -> None:
        while self._individuals:
            oldest = self._oldest()
            if oldest.time >= lower_bound:
                return
            self._depart(oldest, record)

    # -- shared -----------------------------------------------------------------------------

    def _begin(self, record: _Recorder, time: Instant) -> Counters:
        """Make this change undoable: the numbers and the waiting events as they are now."""
        old, pending, waiting = self._counters, self._pending, self._waiting
        length = len(pending)

        def undo() -> None:
            del pending[length:]
            self._counters, self._pending, self._waiting = old, pending, waiting

        record.undo.append(undo)
        now = time if old.now is None else max(old.now, time)
        self._counters = replace(old, now=now)
        return self._counters

    def _present(self) -> Instant:
        assert self._counters.now is not None
        return self._counters.now

    def _enter_pending(self, counters: Counters, record: _Recorder) -> None:
        if not self._pending:
            return
        events, self._pending, self._waiting = self._pending, [], set()
        for event in events:
            self._enter(event, counters, record)

    def _enter(self, event: Event, counters: Counters, record: _Recorder) -> None:
        owners = owners_of(event, self._owners)
        for name in dict.fromkeys(owners.values()):
            self._appear(name, event, counters, record)
        outdated = self._replace(event, record) if event.replaces else frozenset()
        provenance = Provenance(event.message, event.time)
        for triple in event.triples:
            subject = triple[0]
            individual = self._individuals[owners[subject]]
            if isinstance(subject, BlankNode) and subject != individual.name:
                self._own(subject, individual.name, record)
            if triple in outdated:
                record.superseded.append(
                    Superseded(individual.name, individual.stay, triple, provenance, event.time)
                )
            elif triple not in individual.statements:
                individual.statements[triple] = provenance
                record.undo.append(partial(individual.statements.__delitem__, triple))
                record.weigh(triple, 1)

    def _appear(self, name: Subject, event: Event, counters: Counters, record: _Recorder) -> None:
        counters.arrivals += 1
        known = self._individuals.get(name)
        if known is None:
            counters.stays += 1
            known = Individual(
                name, counters.stays, event.time, event.time, counters.arrivals, event.message
            )
            self._individuals[name] = known
            record.undo.append(partial(self._individuals.__delitem__, name))
        elif event.time >= known.time:
            record.undo.append(
                partial(self._rekey, known, known.time, known.arrival, known.message)
            )
            known.time, known.arrival = event.time, counters.arrivals
            known.message = event.message
        else:
            return
        self._enqueue(known)

    def _replace(self, event: Event, record: _Recorder) -> frozenset[Triple]:
        """Supersede the old values of an update.

        Returns:
            The event's own triples that a later event has replaced already.
        """
        outdated: set[Triple] = set()
        for name, predicate in event.replaces:
            individual = self._individuals.get(name)
            if individual is None:
                continue
            new = [t for t in event.triples if t[0] == name and t[1] == predicate]
            for triple, said in list(individual.statements.items()):
                if triple[0] != name or triple[1] != predicate or triple in new:
                    continue
                if said.time > event.time:
                    outdated.update(new)
                else:
                    self._supersede(individual, triple, event.time, record)
        return frozenset(outdated)

    def _supersede(
        self, individual: Individual, triple: Triple, time: Instant, record: _Recorder
    ) -> None:
        said = individual.statements.pop(triple, None)
        if said is None:
            return
        record.undo.append(partial(individual.statements.__setitem__, triple, said))
        record.weigh(triple, -1)
        record.superseded.append(
            Superseded(individual.name, individual.stay, triple, said, max(time, said.time))
        )
        node = triple[2]
        if (
            isinstance(node, BlankNode)
            and self._owners.get(node) == individual.name
            and all(other[2] != node for other in individual.statements)
        ):
            # Nothing refers to the blank node any more: what it said goes with it.
            for other in [t for t in individual.statements if t[0] == node]:
                self._supersede(individual, other, time, record)
            self._disown(node, record)

    def _depart(self, individual: Individual, record: _Recorder) -> None:
        name = individual.name
        del self._individuals[name]
        record.undo.append(partial(self._return, individual))
        for triple in individual.statements:
            record.weigh(triple, -1)
            if isinstance(triple[0], BlankNode) and triple[0] != name:
                self._disown(triple[0], record)
        record.departures.append(individual)

    def _return(self, individual: Individual) -> None:
        self._individuals[individual.name] = individual
        self._enqueue(individual)

    def _rekey(self, individual: Individual, time: Instant, arrival: int, message: str) -> None:
        individual.time, individual.arrival, individual.message = time, arrival, message
        self._enqueue(individual)

    def _own(self, node: BlankNode, name: Subject, record: _Recorder) -> None:
        if node not in self._owners:
            self._owners[node] = name
            record.undo.append(partial(self._owners.__delitem__, node))

    def _disown(self, node: BlankNode, record: _Recorder) -> None:
        owner = self._owners.pop(node, None)
        if owner is not None:
            record.undo.append(partial(self._owners.__setitem__, node, owner))

    def _enqueue(self, individual: Individual) -> None:
        heapq.heappush(self._queue, (individual.time, individual.arrival, individual.name))
        if len(self._queue) > 2 * len(self._individuals) + 64:
            # Mostly stale: an individual that is updated often leaves an entry each time.
            self._queue = [(i.time, i.arrival, i.name) for i in self]
            heapq.heapify(self._queue)

    def _oldest(self) -> Individual:
        while True:
            time, arrival, name = self._queue[0]
            individual = self._individuals.get(name)
            if individual is not None and (individual.time, individual.arrival) == (time, arrival):
                return individual
            heapq.heappop(self._queue)
