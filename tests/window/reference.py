"""Windows by their definitions, naively: the oracle of the windows that run.

Every insertion recomputes the window from the whole stream, instant by instant. The readings
added to equations (1)-(8) and (11) are those of ``docs/use/windows.md``; above all, what has left
took its triples to history, so the stream S of the equations no longer holds them when it
appears again (``docs/decisions/001-expired-individuals-start-anew.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.window_partition import owners_of
from sensorstream.window.window_spec import Elements, WindowMove, WindowPartitioning, WindowSpec

Unit: TypeAlias = Subject | Triple
_Age: TypeAlias = tuple[Instant, int]
_EVER: Final = -(10**30)


@dataclass(slots=True)
class _Said:
    """One element <s, p, o>, t of the stream, while the window or history has not taken it."""

    triple: Triple
    time: Instant
    arrival: int
    owner: Subject
    replaced: bool = False
    """It says no longer anything, but its individual did appear then (eq. 6)."""


class ReferenceWindow:
    """The same answers as the window of that definition, at a cost of O(stream) per event."""

    def __init__(self, spec: WindowSpec, now: Instant | None = None) -> None:
        self.spec = spec
        self.stream: list[_Said] = []
        self.waiting: list[Event] = []
        self.content: set[Triple] = set()
        self.departed: list[Subject] = []
        self._now = now
        self._arrivals = 0
        # Who was updated, which property, when.
        self._updates: list[tuple[Subject, Subject, IRI, Instant]] = []
        self.entered = 0
        self._numbers: dict[Unit, int] = {}

    def insert(self, event: Event) -> None:
        """Append an event to the stream and compute the window at every instant up to it."""
        if not self.spec.physical:
            self.wait_until(event.time - 1)
        before, known = self.entered, self._known()
        for unit in self._units(event):
            if unit not in known:
                self.entered += 1
                self._numbers[unit] = self.entered
        self.waiting.append(event)
        now, self._now = self._now, max(event.time, event.time if self._now is None else self._now)
        if self.spec.physical:
            self._compute_physical(before)
        else:
            self._compute_logical(self._now, late=now is not None and event.time <= now)

    def wait_until(self, now: Instant) -> None:
        """Let time pass without an event."""
        if self._now is not None:
            for instant in range(self._now + 1, now + 1):
                self._compute_logical(instant)
                self._now = instant

    def names(self) -> set[Subject]:
        """The individuals of the stream that history has not taken."""
        waiting = {o for e in self.waiting for o in owners_of(e, self._owners()).values()}
        return waiting | {said.owner for said in self.stream}

    def _compute_logical(self, instant: Instant, late: bool = False) -> None:
        """Eq. (3), (4), (5) and (11) over w_l of eq. (1) and w'_l of eq. (7).

        A late element belongs to the window computed last, as if it had come in order.
        """
        spec, w = self.spec, self.spec.size
        t0 = spec.start or 0
        at, offset = instant, instant - t0
        begun = spec.start is None
        if spec.start is not None and instant < spec.start:
            low = instant + 1
        elif spec.kind is WindowMove.LANDMARK:
            low = _EVER if begun else t0
        elif spec.kind is WindowMove.FILLING:
            if not begun and instant < t0 + w:
                low = t0
            else:
                low = instant - offset % w if offset % w else instant - w
        else:
            if offset % spec.step and not late:
                return
            at = instant - offset % spec.step
            low = t0 if not begun and at <= t0 + w else at - w
        self._enter(at)
        self._select({unit for unit, age in self._ages().items() if low <= age[0]})

    def _compute_physical(self, before: int) -> None:
        """Eq. (2) and (8), computed when the count of elements reaches or passes a step."""
        spec = self.spec
        if self.entered % spec.step and before // spec.step == self.entered // spec.step:
            return
        assert self._now is not None
        self._enter(self._now)
        ages = self._ages()
        if spec.kind is WindowMove.LANDMARK:
            self._select({u for u in ages if self._numbers[u] >= (spec.start or 1)})
            return
        size = (self.entered - 1) % spec.size + 1 if spec.kind is WindowMove.FILLING else spec.size
        self._select(set(sorted(ages, key=ages.__getitem__)[-size:]))

    def _unit(self, said: _Said) -> Unit:
        return said.triple if self.spec.elements is Elements.TRIPLES else said.owner

    def _units(self, event: Event) -> Iterable[Unit]:
        if self.spec.elements is Elements.TRIPLES:
            return event.triples
        return dict.fromkeys(owners_of(event, self._owners()).values())

    def _known(self) -> set[Unit]:
        waiting = {unit for event in self.waiting for unit in self._units(event)}
        return waiting | set(self._ages())

    def _owners(self) -> dict[BlankNode, Subject]:
        subjects = ((said.triple[0], said.owner) for said in self.stream)
        return {s: owner for s, owner in subjects if isinstance(s, BlankNode) and s != owner}

    def _ages(self) -> dict[Unit, _Age]:
        """Eq. (6), with the order of arrival that breaks ties."""
        ages: dict[Unit, _Age] = {}
        by_triple = self.spec.elements is Elements.TRIPLES
        for said in self._valid() if by_triple else self.stream:
            unit, age = self._unit(said), (said.time, said.arrival)
            ages[unit] = max(age, ages.get(unit, age))
        return ages

    def _enter(self, at: Instant) -> None:
        ready = [event for event in self.waiting if event.time <= at]
        self.waiting = [event for event in self.waiting if event.time > at]
        for event in ready:
            owners = owners_of(event, self._owners())
            outdated = self._update(event)
            held = {said.triple for said in self._valid() if said.time <= event.time}
            held_since = {said.triple for said in self._valid()} - held
            arrivals = {o: self._arrivals + n for n, o in enumerate(dict.fromkeys(owners.values()))}
            over = {
                triple
                for triple in event.triples
                if triple in held_since
                or (triple not in held and self._is_over(triple, owners, event, outdated))
            }
            for number, triple in enumerate(event.triples):
                owner = owners[triple[0]]
                arrival = arrivals[owner]
                if self.spec.elements is Elements.TRIPLES:
                    arrival = self._arrivals + number
                if triple not in over:
                    self.stream.append(_Said(triple, event.time, arrival, owner))
            self._updates += (
                (owners.get(subject, subject), subject, predicate, event.time)
                for subject, predicate in event.replaces
            )
            self._arrivals += len(event.triples)

    def _update(self, event: Event) -> set[Triple]:
        """Take out what an event replaces; where a later one has replaced it, nothing.

        Returns:
            The event's own triples beside which a newer value is held.
        """
        outdated: set[Triple] = set()
        for subject, predicate in event.replaces:
            new = {t for t in event.triples if t[:2] == (subject, predicate)}
            if self._replaced_after(subject, predicate, event.time):
                continue
            for said in self._valid():
                if said.replaced or said.triple[:2] != (subject, predicate):
                    continue
                times = [each.time for each in self._valid() if each.triple == said.triple]
                if said.triple in new:
                    continue
                if min(times) <= event.time:
                    self._remove(said)
                else:
                    outdated |= new
        return outdated

    def _is_over(
        self, triple: Triple, owners: Mapping[Subject, Subject], event: Event, outdated: Set[Triple]
    ) -> bool:
        """Whether a later event has replaced what an event says, or the reference to it."""
        subject, predicate, _ = triple
        if triple in outdated or self._replaced_after(subject, predicate, event.time):
            return True
        references = [t for t in event.triples if t[2] == subject and t != triple]
        if not isinstance(subject, BlankNode) or owners[subject] == subject or not references:
            return False
        held = any(said.triple[2] == subject for said in self._valid())
        return not held and all(self._is_over(t, owners, event, outdated) for t in references)

    def _replaced_after(self, subject: Subject, predicate: IRI, time: Instant) -> bool:
        return any(
            (about, updated) == (subject, predicate) and at > time
            for _, about, updated, at in self._updates
        )

    def _remove(self, gone: _Said) -> None:
        for said in self._valid():
            said.replaced = said.triple == gone.triple
        node = gone.triple[2]
        its = [said for said in self._valid() if said.owner == gone.owner]
        if isinstance(node, BlankNode) and all(said.triple[2] != node for said in its):
            for said in its:
                if said.triple[0] == node:
                    self._remove(said)

    def _select(self, chosen: set[Unit]) -> None:
        before = dict.fromkeys(said.owner for said in self.stream)
        self.stream = [said for said in self.stream if self._unit(said) in chosen]
        after = {said.owner for said in self.stream}
        self.departed.extend(name for name in before if name not in after)
        self._updates = [each for each in self._updates if each[0] in after]
        self.content = {said.triple for said in self._valid()}

    def _valid(self) -> list[_Said]:
        return [said for said in self.stream if not said.replaced]


class ReferencePartitions:
    """A partitioned window: a window of its own for each key, and one clock for all."""

    def __init__(self, spec: WindowSpec, partition: WindowPartitioning) -> None:
        self.spec = spec
        self.partition = partition
        self.windows: dict[str | None, ReferenceWindow] = {}
        self.departed: list[Subject] = []
        self._now: Instant | None = None

    @property
    def content(self) -> set[Triple]:
        """All that the windows hold."""
        return {triple for window in self.windows.values() for triple in window.content}

    def insert(self, event: Event) -> None:
        """Give each window its part of an event."""
        parts = dict(self._split(event))
        for key, its_part in parts.items():
            window = self.windows.setdefault(key, ReferenceWindow(self.spec, self._now))
            window.insert(its_part)
        self._now = event.time if self._now is None else max(self._now, event.time)
        for key, window in list(self.windows.items()):
            if not self.spec.physical:
                window.wait_until(self._now)
            self.departed.extend(window.departed)
            window.departed.clear()
            counts_on = self.spec.kind is WindowMove.LANDMARK and window.entered < (
                self.spec.start or 1
            )
            if not window.stream and not window.waiting and not counts_on:
                del self.windows[key]

    def _split(self, event: Event) -> Iterator[tuple[str | None, Event]]:
        homes = {name: key for key, window in self.windows.items() for name in window.names()}
        owners = owners_of(event, {})
        keys = {name: homes.get(name, self._key(name, event)) for name in owners.values()}
        for key in dict.fromkeys(keys.values()):
            mine = {subject for subject, owner in owners.items() if keys[owner] == key}
            yield (
                key,
                replace(
                    event,
                    triples=tuple(t for t in event.triples if t[0] in mine),
                    replaces=frozenset(pair for pair in event.replaces if pair[0] in mine),
                ),
            )

    def _key(self, name: Subject, event: Event) -> str | None:
        if self.partition.property is None:
            return event.source
        values = [t[2].n3 for t in event.triples if t[:2] == (name, self.partition.property)]
        return values[0] if values else None
