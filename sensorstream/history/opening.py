"""Opens the history of a deployment: that of the settings, or the embedded PostgreSQL."""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing

from sensorstream.errors import HistoryError
from sensorstream.history import embedded
from sensorstream.history.database import connect
from sensorstream.history.store import PostgresStore
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
    never = "there is no history yet: the server of this deployment has never run"
    if not settings.url and not (settings.folder / "cluster").exists():
        raise HistoryError(never)
    url = open_history(settings, stack)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("select to_regclass('history.messages')")
        if cursor.fetchone() == (None,):
            raise HistoryError(never)
    return url


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
