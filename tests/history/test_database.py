from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import make_url

from sensorstream.history.database import connect, engine
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
