"""The recovery of the state before the last stop, or crash, from the journal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice, pairwise
from typing import Final

from sensorstream.app.life.arrival_clock import arrival_of
from sensorstream.app.life.in_work import TOO_OFTEN, Death, InWork
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.elapsed_time import elapse
from sensorstream.engine.engine import EngineState
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import DamagedCheckpoint, HistoryError, JournalError
from sensorstream.history.journal_rows import entry_at, pass_over
from sensorstream.history.store import PostgresStore
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.entry_effects import effects_of, reports_of
from sensorstream.journal.kinds import new_record, replay
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.notice import ReportDamage, ReportSkip
from sensorstream.journal.records import Record, Store
from sensorstream.journal.registration import QueryStopped, RegisterQuery, stops_of
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.logs import concerning
from sensorstream.model.events import Status
from sensorstream.model.frozen import frozen

_LOG = logging.getLogger(__name__)
_GROUP: Final = 500


@frozen
class Start:
    """The beginning of a recovery: the entry ``seq``, and the state after it; None: the empty
    state. ``damaged`` are the newer checkpoints that could not be read, and why.
    """

    seq: int = 0
    state: EngineState | None = None
    damaged: tuple[tuple[int, str], ...] = ()


def find_start(store: Store) -> Start:
    """Find the newest checkpoint that can be read; else the beginning of the journal.

    Raises:
        HistoryError: no checkpoint can be read, and the journal's first entries were deleted; or
            the store cannot be read.
    """
    damaged: list[tuple[int, str]] = []
    for seq, content in store.checkpoints():
        try:
            start = Start(seq, load(content), tuple(damaged))
        except DamagedCheckpoint as error:
            _LOG.error("the checkpoint at entry %d is ignored: %s", seq, error)
            damaged.append((seq, str(error)))
        else:
            return start
    if not store.whole():
        told = (
            "; ".join(f"at entry {seq}: {why}" for seq, why in damaged) or "there is no checkpoint"
        )
        raise HistoryError(
            f"no checkpoint can be read ({told}), and the journal does not hold all its entries "
            "any more: restore the database from a backup, or start with an empty database"
        )
    if damaged:
        _LOG.error("no checkpoint can be read: the whole journal is processed again")
    return Start(damaged=tuple(damaged))


def recover(
    target: Target,
    store: Store,
    start: Start,
    publish: Callable[[Sequence[EngineReport]], None],
    now: datetime,
    progress: Callable[[int], None] = lambda _: None,
    in_work: InWork | None = None,
    own: Callable[[], Iterable[Entry]] = tuple,
) -> int:
    """Bring a new engine to the journal's end; returns the number of entries processed again.

    The checkpoint gives the window and the rules' memory; the journal after it is processed again.
    Effects up to the watermark are stored already and are discarded, later effects are stored now:
    every acknowledged message is in the window or in history, once. The effects of a held message
    belong to the entry that released it, a message or a tick, so this is true for held messages
    too, even if they arrived long before the watermark. Ignored checkpoints are reported by a
    separate entry, and deleted.

    ``start`` is the result of :func:`find_start` for this store. ``publish`` gets the reports of
    continuous queries, repeated ones included, ``progress`` the number of processed entries from
    time to time. ``own`` makes the entries of this start when all others have been processed again,
    and it is known what was accepted; ``now`` is their time.

    Raises:
        HistoryError: the journal cannot be read or the effects not stored.
        ReasonerError: the reasoner failed.
    """
    work = _Replay(target, store, start, publish, InWork() if in_work is None else in_work)
    for group, following in pairwise(chain(_groups(store.replay(start.seq)), [[]])):
        work.take(group, following)
        progress(work.replayed)
    work.end()
    last = work.last
    news: list[Entry] = [*work.stops, *own(), *([_damage(start)] if start.damaged else [])]
    for notice in news:
        last += 1
        _tell(notice, target, store, last, now)
    if start.damaged:
        # Otherwise they count among the checkpoints to keep.
        store.drop_checkpoints([seq for seq, _ in start.damaged])
    if work.replayed or news:
        # Otherwise a server that crashes repeatedly has more to process at each start.
        try:
            store.save_checkpoint(last, dump(target.engine.state()))
        except HistoryError as error:
            _LOG.error("no checkpoint was stored, so the next start takes as long: %s", error)
        _LOG.info("recovered from the journal: %d entries processed again", work.replayed)
    return work.replayed


class _Replay:
    """The journal's entries processed again, group by group. ``replayed`` counts them, ``last`` is
    the number of the last one. ``stops`` are the queries that were stopped for the first time
    meanwhile.
    """

    def __init__(
        self,
        target: Target,
        store: Store,
        start: Start,
        publish: Callable[[Sequence[EngineReport]], None],
        in_work: InWork,
    ) -> None:
        engine = target.engine
        self.replayed, self.last = 0, start.seq
        self.stops: list[QueryStopped] = []
        self._target = target
        self._store = store
        self._publish = publish
        self._in_work = in_work
        self._watermark = store.watermark()
        self._refused: set[str] = set()
        if start.state is not None:
            engine.restore(start.state)
            target.mapper.hear(each.time for each in engine.window)
            # They changed nothing then, and must change nothing now, even if the reasoner accepts
            # them.
            self._refused |= store.rejected({e.item.message.id for e in start.state.held.held})
        # Alerts of stored effects are dropped; these are new, and wait for the first later entry.
        self._lost, engine.queries.lost = engine.queries.lost, []
        # Such queries report less than they had reported.
        self._passed = bool(self._lost)
        self._stopped: dict[int, list[QueryStopped]] = {}

    def take(self, group: Sequence[Record], following: Sequence[Record]) -> None:
        """Process a group; the effects above the watermark are stored."""
        for each in (*group, *following):
            if each.kind == QueryStopped.kind:
                entry = QueryStopped.decode(each.message.content, each.message.source)
                self._stopped.setdefault(entry.at, []).append(entry)
        fresh: list[tuple[Record, Outcome]] = []
        for record in group:
            outcome = self._one(record, stored=record.seq <= self._watermark)
            if record.seq > self._watermark:
                fresh.append((record, outcome))
                self.stops += stops_of(self._target, record.seq)
        self._in_work.end()
        if fresh:
            self._store.commit(effects_of([r for r, _ in fresh], [o for _, o in fresh]))

    def _one(self, record: Record, *, stored: bool) -> Outcome:
        """Process an entry; ``stored``: its effects are in the store already."""
        engine, message = self._target.engine, record.message
        for entry in self._stopped.pop(record.seq, ()):
            engine.queries.stop(entry.name, entry.registered, entry.reason)
        # What was accepted then is accepted now, however long it takes here.
        engine.lift_limits(stored)
        if stored and record.status is Status.REJECTED:
            self._refused.add(message.id)
        if stored and record.degraded:
            # It was accepted without the reasoner, which might refuse it now.
            engine.degrade("it had failed before the restart")
        if self._passed and not stored:
            _follow_history(self._target, self._store, self.last)
            self._passed = False
        self._in_work.begin(record)
        if stored and record.status is Status.SKIPPED:
            self._passed = True
            due = self._store.told_until(message.id)
            if due is not None:
                # Alerts that were due by then are stored, and are not raised again; all other
                # effects of the entry do not happen.
                elapse(engine, message, due, waiting_only=record.kind == TakeMessage.kind)
        with concerning(message_id=message.id, source=message.source):
            outcome = replay(record, self._target, self._refused)
        self._publish(reports_of([outcome]))
        self.replayed += 1
        self.last = record.seq
        if stored:
            self._lost, engine.queries.lost = [*self._lost, *engine.queries.lost], []
        return outcome

    def end(self) -> None:
        """Finish, when all entries have been processed."""
        engine = self._target.engine
        engine.lift_limits(False)
        engine.queries.lost = [*self._lost, *engine.queries.lost]
        if engine.held:
            # One that is skipped may still wait for its turn.
            engine.refuse(self._refused)
        if self._passed and self.replayed:
            _follow_history(self._target, self._store, self.last)


def _follow_history(target: Target, store: Store, seq: int) -> None:
    """Make the engine agree with history where a replay has less to go by than there was before.
    Without entries that are skipped now, individuals that have left the window may still be in it,
    and queries have reported less. So have queries whose part of the checkpoint cannot be read.
    """
    engine = target.engine
    engine.expel(store.departed([each.stay for each in engine.window]))
    engine.queries.count_on(store.reported(engine.queries.entries()))
    # Otherwise another start would do it at a later place.
    store.save_checkpoint(seq, dump(engine.state()))


def _damage(start: Start) -> ReportDamage:
    told = "; ".join(f"the one at entry {each}: {why}" for each, why in start.damaged)
    since = f"the one at entry {start.seq}" if start.seq else "the beginning of the journal"
    return ReportDamage(f"checkpoints could not be read, {since} was used instead: {told}")


def _tell(entry: Entry, target: Target, store: Store, seq: int, now: datetime) -> None:
    """Write an entry of the recovery itself to the journal, and apply it."""
    record = new_record(entry, seq, now, arrival_of(store, now))
    store.append([record])
    outcome = entry.apply(target, record, ())
    if outcome.rejection is not None:
        _LOG.error("%s, found at this start, are refused: %s", entry.kind, outcome.rejection)
    store.commit(effects_of([record], [outcome]))


def _groups(records: Iterable[Record]) -> Iterator[list[Record]]:
    iterator = iter(records)
    while group := list(islice(iterator, _GROUP)):
        yield group


def skip_deadly(death: Death, store: PostgresStore, start: Start, now: datetime) -> bool:
    """Skip the entry in work when the last processes died, if it was the same twice in a row.
    Returns whether to stop counting: it is skipped, or the entry is that of another history.

    Raises:
        HistoryError: the journal cannot be read or written.
    """
    entry = entry_at(store.url, death.entry)
    if entry is None or entry.received != death.received:
        _LOG.info("the mark of the entry in work is of another history, and is ignored")
        return True
    times = f"{death.times} times in a row" if death.times > 1 else "once"
    told = f"the server ended while entry {death.culprit} was in work, {times}"
    if death.times < TOO_OFTEN:
        _LOG.warning("%s", told)
        return False
    try:
        skip_entry(death.culprit, f"skipped: {told}", store, start, now)
    except JournalError as error:
        _LOG.error("%s, but it cannot be skipped: %s", told, error)
        return False
    return True


def skip_entry(seq: int, why: str, store: PostgresStore, start: Start, now: datetime) -> None:
    """Skip an entry from the next recovery on, and journal that this is so, and why. Effects that
    are stored in history stay. ``start`` is where the next recovery begins; nobody else writes
    ``store``.

    Raises:
        JournalError: there is no such entry, it is skipped already, or a checkpoint has its
            effects, so that skipping would change nothing; not so for an ontology or rules.
        HistoryError: the journal cannot be read or written.
    """
    entry = entry_at(store.url, seq)
    if entry is None:
        raise JournalError(f"the journal has no entry {seq}")
    if entry.status is Status.SKIPPED:
        raise JournalError(f"entry {seq} is skipped already: {entry.reason}")
    held = entry.status is Status.HELD
    # Ontology and rules are read from the journal at each start, whatever checkpoints there are.
    in_force = entry.kind in (PutOntology.kind, PutRules.kind)
    if seq <= start.seq and not held and not in_force:
        raise JournalError(
            f"entry {seq} is not applied again: the checkpoint at entry {start.seq} has what it "
            "did. Expected one after it"
        )
    # A held message has arrived, and others waited for it: only its turn is refused.
    status = Status.REJECTED if held else Status.SKIPPED
    notice = ReportSkip(f"{why}; {consequence(entry.kind, entry.id, entry.source)}")
    record = new_record(notice, store.last_seq() + 1, now, arrival_of(store, now))
    pass_over(store.url, seq, status, why, record)
    _LOG.error("entry %d: %s", seq, notice.text)


def consequence(kind: str, name: str, source: str) -> str:
    """A sentence on an entry that is skipped; ``name`` is its id."""
    told = {
        TakeMessage.kind: f"the message {name} from '{source[:80]}' is in quarantine",
        RegisterQuery.kind: f"the query '{source[:80]}' does not run",
        PutOntology.kind: f"the ontology that {name} put is not in force",
        PutRules.kind: f"the rules that {name} put are not in force",
    }
    return told.get(kind, f"an entry of kind '{kind}' has no effect")
