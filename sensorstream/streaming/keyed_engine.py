"""The engine of one key, and what rebuilds it: a checkpoint, and the entries since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from operator import attrgetter

from sensorstream.app.exchange import Exchange
from sensorstream.app.wiring import Deployment, build_machine
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.journal.effects import effects_of
from sensorstream.journal.entry import Target
from sensorstream.journal.kinds import replay
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Effects, Record
from sensorstream.streaming.work import Place

ControlsOf = Callable[[int, int], Sequence[Record]]
"""The control entries above a number, up to another."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What rebuilds an engine at its place: a checkpoint and the entries since, both may be absent.

    The checkpoint comes with the number of the last entry before it. The entries have their
    statuses: what was rejected once is rejected again.
    """

    checkpoint: tuple[int, bytes] | None
    entries: Sequence[Record]


class KeyedEngine:
    """Owned by one thread."""

    def __init__(self, deployment: Deployment, counter: Callable[[], float], first: int) -> None:
        """A new engine, whose first entry is ``first``.

        Raises:
            ReasonerError: its reasoner does not start.
        """
        machine = build_machine(deployment, counter)
        self._engine = machine.engine
        exchange = Exchange(machine.engine, machine.mapper, deployment)
        self._target = Target(machine.engine, machine.mapper, exchange)
        self._refused: set[str] = set()
        self.place = Place(first, first - 1, 0)

    @property
    def size(self) -> int:
        """Statements in its knowledge base: static ones, those of the window, inferred ones."""
        return len(self._engine.kb)

    def close(self) -> None:
        """Stop the reasoner."""
        self._engine.close()

    def rebuild(self, place: Place, kept: Kept, controls: ControlsOf) -> None:
        """Bring a new engine to a place where it was before."""
        if kept.checkpoint is None:
            self._begin(controls)
        else:
            last, state = kept.checkpoint
            self._engine.restore(load(state))
            self.place = replace(place, last=last)
        for record in kept.entries:
            if record.status is Status.REJECTED:
                self._refused.add(record.message.id)
            if record.degraded:
                self._engine.degrade("it had failed before the restart")
        for _ in self._applied(kept.entries, controls):
            """The effects are stored already."""
        self.place = place

    def take(
        self, records: Sequence[Record], controls: ControlsOf
    ) -> tuple[list[Effects], list[Record]]:
        """Apply entries of this key, and the control entries before them.

        Returns:
            The effects of each entry, and the records with their statuses, to be kept.
        """
        if self.place.last < self.place.first:
            self._begin(controls)
        effects: list[Effects] = []
        kept: list[Record] = []
        for record, outcome, own in self._applied(records, controls):
            found = effects_of([record], [outcome])
            if own:
                effects.append(found)
                kept.append(replace(record, status=outcome.status, degraded=outcome.degraded))
            else:
                # Whether such an entry is accepted is said once, by the engine of control entries.
                effects.append(replace(found, statuses=(), alerts=()))
        place = self.place
        self.place = Place(place.first, records[-1].seq, place.since + len(records))
        return effects, kept

    def checkpoint(self) -> bytes:
        """The state; the entries before need not be kept any more."""
        self._refused.clear()
        self.place = replace(self.place, since=0)
        return dump(self._engine.state())

    def _begin(self, controls: ControlsOf) -> None:
        """Carry out what was said to all engines before this one was there; nobody hears of it."""
        for each in controls(0, self.place.first - 1):
            replay(self._own(each), self._target, self._refused)

    def _applied(
        self, records: Sequence[Record], controls: ControlsOf
    ) -> Iterator[tuple[Record, Outcome, bool]]:
        own = {each.seq for each in records}
        others = [
            self._own(each)
            for each in controls(self.place.last, records[-1].seq if records else 0)
            if each.seq not in own
        ]
        for record in merge(records, others, key=attrgetter("seq")):
            yield record, replay(record, self._target, self._refused), record.seq in own

    def _own(self, control: Record) -> Record:
        """A control entry with an id of this key: reports are numbered for each key by itself."""
        if control.kind == TakeMessage.kind:
            return control
        message = replace(control.message, id=f"{control.message.id}.{self.place.first}")
        return replace(control, message=message)
