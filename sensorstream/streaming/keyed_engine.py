"""The engine of one key, and what it is rebuilt from: a checkpoint, and the entries since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from heapq import merge
from operator import attrgetter
from typing import Final

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment, Stage, build_machine
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.outcome import Outcome
from sensorstream.engine.query_alerts import KIND
from sensorstream.history.effects_writer import EngineStanding
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.journal.entry_effects import effects_of
from sensorstream.journal.kinds import replay
from sensorstream.journal.message import PassTime, TakeMessage
from sensorstream.journal.records import Effects, Record, message_id
from sensorstream.model.events import Status
from sensorstream.model.waits import Waits
from sensorstream.streaming.key_routing import CONTROLS, OF_FIRST, TIME
from sensorstream.streaming.worker_messages import EnginePlace

_MOST: Final = 20_000
"""Entries of time that are kept; what an engine missed before is read again."""

_seq = attrgetter("seq")


class Controls:
    """The entries for all engines that a process knows; it reads more of the journal if needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._known = 0
        self._registrations: list[Record] = []
        self._times: list[Record] = []
        self._forgotten = 0
        """The last entry of time that is not kept."""

    def know(self, upto: int) -> None:
        """Read the entries up to a number.

        Raises:
            HistoryError: the journal cannot be read.
        """
        if upto <= self._known:
            return
        for each in self._read(self._known, upto, (*CONTROLS, TIME)):
            if each.kind == TIME:
                self._times.append(each)
            elif each.status not in (Status.REJECTED, Status.SKIPPED):
                # What became of them else is not known here: every engine finds it out for itself.
                self._registrations.append(replace(each, status=None))
        self._known = upto
        if len(self._times) > 2 * _MOST:
            self._forgotten = self._times[-_MOST - 1].seq
            del self._times[:-_MOST]

    def registrations(self, upto: int) -> Sequence[Record]:
        """The starts and ends of queries up to an entry."""
        return _between(self._registrations, 0, upto)

    def between(self, after: int, upto: int) -> Sequence[Record]:
        """The entries with ``after < seq <= upto``, in order.

        Raises:
            HistoryError: the journal cannot be read.
        """
        times = _between(self._times, after, upto)
        if after < self._forgotten:
            times = [*self._read(after, min(upto, self._forgotten), (TIME,)), *times]
        return list(merge(_between(self._registrations, after, upto), times, key=_seq))

    def _read(self, after: int, upto: int, kinds: Sequence[str]) -> Sequence[Record]:
        return [record_of(row) for row in journal_rows(self._url, after, upto, kinds)]


def _between(entries: Sequence[Record], after: int, upto: int) -> Sequence[Record]:
    return entries[bisect_right(entries, after, key=_seq) : bisect_right(entries, upto, key=_seq)]


class KeyedEngine:
    """An engine for the entries of one key; owned by one thread."""

    def __init__(
        self,
        deployment: Deployment,
        counter: Callable[[], float],
        first: int,
        stage: Stage | None = None,
    ) -> None:
        """Start an engine whose first entry is ``first``; ``stage`` is its own, if it is a later
        one than the first.

        Raises:
            ReasonerError: its reasoner does not start.
        """
        self._stage = stage
        deployment = deployment if stage is None else stage.deployment
        machine = build_machine(deployment, counter, live=True)
        self._engine = machine.engine
        self._target = Exchange(machine.engine, machine.mapper, deployment)
        self._refused: set[str] = set()
        self.place = EnginePlace(first, first - 1, 0)

    @property
    def size(self) -> int:
        """Statements in its knowledge base: static ones, those of the window, inferred ones."""
        return len(self._engine.kb)

    def close(self) -> None:
        self._engine.close()

    def rebuild(
        self,
        place: EnginePlace,
        checkpoint: tuple[int, bytes] | None,
        entries: Sequence[Record],
        controls: Controls,
    ) -> None:
        """Bring a new engine to a place where it was before. ``checkpoint`` comes with the number
        of the last entry before it; ``entries`` are those since, with their statuses: what was
        rejected once is rejected again.
        """
        if checkpoint is None:
            self._begin(controls)
        else:
            last, state = checkpoint
            self._engine.restore(load(state))
            self.place = replace(place, last=last)
            if self._stage is not None:
                self._run_queries(self._stage.queries)
        for record in entries:
            if record.status is Status.REJECTED:
                self._refused.add(record.message.id)
            if record.degraded:
                self._engine.degrade("it had failed before the restart")
        for _ in self._applied(entries, controls, place.last):
            """The effects are stored already."""
        self.place = place

    def take(
        self, records: Sequence[Record], controls: Controls, upto: int
    ) -> tuple[list[Effects], list[Record]]:
        """Apply entries of this key, and those for all engines up to a number.

        Returns:
            The effects of each entry, and the records with their statuses, to be kept.
        """
        if self.place.last < self.place.first:
            self._begin(controls)
        effects: list[Effects] = []
        kept: list[Record] = []
        for record, outcome, own in self._applied(records, controls, upto):
            found = effects_of([record], [outcome])
            if own or record.kind == TIME:
                kept.append(replace(record, status=outcome.status, degraded=outcome.degraded))
            # Whether an entry for all is accepted is said once, by the engine of such entries.
            if not own:
                found = replace(found, statuses=())
                if record.kind != TIME:
                    # What ends for all engines is said there, too.
                    own_keys = (a for a in found.alerts if a.kind == KIND and a.key is not None)
                    found = replace(found, alerts=tuple(own_keys))
            effects.append(found)
        place = self.place
        last = max(upto, records[-1].seq if records else 0, place.last)
        self.place = EnginePlace(place.first, last, place.since + len(kept))
        return effects, kept

    def standing(self, key: str, records: Sequence[Record]) -> EngineStanding:
        """The engine's size and dues after these entries of its own."""
        heard = [r.message.received for r in records if r.kind == TakeMessage.kind]
        engine = self._engine
        return EngineStanding(
            key, len(engine.window), engine.dues.waits, engine.now, max(heard, default=None)
        )

    def checkpoint(self) -> bytes:
        """Return the state; the entries before need not be kept any more."""
        self._refused.clear()
        self.place = replace(self.place, since=0)
        return dump(self._engine.state())

    def _begin(self, controls: Controls) -> None:
        """Carry out what was told to all engines before this one existed; outcomes are dropped."""
        if self._stage is not None:
            self._run_queries(self._stage.queries)
            return
        for each in controls.registrations(self.place.first - 1):
            replay(self._own(each), self._target, self._refused)

    def _run_queries(self, texts: Mapping[str, str]) -> None:
        """Run the queries of its stage, with their present texts, instead of those that run."""
        queries, place = self._engine.queries, self.place
        known = {name: each.text for name, each in queries.stopped.items()}
        known |= {name: each.text for name, each in queries.processor.queries.items()}
        for name in known.keys() - texts.keys():
            queries.unregister(name)
        for name, text in texts.items():
            if known.get(name) != text:
                # The ids of reports are unique: other texts may have reported after this place.
                digest = sha256(f"{name} {text}".encode()).hexdigest()[:8]
                entry = f"{message_id(max(place.first, place.last))}.{place.first}.{digest}"
                queries.register(name, text, entry, replaces=True)

    def _applied(
        self, records: Sequence[Record], controls: Controls, upto: int
    ) -> Iterator[tuple[Record, Outcome, bool]]:
        own = {each.seq for each in records}
        others = (
            self._own(each)
            for each in controls.between(self.place.last, upto)
            if each.seq not in own and (self._stage is None or each.kind not in OF_FIRST)
        )
        stage = "" if self._stage is None else self._stage.name
        waits: Waits | None = None
        for record in merge(records, others, key=attrgetter("seq")):
            if record.kind == TIME and record.seq not in own:
                time = PassTime.decode(record.message.content, "")
                if time.stage != stage:
                    continue
                if waits is None:
                    waits = self._engine.dues.waits
                if not waits.over(record.message.received, time.moved, time.present):
                    # It would change nothing, and there may be many.
                    continue
            waits = None
            yield record, replay(record, self._target, self._refused), record.seq in own

    def _own(self, control: Record) -> Record:
        """Give an entry for all engines an id of this key: the ids of its effects are unique."""
        message = replace(control.message, id=f"{control.message.id}.{self.place.first}")
        return replace(control, message=message)
