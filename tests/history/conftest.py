"""Stores to write histories with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from sensorstream.history.database import engine
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline
from tests.databases import Databases


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
