"""The history's whole database as a file, by PostgreSQL's own pg_dump and pg_restore."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from psycopg2 import extensions
from sqlalchemy.engine import make_url

from sensorstream.errors import HistoryError
from sensorstream.history.database import opened
from sensorstream.history.embedded import binaries
from sensorstream.history.tables import STORE


def dump(url: str, file: Path) -> None:
    """Write a database to a new file, as it is at one moment; who writes to it is not disturbed.

    Raises:
        HistoryError: pg_dump failed.
    """
    _run("pg_dump", url, ["--format=custom", "--no-owner", "--no-acl", f"--file={file}"])


def fill(url: str, file: Path) -> None:
    """Fill an empty database with what a file of :func:`dump` holds: all of it or nothing.

    Raises:
        HistoryError: the database holds a history already, or pg_restore failed.
    """
    with opened(url, "cannot look into the database") as cursor:
        cursor.execute("select 1 from pg_namespace where nspname = %s", (STORE,))
        if cursor.fetchone() is not None:
            raise HistoryError(
                "the database holds a history already, which is not overwritten: give an empty one "
                "(history.url, or history.folder)"
            )
    _run("pg_restore", url, ["--no-owner", "--no-acl", "--single-transaction", str(file)])
    # A dump has no statistics, and autovacuum never makes those of partitions together.
    with opened(url, "the database is filled, but cannot be analysed") as cursor:
        cursor.execute("analyze")


def _run(program: str, url: str, arguments: Sequence[str]) -> None:
    parsed = make_url(url)
    told = {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in parsed.query.items()
    }
    told |= parsed.set(password=None).translate_connect_args(username="user", database="dbname")
    environment = {name: value for name, value in os.environ.items() if name[:2] != "PG"}
    if parsed.password:
        # Not in the arguments, which others can see.
        environment["PGPASSWORD"] = str(parsed.password)
    place = f"--dbname={extensions.make_dsn(**told)}"
    try:
        done = subprocess.run(
            [binaries() / program, place, "--no-password", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise HistoryError(f"PostgreSQL's {program} cannot be run: {error}") from error
    if done.returncode:
        last = " ".join(done.stderr.split("\n")[:4]).strip()
        raise HistoryError(f"PostgreSQL's {program} failed: {last}")
