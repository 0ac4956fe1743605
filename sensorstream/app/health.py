"""How a deployment does: whether its process can go on, and whether each part can do its work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from sensorstream.alerts.dispatcher import WebhookDispatcher
from sensorstream.alerts.sender import OUTPUT
from sensorstream.app.again import Again
from sensorstream.app.handle import Handle
from sensorstream.app.in_work import InWork
from sensorstream.app.readiness import LATE, Part, Readiness
from sensorstream.errors import HistoryError
from sensorstream.history.position import Position, PositionReader
from sensorstream.reasoning.resilient import ResilientReasoner


class Health:
    """What was found by trials, and what is known to be wrong since.

    ``broken`` says what is wrong with the files of the settings, while others are in force;
    ``news`` tells how far the pipeline on Spark is, if it runs there.
    """

    def __init__(
        self,
        app: Handle,
        trials: Readiness,
        dispatcher: WebhookDispatcher,
        in_work: InWork,
        news: News | None,
        broken: str,
    ) -> None:
        self._app = app
        self._trials = trials
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
        if self._app.pipeline.failure is not None:
            return "the pipeline has stopped"
        return self._in_work.longer_than(self._app.settings.limits.entry_seconds)

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
        if part.name == "pipeline" and not self._app.pipeline.running:
            wrong = str(self._app.pipeline.failure or "it does not run")
        elif part.name == "history" and self._app.pipeline.trouble is not None:
            wrong = str(self._app.pipeline.trouble)
        elif part.name == "reasoner":
            reasoner = self._app.engine.reasoner
            waiting = reasoner.waiting if isinstance(reasoner, ResilientReasoner) else 0.0
            if away := self._app.engine.degraded:
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
        for each in self._app.settings.outputs:
            trouble = self._dispatcher.trouble(f"{OUTPUT}{each.name}")
            yield Part(f"output {each.name}", ready=True, detail=trouble)


_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
"""Seconds between two looks."""


class News(Again):
    """Calls ``announce`` when the watermark has moved, and knows how far it is."""

    def __init__(self, url: str, announce: Callable[[], None], registry: CollectorRegistry) -> None:
        told = "the history is unavailable, alerts are told later"
        super().__init__("news", self._look, lambda: self._wait, (told, told))
        self._url = url
        self._announce = announce
        self._wait = _LOOK
        self._reader: PositionReader | None = None
        self._known: int | None = None
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

    def stop(self) -> None:
        """Look no more."""
        super().stop()
        self._close()

    def _look(self) -> None:
        try:
            self._reader = self._reader or PositionReader(self._url)
            position = self._reader.read()
        except HistoryError:
            self._close()
            self._wait, self._known = 10 * _LOOK, None
            raise
        self._wait = _LOOK
        self._tell(position)
        if position.stored != self._known:
            self._known = position.stored
            self._announce()

    def _close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

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
