"""One embedded PostgreSQL for all tests of the history; a new database for each test."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg2
import pytest

from sensorstream.history.embedded import start
from sensorstream.history.store import Store
from sensorstream.model.timeline import Timeline

_NUMBERS = itertools.count(1)


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that PostgreSQL's own user can reach.

    Below pytest's ``tmp_path`` it could not when root runs the tests: every new run of pytest
    locks that folder again.
    """
    with TemporaryDirectory(prefix="sensorstream-test-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a running server's first database."""
    with TemporaryDirectory(prefix="sensorstream-test-") as name, start(Path(name)) as postgres:
        yield postgres.url
        # Nothing is worth keeping, and flushing a hundred databases takes a while.
        process = (postgres.folder / "cluster" / "postmaster.pid").read_text().split()[0]
        os.kill(int(process), signal.SIGQUIT)


def new_database(server: str) -> str:
    name = f"test{next(_NUMBERS)}"
    connection = psycopg2.connect(server)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"create database {name}")
    connection.close()
    return server.replace("/sensorstream?", f"/{name}?")


@pytest.fixture
def url(server: str) -> str:
    """A database of this test's own, still empty."""
    return new_database(server)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The writer of a new store on the integer time line."""
    with Store.open(url, Timeline.INTEGER) as opened:
        yield opened
