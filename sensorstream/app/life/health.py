"""The health of a deployment: whether its process can go on, and each part can do its work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Condition, Thread
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from sensorstream.alerts.dispatcher import WebhookDispatcher
from sensorstream.alerts.sender import OUTPUT
from sensorstream.app.cache.cache import Cache
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.engine.message_reading import UnmappedMessage
from sensorstream.errors import HistoryError, SensorStreamError
from sensorstream.history.database import OwnConnection
from sensorstream.history.effects_writer import BatchProgress, JournalPosition, PositionReader
from sensorstream.model.events import Message
from sensorstream.model.frozen import frozen, replace
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner

_EVERY: Final = 5.0
"""Seconds between two trials while somebody asks."""
_FRESH: Final = 10.0
"""Seconds for which a result counts without waiting for a newer trial."""
LATE: Final = 5.0
"""Seconds after which a part without an answer counts as not ready."""
_SOON: Final = 5.0
"""Seconds that the database may take for each of two small questions."""
_DOCUMENT: Final = Message("readiness", b'<trial xmlns="urn:sensorstream:readiness"/>', 0)

Enter = Callable[[str], None]
"""A function that gets the name of the part that a trial comes to."""


@frozen
class HealthPart:
    """A part of the system, and whether it could do its work ``age`` seconds ago."""

    name: str
    ready: bool
    detail: str = ""
    age: float = 0.0


class Readiness:
    """Trials in a thread of its own: one at a time, and only while a client asks. ``names`` are the
    parts in the order in which ``trial`` comes to them. It raises the trouble of the part that it
    has come to; those after it keep their last result. ``counter`` gives seconds.
    """

    def __init__(
        self, names: Sequence[str], trial: Callable[[Enter], None], counter: Callable[[], float]
    ) -> None:
        self._trial = trial
        self._counter = counter
        # What was found of each part, and when; in the order of the trial.
        self._found: dict[str, tuple[HealthPart, float | None]] = {
            name: (HealthPart(name, False, "not tried yet"), None) for name in names
        }
        self._at: tuple[str, float] | None = None
        self._wanted = self._stopping = False
        self._tried: float | None = None
        self._gate = Condition()
        self._thread = Thread(target=self._run, name="readiness", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Try no more; a trial that hangs is left behind."""
        with self._gate:
            self._stopping = True
            self._gate.notify_all()
        self._thread.join(1.0)

    def parts(self) -> Sequence[HealthPart]:
        """The last results; waits for a newer trial if they are old, but not for a late part."""
        with self._gate:
            self._wanted = True
            self._gate.notify_all()
            self._gate.wait_for(self._fresh_or_late, LATE)
            now = self._counter()
            return [self._told(part, since, now) for part, since in self._found.values()]

    def _fresh_or_late(self) -> bool:
        now = self._counter()
        fresh = self._tried is not None and now - self._tried < _FRESH
        return fresh or self._stopping or (self._at is not None and now - self._at[1] > LATE)

    def _told(self, part: HealthPart, since: float | None, now: float) -> HealthPart:
        if self._at is not None and self._at[0] == part.name and now - self._at[1] > LATE:
            return HealthPart(part.name, False, f"no answer for {now - self._at[1]:.0f} seconds")
        return replace(part, age=0.0 if since is None else now - since)

    def _run(self) -> None:
        while True:
            with self._gate:
                self._gate.wait_for(lambda: self._wanted or self._stopping)
                if self._stopping:
                    return
                self._wanted = False
            try:
                self._trial(self._enter)
            except Exception as error:
                self._leave(f"{error}" or type(error).__name__)
            else:
                self._leave()
            with self._gate:
                self._at, self._tried = None, self._counter()
                self._gate.notify_all()
                if self._gate.wait_for(lambda: self._stopping, _EVERY):
                    return

    def _enter(self, name: str) -> None:
        self._leave()
        with self._gate:
            self._at = name, self._counter()

    def _leave(self, failure: str = "") -> None:
        with self._gate:
            if self._at is not None:
                name, now = self._at[0], self._counter()
                self._found[name] = HealthPart(name, not failure, failure), now


class HistoryProbe(OwnConnection):
    """A check of the database on a connection of its own, which no question can take away."""

    def __init__(self, url: Callable[[], str]) -> None:
        super().__init__(url, "sensorstream readiness")

    def __call__(self) -> None:
        """Read, and make a transaction durable that changes nothing.

        Raises:
            HistoryError: it cannot be reached, cannot write, or does not answer in time.
        """
        with self.cursor("the history does not answer") as cursor:
            cursor.execute(f"set statement_timeout = {_SOON * 1000:.0f}")
            cursor.execute("select from store.alerts limit 1")
            # A transaction with a number is written to the log, and to the disk.
            cursor.execute("select pg_current_xact_id()")


class Health:
    """The results of trials, and known trouble since.

    A trial goes the way of a message and leaves nothing behind: the history makes an empty
    transaction durable, the pipeline's thread comes to it in its turn, the mapping rules read a
    document, the reasoner is asked a question of its own, the cache answers a query.

    ``cache`` is None where the engines are elsewhere. ``broken`` says what is wrong with the files
    of the settings, while others are in force; ``news`` has the progress of the pipeline on Spark,
    if it runs there.
    """

    def __init__(
        self,
        app: Handle,
        cache: Cache | None,
        dispatcher: WebhookDispatcher,
        in_work: InWork,
        news: WatermarkNews | None,
        broken: str,
    ) -> None:
        self._app = app
        self._cache = cache
        self._history = HistoryProbe(lambda: app.url)
        here = () if cache is None else ("reasoner", "cache")
        names = ("history", "pipeline", "mapping", *here)
        self._trials = Readiness(names, self._try_all, app.clock.counter)
        self._dispatcher = dispatcher
        self._in_work = in_work
        self._news = news
        self._broken = broken
        self._probes: list[Callable[[], Sequence[HealthPart]]] = []

    def start(self) -> None:
        self._trials.start()

    def stop(self) -> None:
        self._trials.stop()
        self._history.close()

    def watch(self, probe: Callable[[], Sequence[HealthPart]]) -> None:
        """Add further parts to :meth:`parts`."""
        self._probes.append(probe)

    def ailment(self) -> str:
        """The reason to restart the process; empty: there is none. Waits for nothing."""
        if self._app.pipeline.failure is not None:
            return "the pipeline has stopped"
        return self._in_work.longer_than(self._app.settings.limits.entry_seconds)

    def parts(self) -> Sequence[HealthPart]:
        """The parts and whether each can do its work, by a trial; waits for no late part."""
        return (
            *map(self._now, self._trials.parts()),
            *self._spark(),
            HealthPart("deliveries", self._dispatcher.running),
            *self._outputs(),
            *([HealthPart("files", ready=True, detail=self._broken)] if self._broken else []),
            *(part for probe in self._probes for part in probe()),
        )

    def _try_all(self, enter: Enter) -> None:
        """Try all parts; raises the trouble of the part that was entered last."""
        enter("history")
        self._history()
        enter("pipeline")
        self._app.pipeline.settled(partial(self._in_turn, enter)).result()
        if self._cache is not None:
            enter("cache")
            self._cache.probe()

    def _in_turn(self, enter: Enter) -> None:
        """Try the parts that only the pipeline's thread may use."""
        enter("mapping")
        made = self._app.exchange.mapper.map(_DOCUMENT)
        if isinstance(made, UnmappedMessage) and not isinstance(
            made.error, SensorStreamError | None
        ):
            raise made.error
        if self._cache is None:
            return
        enter("reasoner")
        reasoner = self._app.engine.reasoner
        if isinstance(reasoner, ResilientReasoner):
            reasoner.probe()

    def _now(self, part: HealthPart) -> HealthPart:
        """The last result of a part, or trouble that is known since."""
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
                return HealthPart("reasoner", True, f"the plain profile stands in: {away}")
            wrong = f"no answer for {waiting:.0f} seconds" if waiting > LATE else ""
        return HealthPart(part.name, False, wrong) if wrong else part

    def _spark(self) -> Iterator[HealthPart]:
        """The progress of the pipeline on Spark; messages are accepted without it, too."""
        if self._news is not None:
            position = self._news.position
            told = "" if position is None else str(position)
            if position is not None and position.lag >= self._app.settings.limits.waiting_entries:
                told += "; messages are refused (limits.waiting_entries)"
            yield HealthPart("spark", ready=True, detail=told)

    def _outputs(self) -> Iterator[HealthPart]:
        """The state of each output; messages are accepted while one is away."""
        for each in self._app.settings.outputs:
            trouble = self._dispatcher.trouble(f"{OUTPUT}{each.name}")
            yield HealthPart(f"output {each.name}", ready=True, detail=trouble)


_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
"""Seconds between two looks."""


class WatermarkNews(RepeatedWork):
    """A thread that calls ``announce`` when the watermark has moved; ``position`` is its place."""

    def __init__(self, url: str, announce: Callable[[], None], registry: CollectorRegistry) -> None:
        told = "the history is unavailable, alerts are told later"
        super().__init__("news", self._look, lambda: self._wait, (told, told))
        self._reader = PositionReader(url)
        self._announce = announce
        self._wait = _LOOK
        self._known: int | None = None
        waiting = "Entries of the journal that the pipeline on Spark has not stored yet."
        self._waiting = Gauge("sensorstream_pipeline_waiting_entries", waiting, registry=registry)
        runs = "1 while a pipeline on Spark has the history open."
        self._runs = Gauge("sensorstream_pipeline_running", runs, registry=registry)
        stored = "When the pipeline on Spark stored its last batch, in Unix time; 0 before."
        self._stored = Gauge("sensorstream_pipeline_stored_seconds", stored, registry=registry)
        keys = "Keys whose engine on Spark holds individuals, or waits for a time."
        self._keys = Gauge("sensorstream_pipeline_keys", keys, registry=registry)
        gauge = partial(Gauge, registry=registry)
        told = "Entries in the last batch of the pipeline on Spark."
        self._entries = gauge("sensorstream_pipeline_batch_entries", told)
        told = "Keys with entries in the last batch of the pipeline on Spark."
        self._batch_keys = gauge("sensorstream_pipeline_batch_keys", told)
        told = "Time of the last batch on Spark by phase: engines, store, and Spark's own names."
        self._seconds = gauge("sensorstream_pipeline_batch_seconds", told, ["phase"])
        told = "Rows in Spark's state of the keys."
        self._state_rows = gauge("sensorstream_pipeline_state_rows", told)
        told = "Memory of Spark's state of the keys."
        self._state_bytes = gauge("sensorstream_pipeline_state_bytes", told)
        told = "Messages of the busiest key, as a multiple of a task's fair part; 1 and less: fair."
        self._skew = gauge("sensorstream_pipeline_key_skew", told)
        told = "Part of the messages that have a hot key, whose task the others wait for."
        self._hot = gauge("sensorstream_pipeline_hot_key_share", told, ["key"])
        self.position: JournalPosition | None = None
        """None before the first look."""

    def stop(self) -> None:
        super().stop()
        self._reader.close()

    def stored(self) -> int | None:
        """The last entry that was stored at the last look; None: there was none."""
        return None if self.position is None else self.position.stored

    def _look(self) -> None:
        try:
            position = self._reader.read()
        except HistoryError:
            self._wait, self._known = 10 * _LOOK, None
            raise
        self._wait = _LOOK
        self._tell(position)
        if position.stored != self._known:
            self._known = position.stored
            self._announce()

    def _tell(self, position: JournalPosition) -> None:
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
        if position.batch is not None and (before is None or position.batch != before.batch):
            known = None if before is None or before.batch is None else before.batch.hot
            self._measure(position.batch, known)
        if position.stored_at is not None:
            self._stored.set(position.stored_at.timestamp())

    def _measure(self, batch: BatchProgress, known: str | None) -> None:
        """Show the figures of a new batch; log a key that has become hot since ``known`` was."""
        self._entries.set(batch.entries)
        self._batch_keys.set(batch.keys)
        for phase, seconds in batch.seconds.items():
            self._seconds.labels(phase).set(seconds)
        self._state_rows.set(batch.state_rows)
        self._state_bytes.set(batch.state_bytes)
        self._skew.set(batch.skew)
        self._hot.clear()
        if batch.hot is not None:
            self._hot.labels(batch.hot).set(batch.share)
        if batch.hot is not None and batch.hot != known:
            _LOG.warning("%s", batch.heat)
        elif batch.hot is None and known is not None:
            _LOG.info("the key %r is not hot any more", known)
