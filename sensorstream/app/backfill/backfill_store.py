"""Stores what documents say in history, once for each content; safe beside a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from psycopg2.extras import execute_values

from sensorstream.app.backfill.document_mapping import MappedDocument
from sensorstream.engine.message_stages import departure, statements_of
from sensorstream.history.copying import RowShape
from sensorstream.history.database import connect, one_value, translating
from sensorstream.history.partitions import Partitions, partitions
from sensorstream.history.store_rows import STATEMENTS, STAYS, repeated, statement_rows, stay_rows
from sensorstream.history.term_dictionary import Dictionary
from sensorstream.model.timeline import Timeline

if TYPE_CHECKING:
    from psycopg2 import extensions

_WITH_AGAIN: Final = RowShape(STATEMENTS.table, (*STATEMENTS.columns, "again"))
# The engine numbers the stays that go straight to history -1, -2, ...; these begin further down.
_FIRST_STAY: Final = 2**40


class Filler:
    """Writes documents into history; a context manager gives one, see :func:`filler`."""

    def __init__(self, connection: extensions.connection, timeline: Timeline) -> None:
        self._connection = connection
        self._dictionary = Dictionary()
        self._partitions = Partitions(timeline)
        self._removals = -1

    def unknown(self, digests: Sequence[bytes]) -> set[bytes]:
        """The digests whose contents are not in history yet."""
        with self._connection as connection, connection.cursor() as cursor:
            cursor.execute(
                "select digest from store.backfilled where digest = any(%s)", (list(digests),)
            )
            return set(digests) - {bytes(digest) for (digest,) in cursor.fetchall()}

    def store(self, documents: Sequence[MappedDocument]) -> int:
        """Store what documents say, all or nothing, but for those that are there already; returns
        the number of those stored.
        """
        try:
            with self._connection as connection, connection.cursor() as cursor:
                stored = self._store(cursor, {each.digest: each for each in documents})
        except BaseException:
            # Terms and partitions that it made are gone again.
            self._forget()
            raise
        self._dictionary.settle()
        return stored

    def analyze(self) -> None:
        """Let PostgreSQL's planner know what was stored."""
        with self._connection as connection, connection.cursor() as cursor:
            self._partitions.analyze_used(cursor)

    def _store(self, cursor: extensions.cursor, documents: Mapping[bytes, MappedDocument]) -> int:
        # Either a server that stores effects waits here, or this does: no term gets two numbers.
        last_term = one_value(cursor, "select last_term from store.progress for update")
        removals = one_value(cursor, "select removals from store.progress")
        if removals != self._removals:
            self._forget()
        numbers = _new(cursor, documents.values())
        query = "select coalesce(-min(stay), %(first)s) from store.stays where stay <= -%(first)s"
        stays = count(one_value(cursor, query, {"first": _FIRST_STAY}) + 1)
        gone = [
            (-numbers[digest], departure(event, *part, next(stays)))
            for digest in numbers
            for event in documents[digest].events
            for part in statements_of(event).items()
        ]
        ended = [(message, each) for message, one in gone for each in one.ended()]
        terms = self._dictionary.numbers(
            cursor,
            chain(
                (one.individual.name for _, one in gone),
                (term for _, each in ended for term in each.triple),
            ),
        )
        before = len(partitions(cursor))
        self._partitions.make(cursor, {each.valid_to for _, each in ended})
        if len(partitions(cursor)) != before:
            # The server must learn of them before it makes its own.
            removed = "update store.progress set removals = removals + 1 returning removals"
            removals = one_value(cursor, removed)
        self._removals = removals
        said = [row for message, each in ended for row in statement_rows([each], terms, message)]
        # A triple with a new term was never said before.
        again = (
            (*row, before or max(terms[term] for term in each.triple) <= last_term)
            for row, before, (_, each) in zip(said, repeated(said), ended, strict=True)
        )
        _WITH_AGAIN.copy(cursor, again)
        STAYS.copy(
            cursor, (row for message, one in gone for row in stay_rows([one], terms, message))
        )
        return len(numbers)

    def _forget(self) -> None:
        self._dictionary.forget()
        self._partitions.forget()


def _new(cursor: extensions.cursor, documents: Iterable[MappedDocument]) -> dict[bytes, int]:
    """The numbers of those documents that are not stored yet."""
    rows = execute_values(
        cursor,
        "insert into store.backfilled (digest, name) values %s "
        "on conflict (digest) do nothing returning digest, id",
        [(each.digest, each.name) for each in documents],
        fetch=True,
    )
    return {bytes(digest): number for digest, number in rows}


@contextmanager
def filler(url: str, timeline: Timeline) -> Iterator[Filler]:
    """Write into the history at ``url``; raises HistoryError if it cannot be reached or written."""
    with (
        translating("cannot fill history"),
        closing(connect(url, application="sensorstream backfill")) as connection,
    ):
        yield Filler(connection, timeline)
