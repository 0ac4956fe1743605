"""How long the history is kept: what is older goes, once an hour, beside all other work."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from threading import Event, Thread
from typing import Final, Self

from sensorstream.app.intake import kept_for
from sensorstream.archive.age import instant_ago
from sensorstream.clock import Clock
from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, translating
from sensorstream.resources import bundled
from sensorstream.settings import Settings

_LOG = logging.getLogger(__name__)
_EVERY: Final = 3600.0
_SCRIPT: Final = "retention.sql"
_NEVER: Final = (str(-(2**63)), "-infinity")
"""Bounds before which nothing is."""


def forget(url: str, settings: Settings, now: datetime) -> None:
    """Delete what is older than the settings keep.

    Raises:
        HistoryError: the database failed; nothing is deleted then.
    """
    length, messages = kept_for(settings)
    ended, received = _NEVER
    if length is not None:
        ended = str(max(instant_ago(url, length, settings.time.timeline, now), int(ended)))
    if messages is not None:
        received = (now - messages).isoformat()
    with (
        translating("cannot delete what is old"),
        closing(connect(url, application="sensorstream retention")) as connection,
    ):
        connection.autocommit = True  # the script has a transaction of its own
        with connection.cursor() as cursor:
            for name, bound in (("ended_before", ended), ("received_before", received)):
                cursor.execute("select set_config(%s, %s, false)", (f"sensorstream.{name}", bound))
            cursor.execute((bundled("persistent") / _SCRIPT).read_text(encoding="utf-8"))


class Retention:
    """A thread that forgets at the start and then every hour, as long as the block lasts."""

    def __init__(self, url: Callable[[], str], settings: Settings, clock: Clock) -> None:
        self._url = url
        self._settings = settings
        self._clock = clock
        self._halt = Event()
        self._thread = Thread(target=self._run, name="retention", daemon=True)

    def __enter__(self) -> Self:
        if kept_for(self._settings) != (None, None):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._halt.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                forget(self._url(), self._settings, self._clock.now())
            except HistoryError as error:
                _LOG.warning("nothing old was deleted: %s", error)
            except Exception:
                _LOG.exception("internal error while old history was deleted")
            if self._halt.wait(_EVERY):
                return
