"""One embedded PostgreSQL for the whole run; a new database for each test that asks."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg2
import pytest

from sensorstream.history.embedded import start
from tests import waiting


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that PostgreSQL's own user can reach.

    Below pytest's ``tmp_path`` it could not when root runs the tests: every new run of pytest
    locks that folder again.
    """
    with TemporaryDirectory(prefix="sensorstream-test-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a running server's first database."""
    with TemporaryDirectory(prefix="sensorstream-test-") as name, start(Path(name)) as server:
        yield server.url
        # Nothing is worth keeping, and flushing a hundred databases takes a while.
        process = (server.folder / "cluster" / "postmaster.pid").read_text().split()[0]
        os.kill(int(process), signal.SIGQUIT)


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


@pytest.fixture
def eventually() -> Callable[..., None]:
    """See :func:`.waiting.eventually`."""
    return waiting.eventually
