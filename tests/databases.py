"""Databases of one server, a new one for each test that asks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import psycopg2
from sqlalchemy import make_url


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
