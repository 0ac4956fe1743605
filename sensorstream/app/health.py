"""How a deployment does: whether its process can go on, and whether each part can do its work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from threading import Event, Thread
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from sensorstream.alerts.dispatcher import WebhookDispatcher
from sensorstream.alerts.sender import OUTPUT
from sensorstream.app.in_work import InWork
from sensorstream.app.pipeline import Pipeline
from sensorstream.app.readiness import LATE, Part, Readiness
from sensorstream.engine.engine import Engine
from sensorstream.errors import HistoryError
from sensorstream.history.pipeline import Position, PositionReader
from sensorstream.reasoning.dl.reasoner import ResilientReasoner
from sensorstream.settings import Settings


class Health:
    """What was found by trials, and what is known to be wrong since.

    ``broken`` says what is wrong with the files of the settings, while others are in force;
    ``news`` tells how far the pipeline on Spark is, if it runs there.
    """

    def __init__(
        self,
        settings: Settings,
        trials: Readiness,
        pipeline: Pipeline,
        engine: Engine,
        dispatcher: WebhookDispatcher,
        in_work: InWork,
        news: News | None,
        broken: str,
    ) -> None:
        self._settings = settings
        self._trials = trials
        self._pipeline = pipeline
        self._engine = engine
        self._dispatcher = dispatcher
        self._in_work = in_work
        self._news = news
        self._broken = broken
        self._probes: list[Callable[[], Sequence[Part]]] = []

    def watch(self, probe: Callable[[], Sequence[Part]]) -> None:
        """Tell further parts in :meth:`parts`."""
        self._probes.append(probe)

    def ailment(self) -> str:
        """Why the process has to be restarted; empty: it need not. Waits for nothing."""
        if self._pipeline.failure is not None:
            return "the pipeline has stopped"
        return self._in_work.longer_than(self._settings.limits.entry_seconds)

    def parts(self) -> Sequence[Part]:
        """Every part and whether it can do its work, by a trial; waits for no part that is late."""
        return (
            *map(self._now, self._trials.parts()),
            *self._spark(),
            Part("deliveries", self._dispatcher.running),
            *self._outputs(),
            *([Part("files", ready=True, detail=self._broken)] if self._broken else []),
            *(part for probe in self._probes for part in probe()),
        )

    def _now(self, part: Part) -> Part:
        """What was found of a part, or what is known to be wrong with it since."""
        wrong = ""
        if part.name == "pipeline" and not self._pipeline.running:
            wrong = str(self._pipeline.failure or "it does not run")
        elif part.name == "history" and self._pipeline.trouble is not None:
            wrong = str(self._pipeline.trouble)
        elif part.name == "reasoner":
            reasoner = self._engine.reasoner
            waiting = reasoner.waiting if isinstance(reasoner, ResilientReasoner) else 0.0
            if away := self._engine.degraded:
                # The server accepts messages without it, too.
                return Part("reasoner", True, f"the plain profile stands in: {away}")
            wrong = f"no answer for {waiting:.0f} seconds" if waiting > LATE else ""
        return Part(part.name, False, wrong) if wrong else part

    def _spark(self) -> Iterator[Part]:
        """How far the pipeline on Spark is; messages are accepted without it, too."""
        if self._news is not None:
            position = self._news.position
            yield Part("spark", ready=True, detail="" if position is None else str(position))

    def _outputs(self) -> Iterator[Part]:
        """The state of each output; one that is away keeps no message from being accepted."""
        for each in self._settings.outputs:
            trouble = self._dispatcher.trouble(f"{OUTPUT}{each.name}")
            yield Part(f"output {each.name}", ready=True, detail=trouble)


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
