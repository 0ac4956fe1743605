"""Replaces a reasoner that failed, when a new one works."""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import Final

from sensorstream.app.exchange import Exchange
from sensorstream.app.pipeline import Pipeline
from sensorstream.engine.engine import Engine
from sensorstream.errors import SensorStreamError

_LOG = logging.getLogger(__name__)
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0


class Revival:
    """A thread that replaces a reasoner that failed; it waits longer after each failed attempt."""

    def __init__(self, engine: Engine, exchange: Exchange, pipeline: Pipeline) -> None:
        self._engine = engine
        self._exchange = exchange
        self._pipeline = pipeline
        self._halt = Event()
        self._thread = Thread(target=self._run, name="revival", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the present attempt."""
        self._halt.set()
        self._thread.join()

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._halt.wait(wait):
            if not self._engine.degraded:
                wait = _FIRST_WAIT
                continue
            wait = min(2 * wait, _LONGEST_WAIT)
            try:
                self._exchange.revive(self._pipeline)
            except SensorStreamError as error:
                _LOG.warning(
                    "the reasoner cannot be replaced yet, next attempt in %g s: %s", wait, error
                )
            except Exception:
                _LOG.exception("internal error: the reasoner cannot be replaced")
