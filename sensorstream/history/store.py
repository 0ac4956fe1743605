"""The store's one writer: journal first, then effects and watermark together.

A message is acknowledged once :meth:`PostgresStore.append` has it on disk. What it does to the
history is written later by :meth:`PostgresStore.commit`, in one transaction with the watermark, the
number of the last message whose effects are stored. After a crash the messages above the watermark
are processed again and no others, so every effect is stored exactly once (docs/history.md has the
argument).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Flag
from itertools import chain
from typing import Final

import psycopg2
from psycopg2 import extensions

from sensorstream.engine import query_alerts
from sensorstream.engine.outcome import Status
from sensorstream.errors import HistoryError, Unstorable
from sensorstream.history.class_sets import mend_class_sets
from sensorstream.history.copying import copy_command, copy_text
from sensorstream.history.database import (
    connect,
    describe,
    engine,
    translating,
    translating_writes,
)
from sensorstream.history.engines import Standings, forget_standings, store_standings
from sensorstream.history.journal_rows import JournalRow, journal_rows
from sensorstream.history.migrations import migrate
from sensorstream.history.partitions import Partitions
from sensorstream.history.pipelining import PipelinedCursor, pipelined, single
from sensorstream.history.rare_effects import (
    explain,
    queue_reports,
    record_ontologies,
    revoke,
    settle_held,
)
from sensorstream.history.routines import Written, append_entries, make_routines, write_effects
from sensorstream.history.rows import (
    MESSAGE_COLUMNS,
    STATEMENT_COLUMNS,
    message_rows,
    statement_rows,
)
from sensorstream.history.sparing import spared
from sensorstream.history.terms import Dictionary, term_key
from sensorstream.journal.records import Effects, OntologyVersion, Record
from sensorstream.model.events import Ended, Message
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import RDF_TYPE

_JOURNAL_LOCK: Final = 0x53535752
EFFECTS_LOCK: Final = 0x53535746
"""The advisory lock of the process that writes effects."""
# The server notices a killed writer within moments; a restart must not fail for them.
_LOCK_PATIENCE: Final = 5.0
_CHECKPOINTS_KEPT: Final = 2
_LATEST: Final = 1000
"""Entries among which the latest arrival is looked for."""
_FEW: Final = 64
"""Entries; more are stored by COPY: that costs two round trips of its own, and less for each."""
_FEW_BYTES: Final = 1_048_576
"""About the most bytes of content that stand in a statement."""
_COPY_MESSAGES: Final = copy_command("store.messages", MESSAGE_COLUMNS)
_COPY_STATEMENTS: Final = copy_command("store.statements", STATEMENT_COLUMNS)


class Writes(Flag):
    """What a process writes; two processes must not write the same."""

    JOURNAL = 1
    """New entries: :meth:`PostgresStore.append`."""
    EFFECTS = 2
    """All else: effects, the watermark and checkpoints."""
    ALL = JOURNAL | EFFECTS


class PostgresStore:
    """The persistent knowledge base, as the one process that writes it sees it.

    A :class:`.Store` of the journal, over PostgreSQL.

    The journal has a connection of its own: :meth:`append`, :meth:`origins` and :meth:`last_seq`
    may be called while another thread stores effects, and :meth:`replay` reads on a third one.
    Otherwise it is not thread-safe. After a lost connection every call raises
    :class:`HistoryError`: nobody can know whether the last commit arrived, so open a new store,
    and go on from its checkpoint and watermark.
    """

    def __init__(self, url: str, timeline: Timeline, writes: Writes = Writes.ALL) -> None:
        """Use :meth:`open`."""
        self.url = url
        self.timeline = timeline
        self._writes = writes
        self._dictionary = Dictionary()
        self._partitions = Partitions(timeline)
        self._removals = 0
        self._connection = _connected(url)
        self._journal = _connected(url) if writes is Writes.ALL else self._connection

    @classmethod
    def open(cls, url: str, timeline: Timeline, writes: Writes = Writes.ALL) -> PostgresStore:
        """Become the writer of a store, or of a part of it; creates or upgrades its schema.

        Raises:
            HistoryError: the database cannot be reached or prepared, another process writes to
                it, or it was filled with times of another time line.
        """
        store = cls(url, timeline, writes)
        try:
            store._lock()
            store._make_durable()
            database = engine(url, pool_size=1)
            try:
                migrate(database)
            finally:
                database.dispose()
            for each in store._connections():
                with translating("cannot prepare the writer"), pipelined(each) as cursor:
                    make_routines(cursor)
            store._check_timeline()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Stop being the writer."""
        for each in self._connections():
            each.close()

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, records: Sequence[Record]) -> None:
        """Write messages to the journal; they are on disk when this returns.

        All of them or none; a sequence number or id that is there already is an error.

        Raises:
            HistoryError: nothing was written, or the connection was lost.
            Unstorable: nothing was written, for PostgreSQL does not take a value of them.
        """
        rows = list(message_rows(records))
        many = len(rows) > _FEW or sum(len(each.message.content) for each in records) > _FEW_BYTES
        begin = pipelined if many else single
        with translating_writes("cannot write the journal"), begin(self._journal) as cursor:
            if many:
                cursor.copy_expert(_COPY_MESSAGES, copy_text(rows))
            else:
                append_entries(cursor, rows)

    def commit(self, effects: Effects, standings: Standings | None = None) -> bool:
        """Store what a group of messages did and move the watermark, all or nothing.

        A group that lies at or below the watermark is stored already: it changes nothing. Values
        that PostgreSQL does not take are left out, and an alert says so. ``standings`` tells how
        the group has left the engines, where each key has its own.

        Returns:
            Whether something was put into the outbox.

        Raises:
            HistoryError: nothing was written, or the connection was lost; also when the group
                straddles the watermark, leaves out a message, or holds one that is not in the
                journal.
        """
        try:
            return self._commit(effects, standings)
        except Unstorable:
            # It raises an alert, so there is something to announce in any case.
            self._commit(spared(effects, self._refusal), standings)
            return True

    def place(self, standings: Standings) -> None:
        """Write down how a group whose effects are stored already has left the engines.

        Raises:
            HistoryError: nothing was written, or the connection was lost.
        """
        with self._transaction("cannot store what the engines wait for") as cursor:
            store_standings(cursor, standings, new=False)

    def displace(self) -> None:
        """The engines begin with the journal's first entry again.

        Raises:
            HistoryError: nothing was written, or the connection was lost.
        """
        with self._transaction("cannot forget what the engines wait for") as cursor:
            forget_standings(cursor)

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
        """Those of the given origins that the journal has a message of, received after ``since``.

        Raises:
            HistoryError: the journal cannot be read.
        """
        if not asked:
            return frozenset()
        with self._reading_journal() as cursor:
            cursor.execute(
                "select origin from store.messages where origin = any(%s) "
                "and received_at > coalesce(%s, '-infinity'::timestamptz)",
                (list(asked), since),
            )
            return frozenset(row[0] for row in cursor)

    def last_seq(self) -> int:
        """The journal's last sequence number; 0 while it is empty."""
        with self._reading_journal() as cursor:
            return _one(cursor, "select coalesce(max(seq), 0) from store.messages")

    def last_arrival(self) -> Instant | None:
        """The latest time of arrival among the journal's last entries; None while it is empty."""
        with self._reading_journal() as cursor:
            # Earlier versions gave times that could go back.
            cursor.execute(
                "select max(received) from "
                "(select received from store.messages order by seq desc limit %s) as m",
                (_LATEST,),
            )
            row = cursor.fetchone()
            return None if row is None else row[0]

    def watermark(self) -> int:
        """The last message whose effects are stored; 0 before the first."""
        with self._transaction("cannot read the watermark") as cursor:
            return _one(cursor, "select watermark from store.progress")

    def replay(self, after: int) -> Iterator[Record]:
        """The journal's messages above a sequence number, in order, a batch at a time.

        Raises:
            HistoryError: the journal cannot be read.
        """
        return map(record_of, journal_rows(self.url, after))

    def whole(self) -> bool:
        """Whether the journal still has all its entries: retention deletes the oldest."""
        with self._transaction("cannot read the journal") as cursor:
            return not _one(cursor, "select coalesce(max(seq), 0) - count(*) from store.messages")

    def last_accepted(self, kind: str, upto: int) -> Message | None:
        """The last entry of a kind that was accepted, not after ``upto``; None: there is none.

        Raises:
            HistoryError: the journal cannot be read.
        """
        with self._transaction("cannot read the journal") as cursor:
            cursor.execute(
                "select id, content, received, source from store.messages "
                "where kind = %s and status = 'accepted' and seq <= %s "
                "order by seq desc limit 1",
                (kind, upto),
            )
            row = cursor.fetchone()
        if row is None:
            return None
        name, content, received, source = row
        return Message(name, bytes(content), received, source)

    def rejected(self, ids: Collection[str]) -> frozenset[str]:
        """Those of some messages that were rejected.

        Raises:
            HistoryError: the journal cannot be read.
        """
        if not ids:
            return frozenset()
        with self._transaction("cannot read the journal") as cursor:
            cursor.execute(
                "select id from store.messages where status = 'rejected' and id = any(%s)",
                (list(ids),),
            )
            return frozenset(row[0] for row in cursor)

    def departed(self, stays: Collection[int]) -> frozenset[int]:
        """Those of some stays that have ended.

        Raises:
            HistoryError: the stays cannot be read.
        """
        with self._transaction("cannot read the stays") as cursor:
            cursor.execute("select stay from store.stays where stay = any(%s)", (list(stays),))
            return frozenset(row[0] for row in cursor)

    def told_until(self, message: str) -> Instant | None:
        """See :meth:`.Store.told_until`.

        Raises:
            HistoryError: the alerts cannot be read.
        """
        with self._transaction("cannot read the alerts") as cursor:
            # The ids are those of sensorstream.engine.elapsing.
            cursor.execute(
                "select max(time) from store.alerts where message_id = %s and starts_with(id, %s)",
                (message, f"{message}-t"),
            )
            row = cursor.fetchone()
            return None if row is None else row[0]

    def reported(self, entries: Collection[str]) -> Mapping[str, int]:
        """See :meth:`.Store.reported`.

        Raises:
            HistoryError: the alerts or reports cannot be read.
        """
        if not entries:
            return {}
        with self._transaction("cannot read the reports") as cursor:
            cursor.execute(
                "select split_part(id, '-', 1), max(split_part(id, '-', 2)::bigint) from ("
                "  select id from store.alerts where kind = %(kind)s union all"
                "  select id from store.incidents where kind = %(kind)s union all"
                "  select report_id from store.events where report_id is not null"
                ") told (id) where split_part(id, '-', 1) = any(%(entries)s) group by 1",
                {"kind": query_alerts.KIND, "entries": list(entries)},
            )
            return dict(cursor.fetchall())

    def record_ontology(self, version: OntologyVersion) -> bool:
        """Record that an ontology is in force, unless it is the one that was in force already.

        Returns:
            Whether it was recorded.

        Raises:
            HistoryError: nothing was written.
        """
        with self._transaction("cannot record the ontology") as cursor:
            cursor.execute("select from store.progress for update")
            cursor.execute(
                "select digest from store.ontologies where seq <= %s order by seq desc limit 1",
                (version.seq,),
            )
            if cursor.fetchone() == (version.digest,):
                return False
            # The one before it with that number was in force for no entry.
            cursor.execute("delete from store.ontologies where seq = %s", (version.seq,))
            record_ontologies(cursor, [version])
        return True

    def replace_inferred(self, added: Sequence[Ended], revoked: Sequence[Ended]) -> None:
        """Store intervals and delete others, all or nothing.

        Raises:
            HistoryError: nothing was written.
        """
        with self._transaction("cannot store what is inferred") as cursor:
            cursor.execute("select from store.progress for update")
            self._revoke(cursor, revoked)
            terms = (term for each in added for term in each.triple)
            numbers = self._dictionary.numbers(cursor, terms)
            self._partitions.make(cursor, (each.valid_to for each in added))
            cursor.copy_expert(_COPY_STATEMENTS, copy_text(statement_rows(added, numbers)))
            typed = {each.stay for each in chain(added, revoked) if each.triple[1] == RDF_TYPE}
            if typed:
                mend_class_sets(cursor, typed)
        self._dictionary.settle()

    def last_moment(self) -> Instant | None:
        """The time at which an individual left the window last; None: none has. O(stays)."""
        with self._transaction("cannot read the stays") as cursor:
            cursor.execute("select max(expired_at) from store.stays")
            row = cursor.fetchone()
            return None if row is None else row[0]

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        """Keep the engine's state as it was after message ``seq``, and drop old ones.

        Raises:
            HistoryError: nothing was written; also when the effects of ``seq`` are not stored
                yet, for a restart from such a state would skip them.
        """
        with self._transaction("cannot store a checkpoint") as cursor:
            watermark = _one(cursor, "select watermark from store.progress")
            if seq > watermark:
                raise HistoryError(
                    f"a checkpoint at message {seq} is ahead of the watermark {watermark}"
                )
            cursor.execute(
                "insert into store.checkpoints (seq, state) values (%s, %s) "
                "on conflict (seq) do update set state = excluded.state, created_at = now()",
                (seq, psycopg2.Binary(state)),
            )
            cursor.execute(
                "delete from store.checkpoints where seq not in "
                "(select seq from store.checkpoints order by seq desc limit %s)",
                (_CHECKPOINTS_KEPT,),
            )

    def checkpoints(self) -> list[tuple[int, bytes]]:
        """Number and state of the checkpoints that are kept, newest first."""
        with self._transaction("cannot read the checkpoints") as cursor:
            cursor.execute("select seq, state from store.checkpoints order by seq desc")
            return [(seq, bytes(state)) for seq, state in cursor]

    def drop_checkpoints(self, seqs: Collection[int]) -> None:
        """Keep some checkpoints no longer."""
        with self._transaction("cannot drop checkpoints") as cursor:
            cursor.execute("delete from store.checkpoints where seq = any(%s)", (list(seqs),))

    def _commit(
        self, effects: Effects, standings: Standings | None = None, *, trial: bool = False
    ) -> bool:
        """Store effects. A ``trial`` is undone at the end."""
        while True:
            alone = standings is None and not trial
            alone = alone and _is_plain(effects) and not self._lacks(effects)
            with self._transaction("cannot store effects", alone=alone) as cursor:
                if not alone and not self._prepare(cursor, effects):
                    return False
                written = self._write(cursor, effects)
                if written.result == "stored":
                    return False
                if written.result == "forget":
                    self._forget()
                    self._removals = written.removals
                    continue
                queued = written.queued
                if effects.reports:
                    queued = queue_reports(cursor, effects, self.timeline) or queued
                record_ontologies(cursor, effects.ontologies)
                settle_held(cursor, effects)
                if standings is not None:
                    store_standings(cursor, standings, new=True)
                if trial:
                    cursor.execute("rollback; begin")
            if trial:
                # Terms and partitions that it made are not there.
                self._forget()
            self._dictionary.settle()
            return queued

    def _refusal(self, effects: Effects) -> Unstorable | None:
        try:
            self._commit(effects, trial=True)
        except Unstorable as error:
            return error
        return None

    def _lacks(self, effects: Effects) -> bool:
        """Whether a partition may have to be made."""
        return self._partitions.lack(each.valid_to for each in effects.ended)

    def _prepare(self, cursor: PipelinedCursor, effects: Effects) -> bool:
        """Do what must be done before the rest is written; False: the effects are stored."""
        cursor.execute("select watermark, removals from store.progress for update")
        row = cursor.fetchone()
        if row is None:
            raise HistoryError("store.progress is empty: the store was tampered with")
        if effects.watermark <= row[0]:
            return False
        self._keep_up(row[1])
        self._partitions.make(cursor, (each.valid_to for each in effects.ended))
        self._revoke(cursor, effects.revoked)
        return True

    def _keep_up(self, removals: int) -> None:
        if removals != self._removals:
            self._forget()
            self._removals = removals

    def _revoke(self, cursor: PipelinedCursor, revoked: Sequence[Ended]) -> None:
        if revoked:
            terms = (term for each in revoked for term in each.triple)
            revoke(cursor, revoked, self._dictionary.numbers(cursor, terms))

    def _write(self, cursor: PipelinedCursor, effects: Effects) -> Written:
        """Write all that most groups consist of.

        Raises:
            HistoryError: the group leaves out an entry, or has one that is not in the journal.
        """
        found, asked = self._dictionary.remembered(_terms(effects))
        keys = [term_key(each) for each in asked]
        new = dict(zip(keys, asked, strict=True))
        places = {key: -place for place, key in enumerate(new, 1)}
        written = write_effects(
            cursor,
            effects,
            new=new,
            numbers=found | {each: places[key] for each, key in zip(asked, keys, strict=True)},
            removals=self._removals,
            durable=Writes.JOURNAL not in self._writes,
        )
        if written.result == "refused":
            explain(cursor, effects)
        if written.result == "written":
            self._dictionary.learn(asked, (written.terms[-1 - places[key]] for key in keys))
        return written

    def _forget(self) -> None:
        self._dictionary.forget()
        self._partitions.forget()

    def _lock(self) -> None:
        # Each lock lasts as long as what its connection writes, also after the process was killed.
        if Writes.JOURNAL in self._writes:
            self._lock_one(_JOURNAL_LOCK, self._journal)
        if Writes.EFFECTS in self._writes:
            self._lock_one(EFFECTS_LOCK, self._connection)

    def _connections(self) -> Collection[extensions.connection]:
        return {self._connection, self._journal}

    @contextmanager
    def _reading_journal(self) -> Iterator[PipelinedCursor]:
        with translating("cannot read the journal"), pipelined(self._journal) as cursor:
            yield cursor

    def _lock_one(self, key: int, connection: extensions.connection) -> None:
        deadline = time.monotonic() + _LOCK_PATIENCE
        while True:
            with translating("cannot lock the store"), pipelined(connection) as cursor:
                cursor.execute("select pg_try_advisory_lock(%s)", (key,))
                row = cursor.fetchone()
                if row is not None and row[0]:
                    return
            if time.monotonic() > deadline:
                raise HistoryError(
                    f"another process writes to {describe(self.url)}: stop it first, or give "
                    "this one a store of its own"
                )
            time.sleep(0.1)

    def _make_durable(self) -> None:
        # Whatever the server's default is: acknowledged means on disk.
        for each in self._connections():
            with translating("cannot prepare the writer"), pipelined(each) as cursor:
                cursor.execute("set synchronous_commit = on")

    def _check_timeline(self) -> None:
        with self._transaction("cannot read the time line") as cursor:
            cursor.execute(
                "insert into store.progress (watermark, timeline) values (0, %s) "
                "on conflict do nothing",
                (self.timeline.value,),
            )
            cursor.execute("select timeline from store.progress")
            row = cursor.fetchone()
            if row is None or row[0] != self.timeline.value:
                raise HistoryError(
                    f"{describe(self.url)} holds times of the line '{row and row[0]}', but "
                    f"time.line is '{self.timeline.value}'"
                )

    @contextmanager
    def _transaction(self, doing: str, *, alone: bool = False) -> Iterator[PipelinedCursor]:
        """One transaction: committed at the end, rolled back on any exception.

        One that consists of a single statement, ``alone``, begins and ends with it.
        """
        begin = single if alone else pipelined
        try:
            with translating_writes(doing), begin(self._connection) as cursor:
                yield cursor
        except BaseException:
            # Terms and partitions that it made are not there.
            self._forget()
            raise


def _connected(url: str) -> extensions.connection:
    connection = connect(url, application="sensorstream writer")
    connection.autocommit = True
    return connection


def _is_plain(effects: Effects) -> bool:
    """Whether they have nothing that few groups have."""
    return not (effects.revoked or effects.reports or effects.ontologies or effects.settled)


def _terms(effects: Effects) -> Iterator[Term]:
    """The terms of all that is stored."""
    for departure in effects.departures:
        yield departure.individual.name
    for each in effects.ended:
        yield from each.triple


def record_of(row: JournalRow) -> Record:
    """The record that a row of the journal is."""
    seq, name, source, received_at, received, content, status, kind, degraded, origin = row
    return Record(
        seq,
        Message(name, content, received, source),
        received_at,
        None if status is None else Status(status),
        kind,
        degraded,
        origin or "",
    )


def _one(cursor: extensions.cursor, query: str) -> int:
    cursor.execute(query)
    row = cursor.fetchone()
    if row is None:
        raise HistoryError("store.progress is empty: the store was tampered with")
    number: int = row[0]
    return number
