"""Notices what another process has stored: the pipeline on Spark tells nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from threading import Event, Thread
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from sensorstream.errors import HistoryError
from sensorstream.history.position import Position, PositionReader

_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
"""Seconds between two looks."""


class News:
    """Calls ``announce`` when the watermark has moved, and knows how far it is; a thread."""

    def __init__(self, url: str, announce: Callable[[], None], registry: CollectorRegistry) -> None:
        self._url = url
        self._announce = announce
        self._over = Event()
        self._thread = Thread(target=self._run, name="news", daemon=True)
        waiting = "Entries of the journal that the pipeline on Spark has not stored yet."
        self._waiting = Gauge("sensorstream_pipeline_waiting_entries", waiting, registry=registry)
        runs = "1 while a pipeline on Spark has the history open."
        self._runs = Gauge("sensorstream_pipeline_running", runs, registry=registry)
        stored = "When the pipeline on Spark stored its last batch, in Unix time; 0 before."
        self._stored = Gauge("sensorstream_pipeline_stored_seconds", stored, registry=registry)
        keys = "Keys whose engine on Spark holds individuals, or waits for a time."
        self._keys = Gauge("sensorstream_pipeline_keys", keys, registry=registry)
        self.position: Position | None = None
        """None before the first look."""

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
        with closing(PositionReader(self._url)) as reader:
            while not self._over.wait(_LOOK):
                position = reader.read()
                self._tell(position)
                if position.stored != known:
                    known = position.stored
                    self._announce()

    def _tell(self, position: Position) -> None:
        away = not position.runs and position.lag > 0
        before = self.position
        if away and (before is None or before.runs or not before.lag):
            _LOG.warning("%s", position)
        elif before is not None and position.runs and not before.runs:
            _LOG.info("a pipeline runs")
        self.position = position
        self._waiting.set(position.lag)
        self._runs.set(position.runs)
        self._keys.set(position.keys)
        if position.stored_at is not None:
            self._stored.set(position.stored_at.timestamp())
