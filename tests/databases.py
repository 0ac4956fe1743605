"""Databases of one server, a new one for each test that asks, and what a test does with one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import psycopg2
from sqlalchemy import make_url

from sensorstream.history.database import engine
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline


@dataclass
class Databases:
    """Called, it makes a database and gives its URL."""

    server: str
    """The URL of another database of the server."""
    prefix: str
    template: str
    over: list[str] = field(default_factory=list)
    """Of tests that are over: removed when the next one is made, as nobody uses them then."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __call__(self) -> str:
        name = f"{self.prefix}{next(self._numbers)}"
        with closing(psycopg2.connect(self.server)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                while self.over:
                    before = make_url(self.over.pop()).database
                    cursor.execute(f"drop database {before} with (force)")
                cursor.execute(
                    f"create database {name} template {self.template} strategy file_copy"
                )
        return self.server.replace("/sensorstream?", f"/{name}?")


def rows(url: str, *statements: str, values: Any = None) -> list[tuple[Any, ...]]:
    """The rows of the last of some statements, which are one transaction; times are in UTC."""
    with (
        closing(psycopg2.connect(url, options="-c TimeZone=UTC")) as connection,
        connection,
        connection.cursor() as cursor,
    ):
        for each in statements:
            cursor.execute(each, values)
        return cursor.fetchall() if cursor.description else []


def make_views(
    url: str, schema: Schema | None = None, timeline: Timeline = Timeline.INTEGER
) -> None:
    """Make the views of a history."""
    database = engine(url, pool_size=1)
    install_views(database, schema or Schema(), timeline)
    database.dispose()


def make_history(
    url: str, schema: Schema | None = None, timeline: Timeline = Timeline.INTEGER
) -> None:
    """Make an empty history with its views, as a server does that stops at once."""
    PostgresStore.open(url, timeline).close()
    make_views(url, schema, timeline)
