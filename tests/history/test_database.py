from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg2
import pytest
from psycopg2 import extensions
from sqlalchemy import make_url

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, engine, pipelined
from sensorstream.history.read_only_sql import open_reader
from sensorstream.history.reader_role import reader_name
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline


@pytest.fixture
def debian(store: PostgresStore) -> str:
    """A history in a database with the defaults of a PostgreSQL of Debian's."""
    pool = engine(store.url, pool_size=1)
    install_views(pool, Schema(), Timeline.INTEGER)
    pool.dispose()
    name = make_url(store.url).database or ""
    reader = f'alter role "{reader_name(name)}" in database "{name}" set'
    with closing(connect(store.url)) as made, made, made.cursor() as cursor:
        cursor.execute(f'alter database "{name}" set jit = on')
        cursor.execute(f"alter database \"{name}\" set timezone = 'Asia/Tokyo'")
        cursor.execute(f"{reader} jit = on")
    return store.url


def test_every_connection_compiles_nothing_whatever_the_server_says(debian: str) -> None:
    pool = engine(debian, pool_size=1)
    told = {}
    with pool.connect() as connection:
        row = connection.exec_driver_sql(_ASKED).one()
        told["pool"] = tuple(row)
    pool.dispose()
    for name, made in (("connection", connect(debian)), ("reader", open_reader(debian))):
        with closing(made) as each, each.cursor() as cursor:
            cursor.execute(_ASKED)
            told[name] = cursor.fetchone() or ()
    assert told == dict.fromkeys(("pool", "connection", "reader"), ("off", "UTC"))


def test_what_the_url_sets_beside_that_holds_for_pools_too(store: PostgresStore) -> None:
    url = f"{store.url}&options=-c%20work_mem%3D7MB"
    pool = engine(url, pool_size=1)
    with pool.connect() as connection:
        told = connection.exec_driver_sql("show work_mem").scalar()
    pool.dispose()
    with closing(connect(url)) as made, made.cursor() as cursor:
        cursor.execute("show work_mem")
        assert (told, cursor.fetchone()) == ("7MB", ("7MB",))


_ASKED = "select current_setting('jit'), current_setting('TimeZone')"


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


@pytest.mark.parametrize("url", ["mysql://localhost/x", "no url at all"])
def test_only_postgresql_urls_are_taken(url: str) -> None:
    with pytest.raises(HistoryError, match="postgresql://"):
        PostgresStore.open(url, Timeline.INTEGER)


def test_a_password_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HistoryError, match="cannot connect") as caught:
        PostgresStore.open("postgresql://me:hunter2@127.0.0.1:1/none", Timeline.INTEGER)
    assert "hunter2" not in str(caught.value)
