"""The store's one writer: journal first, then effects and watermark together.

A message is acknowledged once :meth:`PostgresStore.append` has it on disk. Its effects on the
history are written later by :meth:`PostgresStore.commit`, in one transaction with the watermark,
the number of the last message whose effects are stored. After a crash only the messages above the
watermark are processed again, so every effect is stored exactly once: docs/operate/storage.md has
the argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, Final

import psycopg2
from psycopg2 import extensions

from sensorstream.engine import query_alerts
from sensorstream.errors import HistoryError
from sensorstream.history.database import (
    PipelinedCursor,
    connect,
    describe,
    engine,
    one_value,
    pipelined,
    single,
    transaction,
    translating,
    translating_writes,
)
from sensorstream.history.effects_store import EffectsStore, record_ontologies, watermark
from sensorstream.history.effects_writer import (
    Standings,
    Writes,
    forget_standings,
    lock,
    store_standings,
)
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.migrations import migrate
from sensorstream.history.routines import append_entries, make_routines
from sensorstream.history.store_rows import message_rows
from sensorstream.journal.records import Effects, OntologyVersion, Record
from sensorstream.model.events import Ended, Message
from sensorstream.model.timeline import Instant, Timeline

_CHECKPOINTS: Final = 2
"""The number of checkpoints that are kept."""
_LATEST: Final = 1000
"""The number of entries among which the latest arrival is searched."""


_IS_WHOLE: Final = """
    select coalesce(max(seq), 0) =
        count(*) filter (where not starts_with(coalesce(origin, ''), 'topic:')) + coalesce((
            select sum((part ->> 3)::bigint - (part ->> 2)::bigint)
            from store.messages t, jsonb_array_elements(convert_from(t.content, 'UTF8')::jsonb) part
            where t.kind = 'topic' and t.kind <> 'message'
        ), 0)
    from store.messages
"""
"""Whether all numbers are there, those of messages that stay in topics included."""


class PostgresStore(AbstractContextManager["PostgresStore"]):
    """The persistent knowledge base, as the one process that writes it sees it.

    A :class:`.Store` of the journal in PostgreSQL; its methods are described there.

    The journal has a connection of its own: :meth:`append`, :meth:`origins` and :meth:`last_seq`
    may be called while another thread stores effects, and :meth:`replay` reads on a third one.
    Otherwise it is not thread-safe. After a lost connection every call raises
    :class:`HistoryError`: it is not known whether the last commit arrived, so open a new store, and
    continue from its checkpoint and watermark.
    """

    def __init__(self, url: str, timeline: Timeline, writes: Writes = Writes.ALL) -> None:
        """Use :meth:`open` instead."""
        self.url = url
        self.timeline = timeline
        self._connection = _connected(url)
        self._journal = _connected(url) if writes is Writes.ALL else self._connection
        # The owner of the journal writes effects again that a crash has lost; a reader elsewhere,
        # as Spark, continues after the effects it has seen stored.
        self._effects = EffectsStore(
            self._connection, timeline, durable=Writes.JOURNAL not in writes
        )

    @classmethod
    def open(cls, url: str, timeline: Timeline, writes: Writes = Writes.ALL) -> PostgresStore:
        """Become the writer of a store, or of a part of it; creates or upgrades its schema.

        Raises HistoryError if the database cannot be reached or prepared, another process writes to
        it, or it was filled with times of another time line.
        """
        store = cls(url, timeline, writes)
        try:
            if Writes.JOURNAL in writes:
                lock(Writes.JOURNAL, store._journal, url)
            if Writes.EFFECTS in writes:
                lock(Writes.EFFECTS, store._connection, url)
            database = engine(url, pool_size=1)
            try:
                migrate(database)
            finally:
                database.dispose()
            for each in store._connections():
                with translating("cannot prepare the writer"), pipelined(each) as cursor:
                    # Independent of the server's default: acknowledged means on disk.
                    cursor.execute("set synchronous_commit = on")
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, records: Sequence[Record]) -> None:
        with translating_writes("cannot write the journal"), single(self._journal) as cursor:
            append_entries(cursor, message_rows(records))

    def commit(self, effects: Effects, standings: Standings | None = None) -> bool:
        """See :meth:`.Store.commit`.

        Values that PostgreSQL refuses are left out, and an alert names them. ``standings`` are the
        states of the engines after the group, where each key has its own.
        """
        return self._effects.commit(effects, standings)

    def place(self, standings: Standings) -> None:
        """Store the states of the engines after a group whose effects are stored already.

        Raises HistoryError if nothing was written, or the connection was lost.
        """
        with self._transaction("cannot store what the engines wait for") as cursor:
            store_standings(cursor, standings, new=False)

    def displace(self) -> None:
        """Let the engines begin with the journal's first entry again.

        Raises HistoryError if nothing was written, or the connection was lost.
        """
        with self._transaction("cannot forget what the engines wait for") as cursor:
            forget_standings(cursor)

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
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
        with self._reading_journal() as cursor:
            return int(one_value(cursor, "select coalesce(max(seq), 0) from store.messages"))

    def last_arrival(self) -> Instant | None:
        with self._reading_journal() as cursor:
            # Earlier versions stored times that could go back.
            query = (
                "select max(received) from "
                "(select received from store.messages order by seq desc limit %s) as m"
            )
            found: Instant | None = one_value(cursor, query, (_LATEST,))
            return found

    def watermark(self) -> int:
        with self._transaction("cannot read the watermark") as cursor:
            return watermark(cursor)

    def replay(self, after: int) -> Iterator[Record]:
        """See :meth:`.Store.replay`; entries are read in batches, on a connection of its own."""
        return map(record_of, journal_rows(self.url, after))

    def whole(self) -> bool:
        return self._rows("cannot read the journal", _IS_WHOLE) == [(True,)]

    def last_accepted(self, kind: str, upto: int) -> Message | None:
        query = (
            "select id, content, received, source from store.messages "
            "where kind = %s and coalesce(status, 'accepted') = 'accepted' and seq <= %s "
            "order by seq desc limit 1"
        )
        for name, content, received, source in self._rows(
            "cannot read the journal", query, kind, upto
        ):
            return Message(name, bytes(content), received, source)
        return None

    def rejected(self, ids: Collection[str]) -> frozenset[str]:
        query = "select id from store.messages where status = 'rejected' and id = any(%s)"
        rows = self._rows("cannot read the journal", query, list(ids)) if ids else ()
        return frozenset(name for (name,) in rows)

    def departed(self, stays: Collection[int]) -> frozenset[int]:
        query = "select stay from store.stays where stay = any(%s)"
        return frozenset(row[0] for row in self._rows("cannot read the stays", query, list(stays)))

    def told_until(self, message: str) -> Instant | None:
        # The ids are those of sensorstream.engine.elapsed_time.
        query = "select max(time) from store.alerts where message_id = %s and starts_with(id, %s)"
        found: Instant | None
        ((found,),) = self._rows("cannot read the alerts", query, message, f"{message}-t")
        return found

    def reported(self, entries: Collection[str]) -> Mapping[str, int]:
        query = (
            "select split_part(id, '-', 1), max(split_part(id, '-', 2)::bigint) from ("
            "  select id from store.alerts where kind = %s union all"
            "  select id from store.incidents where kind = %s union all"
            "  select report_id from store.events where report_id is not null"
            ") told (id) where split_part(id, '-', 1) = any(%s) group by 1"
        )
        asked = (query_alerts.KIND, query_alerts.KIND, list(entries))
        return dict(self._rows("cannot read the reports", query, *asked)) if entries else {}

    def record_ontology(self, version: OntologyVersion) -> bool:
        """Record that an ontology is in force, unless it was already; return whether it was
        recorded.

        Raises HistoryError if nothing was written.
        """
        with self._transaction("cannot record the ontology") as cursor:
            cursor.execute("select from store.progress for update")
            query = "select digest from store.ontologies where seq <= %s order by seq desc limit 1"
            if one_value(cursor, query, (version.seq,)) == version.digest:
                return False
            # An earlier version with that number was in force for no entry.
            cursor.execute("delete from store.ontologies where seq = %s", (version.seq,))
            record_ontologies(cursor, [version])
        return True

    def replace_inferred(self, added: Sequence[Ended], revoked: Sequence[Ended]) -> None:
        """Store intervals and delete others; raises HistoryError if nothing was written."""
        self._effects.replace_inferred(added, revoked)

    def last_moment(self) -> Instant | None:
        """The time at which an individual left the window last, or None. O(stays)."""
        query = "select max(expired_at) from store.stays"
        found: Instant | None
        ((found,),) = self._rows("cannot read the stays", query)
        return found

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        with self._transaction("cannot store a checkpoint") as cursor:
            stored = watermark(cursor)
            if seq > stored:
                raise HistoryError(
                    f"a checkpoint at message {seq} is ahead of the watermark {stored}"
                )
            cursor.execute(
                "insert into store.checkpoints (seq, state) values (%s, %s) "
                "on conflict (seq) do update set state = excluded.state, created_at = now()",
                (seq, psycopg2.Binary(state)),
            )
            cursor.execute(
                "delete from store.checkpoints where seq not in "
                "(select seq from store.checkpoints order by seq desc limit %s)",
                (_CHECKPOINTS,),
            )

    def checkpoints(self) -> list[tuple[int, bytes]]:
        query = "select seq, state from store.checkpoints order by seq desc"
        rows = self._rows("cannot read the checkpoints", query)
        return [(seq, bytes(state)) for seq, state in rows]

    def drop_checkpoints(self, seqs: Collection[int]) -> None:
        with self._transaction("cannot drop checkpoints") as cursor:
            cursor.execute("delete from store.checkpoints where seq = any(%s)", (list(seqs),))

    def _connections(self) -> Collection[extensions.connection]:
        return {self._connection, self._journal}

    @contextmanager
    def _reading_journal(self) -> Iterator[PipelinedCursor]:
        with translating("cannot read the journal"), pipelined(self._journal) as cursor:
            yield cursor

    def _check_timeline(self) -> None:
        with self._transaction("cannot read the time line") as cursor:
            cursor.execute(
                "insert into store.progress (watermark, timeline) values (0, %s) "
                "on conflict do nothing",
                (self.timeline.value,),
            )
            found = one_value(cursor, "select timeline from store.progress")
            if found != self.timeline.value:
                raise HistoryError(
                    f"{describe(self.url)} holds times of the line '{found}', but "
                    f"time.line is '{self.timeline.value}'"
                )

    def _rows(self, doing: str, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._transaction(doing) as cursor:
            cursor.execute(query, values)
            return cursor.fetchall()

    def _transaction(self, doing: str) -> AbstractContextManager[PipelinedCursor]:
        return transaction(self._connection, doing)


def _connected(url: str) -> extensions.connection:
    connection = connect(url, application="sensorstream writer")
    connection.autocommit = True
    return connection
