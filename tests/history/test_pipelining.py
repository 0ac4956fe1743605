"""Several statements in one round trip: the same as one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg2
import pytest
from psycopg2 import extensions

from sensorstream.history.database import PipelinedCursor, pipelined
from sensorstream.history.store import PostgresStore
from sensorstream.model.terms import IRI, Triple
from tests.history.test_store import EX, alert, departure, effects, entry

ROW = "insert into tried values (1, 'a')"


@pytest.fixture
def connection(url: str) -> Iterator[extensions.connection]:
    made = psycopg2.connect(url, options="-c TimeZone=UTC")
    made.autocommit = True
    with made.cursor() as cursor:
        cursor.execute("create temporary table tried (n bigint, t text)")
    yield made
    made.close()


def stored(connection: extensions.connection) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute("select * from tried")
        found = cursor.fetchall()
        cursor.execute("truncate tried")
    return found


def test_nothing_is_stored_if_a_statement_fails_and_the_next_transaction_works(
    connection: extensions.connection,
) -> None:
    def fail_there() -> None:
        with pipelined(connection) as cursor:
            cursor.later(ROW)
            cursor.later("select 1/0")
            cursor.later("insert into tried (n) values (2)")

    def fail_here() -> None:
        with pipelined(connection) as cursor:
            cursor.later(ROW)
            cursor.execute("select count(*) from tried")
            assert cursor.fetchone() == (1,)
            raise KeyError

    with pytest.raises(psycopg2.errors.DivisionByZero):
        fail_there()
    with pytest.raises(KeyError):
        fail_here()
    assert stored(connection) == []
    with pipelined(connection) as cursor:
        cursor.later("insert into tried (n) values (%s)", (3,))
    assert [each[0] for each in stored(connection)] == [3]


def test_a_message_costs_one_round_trip_for_the_journal_and_one_for_its_effects(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = IRI(f"{EX}human-1")
    triples: list[Triple] = [(human, IRI(f"{EX}knows"), IRI(f"{EX}human-{n}")) for n in range(5)]
    store.append([entry(1)])
    store.commit(effects(1, 1, departures=[departure(1, *triples)]))
    sent: list[str] = []
    execute = PipelinedCursor.execute

    def counted(self: PipelinedCursor, query: Any, values: Any = None) -> None:
        sent.append(str(query))
        execute(self, query, values)

    monkeypatch.setattr(PipelinedCursor, "execute", counted)
    monkeypatch.setattr(PipelinedCursor, "copy_expert", None)
    store.append([entry(2)])
    assert len(sent) == 1
    store.commit(effects(2, 2, departures=[departure(2, *triples)], alerts=[alert("m2-1")]))
    assert len(sent) == 2
