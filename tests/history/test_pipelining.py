"""Several statements in one round trip: the same as one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC
from decimal import Decimal
from typing import Any

import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg2 import extensions
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    Text,
)

from sensorstream.history import pipelining
from sensorstream.history.pipelining import PipelinedCursor, pipelined, put_rows
from sensorstream.history.store import PostgresStore
from sensorstream.model.terms import IRI, Triple
from tests.history.test_store import EX, departure, effects, entry

COLUMNS = ("n", "t", "b", "d", "r", "y", "m")
TABLE = Table(
    "tried",
    MetaData(),
    Column("n", BigInteger),
    Column("t", Text),
    Column("b", LargeBinary),
    Column("d", Double),
    Column("r", Numeric),
    Column("y", Boolean),
    Column("m", DateTime(timezone=True)),
)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.none()
        | st.text()
        | st.sampled_from(["", "NULL", "null", "{a,b}", '\\"', "'';", "\x00"]),
        st.none() | st.binary(),
        st.none() | st.floats(),
        st.none() | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30)),
        st.none() | st.booleans(),
        st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture
def connection(url: str) -> Iterator[extensions.connection]:
    made = psycopg2.connect(url, options="-c TimeZone=UTC")
    made.autocommit = True
    with made.cursor() as cursor:
        cursor.execute(
            "create temporary table tried (n bigint, t text, b bytea, d double precision, "
            "r numeric, y boolean, m timestamptz)"
        )
    yield made
    made.close()


def stored(connection: extensions.connection) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute("select * from tried")
        found = [
            tuple(
                bytes(cell)
                if isinstance(cell, memoryview)
                else "NaN"
                if isinstance(cell, float) and math.isnan(cell)
                else cell
                for cell in row
            )
            for row in cursor.fetchall()
        ]
        cursor.execute("truncate tried")
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_rows_are_stored_as_copy_stores_them(
    connection: extensions.connection, rows: list[tuple[Any, ...]]
) -> None:
    with pipelined(connection) as cursor:
        put_rows(cursor, TABLE, COLUMNS, rows)
    few = stored(connection)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelining, "_FEW", 0)
        with pipelined(connection) as cursor:
            put_rows(cursor, TABLE, COLUMNS, rows)
    assert few == stored(connection)
    assert len(few) == len(rows)


def test_nothing_is_stored_if_a_statement_fails_and_the_next_transaction_works(
    connection: extensions.connection,
) -> None:
    row = (1, "a", b"", 0.5, Decimal(1), True, None)

    def fail_there() -> None:
        with pipelined(connection) as cursor:
            put_rows(cursor, TABLE, COLUMNS, [row])
            cursor.later("select 1/0")
            cursor.later("insert into tried (n) values (2)")

    def fail_here() -> None:
        with pipelined(connection) as cursor:
            put_rows(cursor, TABLE, COLUMNS, [row])
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


def test_a_message_costs_one_round_trip_for_the_journal_and_three_for_its_effects(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read first, the classes of the stay, all that is written."""
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
    store.commit(effects(2, 2, departures=[departure(2, *triples)]))
    assert len(sent) == 4
