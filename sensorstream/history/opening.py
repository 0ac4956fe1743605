"""Opens the history of a deployment: that of the settings, or the embedded PostgreSQL."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack, closing

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history import embedded
from sensorstream.history.database import connect, engine
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings import HistorySettings

_LOG = logging.getLogger(__name__)


def open_history(settings: HistorySettings, stack: ExitStack) -> str:
    """The URL of the history's PostgreSQL; without one in the settings, the embedded one starts.

    Raises:
        HistoryError: the embedded PostgreSQL does not start.
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

    Raises:
        HistoryError: it cannot be opened, or no server has ever written to it.
    """
    never = (
        "there is no history yet: the server of this deployment has never run, and 'backfill' has "
        "filled nothing in"
    )
    if not settings.url and not (settings.folder / "cluster").exists():
        raise HistoryError(never)
    url = open_history(settings, stack)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        if not _shows(cursor):
            raise HistoryError(never)
    return url


def open_shown(
    settings: HistorySettings, timeline: Timeline, schema: Callable[[], Schema], stack: ExitStack
) -> str:
    """As :func:`open_prepared`; its views are there, too: if need be, those for this schema."""
    url = open_prepared(settings, timeline, stack)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        shown = _shows(cursor)
    if not shown:
        database = engine(url, pool_size=1)
        stack.callback(database.dispose)
        install_views(database, schema(), timeline)
    return url


def _shows(cursor: extensions.cursor) -> bool:
    cursor.execute("select to_regclass('history.messages') is not null")
    return cursor.fetchone() == (True,)


def open_prepared(settings: HistorySettings, timeline: Timeline, stack: ExitStack) -> str:
    """The URL of the history, prepared if no server has written to it; until ``stack`` closes.

    A running server, if there is one, goes on.

    Raises:
        HistoryError: it cannot be opened or prepared, or its server is of an older version.
    """
    url = open_history(settings, stack)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("select to_regclass('store.keys')")
        prepared = cursor.fetchone() != (None,)
    if not prepared:
        PostgresStore.open(url, timeline).close()
    return url
