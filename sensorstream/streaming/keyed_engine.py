"""The engine of one key, and what it is rebuilt from: a checkpoint, and the entries since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from operator import attrgetter, itemgetter
from typing import Final

from sensorstream.app.control.rule_exchange import FROM_SETTINGS, Exchange, with_put
from sensorstream.app.control.wiring import Deployment, build_machine
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.outcome import Outcome
from sensorstream.engine.query_alerts import KIND
from sensorstream.history.effects_writer import EngineStanding
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.journal.entry_effects import effects_of
from sensorstream.journal.kinds import entry_of, replay
from sensorstream.journal.message import PassTime, TakeMessage
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.events import Message, Status
from sensorstream.model.waits import Waits
from sensorstream.streaming.key_routing import CONTROLS, TAKEOVERS, TIME
from sensorstream.streaming.worker_messages import EnginePlace

_MOST: Final = 20_000
"""Entries of time that are kept; what an engine missed before is read again."""

_LONGEST: Final = 100
"""Characters of a key that are told: it comes from messages."""
_QUERIES: Final = frozenset(CONTROLS) - frozenset(TAKEOVERS)
_VERSIONS: Final = 4
"""Deployments that are kept; engines are rebuilt from places where older ones were in force."""

_seq = attrgetter("seq")


class Controls:
    """The entries for all engines that a process knows; it reads more of the journal if needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._known = 0
        self._changes: list[Record] = []
        self._times: list[Record] = []
        self._put: dict[str, list[tuple[int, int]]] = {kind: [] for kind in TAKEOVERS}
        """The entry after which an ontology, or rules, are in force, and the entry with them."""
        self._deployments: dict[tuple[int, ...], Deployment] = {}
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
                self._note(each)
        self._known = upto
        if len(self._times) > 2 * _MOST:
            self._forgotten = self._times[-_MOST - 1].seq
            del self._times[:-_MOST]

    def _note(self, change: Record) -> None:
        if change.kind in TAKEOVERS:
            entry, put = entry_of(change), self._put[change.kind]
            if isinstance(entry, PutRules) and entry.found:
                # On Spark the files count, as they are at a start.
                return
            # Before the first change, what it replaced was in force.
            of_settings = not put and getattr(entry, "by", "") == FROM_SETTINGS
            put.append((0 if of_settings else change.seq, change.seq))
            # It may be large, and all engines share what is made of it.
            change = replace(change, message=replace(change.message, content=b""))
        # What became of it is not known here: every engine finds it out for itself.
        self._changes.append(replace(change, status=None))

    def begin(self, deployment: Deployment, upto: int) -> None:
        """Know that a deployment is in force after an entry.

        Raises:
            HistoryError: the journal cannot be read.
        """
        self.know(upto)
        self._deployments[self._numbers(upto)] = deployment

    def in_force(self, known: Deployment, seq: int) -> Deployment:
        """The deployment in force after an entry; ``known`` has what was never put. It is compiled
        once for all engines.

        Raises:
            HistoryError: the journal cannot be read.
            SensorStreamError: it cannot be compiled here.
        """
        numbers = self._numbers(seq)
        if not any(numbers):
            return known
        found = self._deployments.pop(numbers, None)
        if found is None:
            ontology, rules = (self._entry(number) for number in numbers)
            found = with_put(known, ontology, rules)
        self._deployments[numbers] = found
        if len(self._deployments) > _VERSIONS:
            del self._deployments[next(iter(self._deployments))]
        return found

    def _numbers(self, seq: int) -> tuple[int, ...]:
        """The entries with the ontology and the rules in force after an entry; 0: nobody put it."""
        puts = (self._put[kind] for kind in TAKEOVERS)
        places = ((put, bisect_right(put, seq, key=itemgetter(0))) for put in puts)
        return tuple(put[place - 1][1] if place else 0 for put, place in places)

    def _entry(self, seq: int) -> Message | None:
        return self._read(seq - 1, seq, TAKEOVERS)[0].message if seq else None

    def registrations(self, upto: int) -> Sequence[Record]:
        """The starts and ends of queries up to an entry."""
        return [e for e in _between(self._changes, 0, upto) if e.kind not in TAKEOVERS]

    def between(self, after: int, upto: int) -> Sequence[Record]:
        """The entries with ``after < seq <= upto``, in order.

        Raises:
            HistoryError: the journal cannot be read.
        """
        times = _between(self._times, after, upto)
        if after < self._forgotten:
            times = [*self._read(after, min(upto, self._forgotten), (TIME,)), *times]
        return list(merge(_between(self._changes, after, upto), times, key=_seq))

    def _read(self, after: int, upto: int, kinds: Sequence[str]) -> Sequence[Record]:
        return [record_of(row) for row in journal_rows(self._url, after, upto, kinds)]


def _between(entries: Sequence[Record], after: int, upto: int) -> Sequence[Record]:
    return entries[bisect_right(entries, after, key=_seq) : bisect_right(entries, upto, key=_seq)]


class KeyedEngine:
    """An engine for the entries of one key; owned by one thread."""

    def __init__(
        self, deployment: Deployment, counter: Callable[[], float], first: int, key: str
    ) -> None:
        """Start an engine with the deployment in force; ``first`` is its first entry.

        Raises:
            ReasonerError: its reasoner does not start.
        """
        machine = build_machine(deployment, counter, live=True)
        self._engine = machine.engine
        self._target = Exchange(machine.engine, machine.mapper, deployment)
        self._refused: set[str] = set()
        self._whose = f"the key '{key[1:][:_LONGEST]}'"
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
                if record.kind in _QUERIES:
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
        for each in controls.registrations(self.place.first - 1):
            replay(self._own(each), self._target, self._refused)

    def _applied(
        self, records: Sequence[Record], controls: Controls, upto: int
    ) -> Iterator[tuple[Record, Outcome, bool]]:
        own = {each.seq for each in records}
        others = (
            self._own(each)
            for each in controls.between(self.place.last, upto)
            if each.seq not in own
        )
        waits: Waits | None = None
        for record in merge(records, others, key=attrgetter("seq")):
            if record.kind == TIME and record.seq not in own:
                if waits is None:
                    waits = self._engine.dues.waits
                time = PassTime.decode(record.message.content, "")
                if not waits.over(record.message.received, time.moved, time.present):
                    # It would change nothing, and there may be many.
                    continue
            waits = None
            if record.kind in TAKEOVERS and record.status not in (Status.REJECTED, Status.SKIPPED):
                outcome = self._take_over(record, controls)
            else:
                outcome = replay(record, self._target, self._refused)
            yield record, outcome, record.seq in own

    def _take_over(self, record: Record, controls: Controls) -> Outcome:
        """Put an ontology or rules in force that the server has checked."""
        target, ontology = self._target, record.kind == PutOntology.kind
        new = controls.in_force(target.deployment, record.seq)
        successor = target.prepared(new, ontology=ontology)
        # What was accepted is accepted here, however long it takes.
        self._engine.lift_limits(True)
        try:
            return successor.take_over(record.message, self._whose)
        except BaseException:
            successor.close()
            raise
        finally:
            self._engine.lift_limits(False)

    def _own(self, control: Record) -> Record:
        """Give an entry for all engines an id of this key: the ids of its effects are unique."""
        message = replace(control.message, id=f"{control.message.id}.{self.place.first}")
        return replace(control, message=message)
