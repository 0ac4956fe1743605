"""Opens the history of a deployment: that of the settings, or the embedded PostgreSQL.

It also dumps and restores the whole database by PostgreSQL's own pg_dump and pg_restore.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from psycopg2 import extensions
from sqlalchemy.engine import make_url

from sensorstream.errors import HistoryError
from sensorstream.history import embedded
from sensorstream.history.database import engine, one_value, opened, parameters_of
from sensorstream.history.embedded import binaries
from sensorstream.history.store import PostgresStore
from sensorstream.history.tables import STORE
from sensorstream.history.views import install_views
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import HistorySettings

_LOG = logging.getLogger(__name__)
_LOOK: Final = "cannot look into the database"
_TABLES: Final = "store.keys"
_VIEWS: Final = "history.messages"


def open_history(settings: HistorySettings, stack: ExitStack) -> str:
    """The URL of the history's PostgreSQL; without one in the settings, start the embedded one.

    Raises HistoryError if the embedded PostgreSQL does not start.
    """
    if settings.url:
        return settings.url
    server = embedded.start(settings.folder, settings.port)
    stack.callback(server.stop)
    if settings.port != server.port:
        _LOG.warning(
            "history.port is %d, but the embedded PostgreSQL ran already with %s: stop all that "
            "uses it, and start again",
            settings.port,
            server.port or "none",
        )
    return server.url


def open_kept(settings: HistorySettings, stack: ExitStack) -> str:
    """The URL of an existing history, with or without its running server; until ``stack`` closes.

    Raises HistoryError if it cannot be opened, or no server has ever written to it.
    """
    never = (
        "there is no history yet: the server of this deployment has never run, and 'backfill' has "
        "filled nothing in"
    )
    if not settings.url and not (settings.folder / "cluster").exists():
        raise HistoryError(never)
    url = open_history(settings, stack)
    if not _holds(url, _VIEWS):
        raise HistoryError(never)
    return url


def open_shown(
    settings: HistorySettings, timeline: Timeline, schema: Callable[[], Schema], stack: ExitStack
) -> str:
    """The URL as :func:`open_prepared`, with views; missing ones are made for this schema."""
    url = open_prepared(settings, timeline, stack)
    if not _holds(url, _VIEWS):
        database = engine(url, pool_size=1)
        stack.callback(database.dispose)
        install_views(database, schema(), timeline)
    return url


def _holds(url: str, relation: str) -> bool:
    with opened(url, _LOOK) as cursor:
        return bool(one_value(cursor, "select to_regclass(%s) is not null", (relation,)))


def open_prepared(settings: HistorySettings, timeline: Timeline, stack: ExitStack) -> str:
    """The URL of the history, prepared if no server has written to it; until ``stack`` closes.

    A running server continues. Raises HistoryError if the history cannot be opened or prepared, or
    its server is of an older version.
    """
    url = open_history(settings, stack)
    if not _holds(url, _TABLES):
        PostgresStore.open(url, timeline).close()
    return url


def dump(url: str, file: Path) -> None:
    """Write a database to a new file, as of one moment, without disturbing its writers.

    Raises HistoryError if pg_dump failed.
    """
    _run("pg_dump", url, ["--format=custom", "--no-owner", "--no-acl", f"--file={file}"])


def fill(url: str, file: Path) -> None:
    """Fill an empty database from a file of :func:`dump`: all of it or nothing.

    Raises HistoryError if the database holds a history already, or pg_restore failed.
    """
    with opened(url, _LOOK) as cursor:
        if one_value(cursor, "select true from pg_namespace where nspname = %s", (STORE,)):
            raise HistoryError(
                "the database holds a history already, which is not overwritten: give an empty one "
                "(history.url, or history.folder)"
            )
    _run("pg_restore", url, ["--no-owner", "--no-acl", "--single-transaction", str(file)])
    # A dump has no statistics, and autovacuum never makes those of all partitions together.
    with opened(url, "the database is filled, but cannot be analysed") as cursor:
        cursor.execute("analyze")


def _run(program: str, url: str, arguments: Sequence[str]) -> None:
    parsed = make_url(url)
    told = parameters_of(parsed.set(password=None))
    environment = {name: value for name, value in os.environ.items() if name[:2] != "PG"}
    if parsed.password:
        # Not in the arguments, which other users can see.
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
