"""Stores to write histories with."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    """A database of this test's own, still empty."""
    return new_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    """The writer of a new store on the integer time line."""
    with PostgresStore.open(url, Timeline.INTEGER) as opened:
        yield opened
