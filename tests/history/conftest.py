"""Stores to write histories with, and a history to ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from sensorstream.history.database import engine
from sensorstream.history.store import PostgresStore
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from tests.databases import Databases, make_history, rows


@pytest.fixture
def url(new_database: Databases) -> Iterator[str]:
    """A database of this test's own, with empty tables."""
    url = new_database()
    yield url
    new_database.over.append(url)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    """The writer of a new store on the integer time line."""
    with PostgresStore.open(url, Timeline.INTEGER) as opened:
        yield opened


@pytest.fixture
def database(store: PostgresStore) -> Iterator[Engine]:
    """Connections to the database of the store."""
    database = engine(store.url)
    yield database
    database.dispose()


@pytest.fixture(scope="module")
def history(new_database: Databases) -> str:
    """The URL of a history with views, some messages and a webhook with a secret."""
    url = new_database()
    make_history(url, Schema(classes=frozenset({IRI("http://example.org/Human")})))
    rows(
        url,
        "insert into store.messages select n, 'm' || n, 'rest', now(), n, ''::bytea, 'accepted' "
        "from generate_series(1, 50) n",
        "insert into store.webhooks (id, url, secret, created_at, number, place) "
        "values ('w', 'http://x', 'hush', now(), 1, 0)",
    )
    return url
