"""Notices what another process has stored: the pipeline on Spark tells nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from threading import Event, Thread
from typing import Final

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, translating

_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
"""Seconds between two looks."""


class News:
    """Calls ``announce`` when the watermark has moved; a thread."""

    def __init__(self, url: str, announce: Callable[[], None]) -> None:
        self._url = url
        self._announce = announce
        self._over = Event()
        self._thread = Thread(target=self._run, name="news", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._watch()
            except HistoryError as error:
                _LOG.warning("the history is unavailable, alerts are told later: %s", error)
                self._over.wait(_LOOK * 10)

    def _watch(self) -> None:
        known: int | None = None
        with (
            closing(connect(self._url, application="sensorstream news")) as connection,
            translating("cannot read the watermark"),
        ):
            connection.autocommit = True
            while not self._over.wait(_LOOK):
                with connection.cursor() as cursor:
                    cursor.execute("select watermark from store.progress")
                    (watermark,) = cursor.fetchone() or (0,)
                if watermark != known:
                    known = watermark
                    self._announce()
