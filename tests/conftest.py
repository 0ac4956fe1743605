"""One embedded PostgreSQL for the whole run; a new database for each test that asks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import psycopg2
import pytest

from sensorstream.history.embedded import start


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a running server's first database."""
    with start(tmp_path_factory.mktemp("postgres")) as server:
        yield server.url


@pytest.fixture(scope="session")
def new_database(postgres: str) -> Callable[[], str]:
    """Makes empty databases; gives their URLs."""
    numbers = itertools.count(1)

    def create() -> str:
        name = f"test{next(numbers)}"
        connection = psycopg2.connect(postgres)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"create database {name}")
        connection.close()
        return postgres.replace("/sensorstream?", f"/{name}?")

    return create


@pytest.fixture
def database(new_database: Callable[[], str]) -> str:
    """An empty database of this test's own."""
    return new_database()
