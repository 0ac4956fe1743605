"""Opens the history of a deployment for reading, with or without its running server."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sensorstream.app.application import open_history
from sensorstream.errors import HistoryError
from sensorstream.history.database import connect
from sensorstream.settings import HistorySettings


def open_kept(settings: HistorySettings, stack: ExitStack) -> str:
    """The URL of an existing history; valid until ``stack`` closes.

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
