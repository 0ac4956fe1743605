"""The engine of one key, and what it is rebuilt from: a checkpoint, and the entries since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from operator import attrgetter, itemgetter
from typing import Final

from sensorstream.app.control.pipeline_stages import stage_of
from sensorstream.app.control.rule_exchange import FROM_SETTINGS, Exchange, with_put
from sensorstream.app.control.wiring import Deployment, Stage, build_machine
from sensorstream.app.life.in_work import TOO_OFTEN
from sensorstream.app.life.recovery import consequence
from sensorstream.clock import SystemClock
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.held_content import WindowTotals, content_of, digests, totals_of
from sensorstream.engine.outcome import Outcome
from sensorstream.engine.query_alerts import KIND
from sensorstream.errors import SparkError
from sensorstream.history.effects_writer import EngineStanding, HeldRow
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.journal.entry_effects import effects_of, in_order
from sensorstream.journal.key_routing import (
    ANSWERED,
    ASK,
    CONTROL,
    CONTROLS,
    OF_FIRST,
    QUERIES,
    TAKEOVERS,
    TIME,
    name_of,
)
from sensorstream.journal.kinds import entry_of, replay
from sensorstream.journal.message import PassTime, TakeMessage
from sensorstream.journal.notice import ReportSkip
from sensorstream.journal.records import (
    Effects,
    Record,
    is_of_topic,
    message_id,
    number_of_message,
)
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.events import Message, Status
from sensorstream.model.terms import Subject
from sensorstream.model.waits import Waits
from sensorstream.streaming.deadly_entries import DeadlyEntries
from sensorstream.streaming.worker_messages import EnginePlace

_MOST: Final = 20_000
"""Entries of time that are kept; what an engine missed before is read again."""

_LONGEST: Final = 100
"""Characters of a key that are told: it comes from messages."""
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
        self._asks: list[Record] = []
        """Questions that somebody may wait for."""
        self._put: dict[str, list[tuple[int, int]]] = {kind: [] for kind in TAKEOVERS}
        """The entry after which an ontology, or rules, are in force, and the entry with them."""
        self._deployments: dict[tuple[int, ...], Deployment] = {}
        self._forgotten = 0
        """The last entry of time that is not kept."""

    def know(self, upto: int) -> None:
        """Read the entries up to a number; raises HistoryError if the journal cannot be read."""
        if upto <= self._known:
            return
        for each in self._read(self._known, upto, (*CONTROLS, TIME, ASK)):
            if each.kind == ASK:
                self._asks.append(each)
            elif each.kind == TIME:
                self._times.append(each)
            elif each.status not in (Status.REJECTED, Status.SKIPPED):
                self._note(each)
        self._known = upto
        since = SystemClock().now() - ANSWERED
        self._asks = [each for each in self._asks if each.received_at > since]
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
        """Know that a deployment is in force after an entry; raises as :meth:`know`."""
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
        """The entries with ``after < seq <= upto``, in order; raises as :meth:`know`."""
        times = _between(self._times, after, upto)
        if after < self._forgotten:
            times = [*self._read(after, min(upto, self._forgotten), (TIME,)), *times]
        return list(merge(_between(self._changes, after, upto), times, key=_seq))

    def asks(self, after: int, upto: int, key: str) -> Sequence[Record]:
        """The questions to the engine of a key with ``after < seq <= upto``, in order."""
        if key == CONTROL:
            return []
        asked = ("", key)
        return [each for each in _between(self._asks, after, upto) if each.message.source in asked]

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
        key: str,
        deadly: DeadlyEntries | None = None,
    ) -> None:
        """Start an engine with the deployment in force, or that of the stage of its key; ``first``
        is its first entry.

        Raises:
            ReasonerError: its reasoner does not start.
        """
        self._whole = deployment
        self._stage = stage_of(deployment, key)
        deployment = deployment if self._stage is None else self._stage.deployment
        self._deadly = deadly or DeadlyEntries()
        self._skips: frozenset[int] = frozenset()
        turn = self._deadly.in_work.turn_to
        machine = build_machine(deployment, counter, turn=turn, live=True)
        self.skipped = False
        """Whether a deadly entry was skipped since the checkpoint."""
        self._engine = machine.engine
        self._target = Exchange(machine.engine, machine.mapper, deployment)
        self._refused: set[str] = set()
        # The subjects whose content may have changed since it was told, and the totals told last.
        self._touched: set[Subject] = set()
        self._engine.window.follow(self._touched)
        self._engine.inferences.touched = self._touched
        self._totals: WindowTotals | None = None
        self._key = key
        self._whose = f"the key '{name_of(key)[:_LONGEST]}'"
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
                self._run_queries(self._stage)
        for record in entries:
            if record.status is Status.REJECTED:
                self._refused.add(record.message.id)
            if record.degraded:
                self._engine.degrade("it had failed before the restart")
        for _ in self._applied(entries, controls, place.last):
            """The effects are stored already."""
        self.place = place
        self._touched.clear()
        self._totals = totals_of(self._engine)

    def take(
        self, records: Sequence[Record], controls: Controls, upto: int
    ) -> tuple[list[Effects], list[Record]]:
        """Apply entries of its key and those for all engines up to a number; answer questions.

        Returns:
            The effects of each entry, and the records with their statuses, to be kept.
        """
        self._skips = self._deadly.begin(self._key)
        if self.place.last < self.place.first:
            self._begin(controls)
        effects: list[Effects] = []
        kept: list[Record] = []
        asks = [self._own(each) for each in controls.asks(self.place.last, upto, self._key)]
        for record, outcome, own in self._applied(records, controls, upto, asks, new=True):
            if record.kind == ASK and not own:
                effects.append(self._answered(record))
                if record.status is not Status.SKIPPED:
                    continue
            found = effects_of([record], [outcome])
            if (own and record.kind != ASK) or record.kind == TIME:
                kept.append(replace(record, status=outcome.status, degraded=outcome.degraded))
            if is_of_topic(record.origin):
                if outcome.status is Status.ACCEPTED and not outcome.warnings:
                    found = replace(found, statuses=())
                else:
                    # Somebody may want to see it in the journal, or to repeat it.
                    found = replace(found, entries=(record,))
            # Whether an entry for all is accepted is said once, by the engine of such entries.
            if not own:
                found = replace(found, statuses=())
                if record.kind in QUERIES:
                    # What ends for all engines is said there, too.
                    told = (KIND, ReportSkip.alert[0])
                    own_keys = (a for a in found.alerts if a.kind in told and a.key is not None)
                    found = replace(found, alerts=tuple(own_keys))
            effects.append(found)
        self._deadly.in_work.end()
        place = self.place
        last = max(upto, records[-1].seq if records else 0, place.last)
        self.place = EnginePlace(place.first, last, place.since + len(kept))
        return effects, kept

    def standing(self, records: Sequence[Record]) -> EngineStanding:
        """The engine's size and dues after these entries of its own."""
        heard = [r.message.received for r in records if r.kind == TakeMessage.kind]
        engine = self._engine
        return EngineStanding(
            self._key,
            len(engine.window),
            engine.dues.waits,
            engine.now,
            max(heard, default=None),
            len(records),
            list(self._held()),
        )

    def _held(self) -> Iterator[HeldRow]:
        """The content of the window that is new since the last call, or since a rebuilding."""
        # Sorted, because the order of a set differs between processes.
        subjects, totals = sorted(self._touched), totals_of(self._engine)
        digest, *parts = digests(self._key, subjects)
        if totals != self._totals:
            self._totals = totals
            yield digest, None if totals is None else totals.text
        for each, subject in zip(parts, subjects, strict=True):
            yield each, content_of(self._engine, subject)
        self._touched.clear()

    def checkpoint(self) -> bytes:
        """Return the state; the entries before need not be kept any more."""
        self._refused.clear()
        self.skipped = False
        self.place = replace(self.place, since=0)
        return self.asleep()

    def asleep(self) -> bytes:
        """Return the state that :meth:`rebuild` goes on from at this place, without any entry."""
        return dump(self._engine.state())

    def _begin(self, controls: Controls) -> None:
        """Carry out what was told to all engines before this one existed; outcomes are dropped."""
        if self._stage is not None:
            self._run_queries(self._stage)
            return
        for each in controls.registrations(self.place.first - 1):
            replay(self._own(each), self._target, self._refused)

    def _run_queries(self, stage: Stage) -> None:
        """Run the queries of its stage, with their present texts, instead of those that run."""
        queries, place, texts = self._engine.queries, self.place, stage.queries
        known = {name: each.text for name, each in queries.stopped.items()}
        known |= {name: each.text for name, each in queries.processor.queries.items()}
        for name in known.keys() - texts.keys():
            queries.unregister(name)
        for name, text in texts.items():
            if known.get(name) != text:
                # The ids of reports are unique: other texts may have reported after this place.
                begun = f"{message_id(max(place.first, place.last))}.{place.first}"
                entry = f"{begun}.{stage.registration(name)}"
                queries.register(name, text, entry, replaces=True)

    def _applied(
        self,
        records: Sequence[Record],
        controls: Controls,
        upto: int,
        asks: Sequence[Record] = (),
        *,
        new: bool = False,
    ) -> Iterator[tuple[Record, Outcome, bool]]:
        """Apply entries; ``new``: for the first time, so that one may end this process."""
        deadly = self._skips if new else frozenset()
        # One that waits for its turn has arrived, and is refused then.
        self._refused.update(map(message_id, deadly))
        own = {each.seq for each in records}
        others = (
            self._own(each)
            for each in controls.between(self.place.last, upto)
            if each.seq not in own and (self._stage is None or each.kind not in OF_FIRST)
        )
        stage = "" if self._stage is None else self._stage.name
        waits: Waits | None = None
        for record in merge(records, others, asks, key=attrgetter("seq")):
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
            if new:
                if record.seq in deadly:
                    self._check_skipped(record)
                    record = replace(record, status=Status.SKIPPED)
                self._deadly.in_work.begin(record)
            if record.kind in TAKEOVERS and record.status not in (Status.REJECTED, Status.SKIPPED):
                outcome = self._take_over(record, controls)
            else:
                outcome = replay(record, self._target, self._refused)
            if deadly:
                self._tell_skipped(record, outcome)
            yield record, outcome, record.seq in own

    def _check_skipped(self, record: Record) -> None:
        """Raise SparkError for an entry that all engines go on with, so that one cannot skip it."""
        if record.kind in TAKEOVERS:
            raise SparkError(
                f"entry {record.seq} ({record.kind}) ends the process of the engine of "
                f"{self._whose}, {TOO_OFTEN} times in a row, and engines cannot differ in it: undo "
                f"it by 'sensorstream journal skip {record.seq}' while neither server nor pipeline "
                "runs"
            )

    def _tell_skipped(self, record: Record, outcome: Outcome) -> None:
        """Add reason and alert to what is skipped, as a server tells it by an entry."""
        for each in in_order(outcome):
            seq = number_of_message(each.message.id)
            if seq in self._skips and each.status in (Status.SKIPPED, Status.REJECTED):
                self.skipped = True
                kind = record.kind if seq == record.seq else TakeMessage.kind
                text = (
                    f"skipped: the process of its engine ended while entry {seq} was in work, "
                    f"{TOO_OFTEN} times in a row; "
                    f"{consequence(kind, message_id(seq), each.message.source)}"
                )
                each.warnings += (text,)
                named = replace(each.message, content=text.encode())
                each.alerts += self._engine.report(named, *ReportSkip.alert).alerts

    def _answered(self, question: Record) -> Effects:
        # Rare, and it takes long to import.
        from sensorstream.app.questions.engine_questions import answer_of

        answer = answer_of(self._engine, self._target.deployment, question, self._key)
        return Effects(question.seq, (), (), (), (), question.received_at, answers=(answer,))

    def _take_over(self, record: Record, controls: Controls) -> Outcome:
        """Put an ontology or rules in force that the server has checked."""
        target, ontology = self._target, record.kind == PutOntology.kind
        self._whole = controls.in_force(self._whole, record.seq)
        stage = stage_of(self._whole, self._key)
        new = self._whole if stage is None else stage.deployment
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
