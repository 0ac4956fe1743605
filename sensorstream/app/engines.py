"""The engines of a deployment, one here or some on Spark: what a start does for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sensorstream.app.in_work import InWork
from sensorstream.app.progress import Progress, Rebuilding
from sensorstream.app.recovery import Start, find_start, recover
from sensorstream.app.registered_queries import ReportLog
from sensorstream.app.skipping import skip_deadly
from sensorstream.app.stream_time import StreamTime
from sensorstream.app.wiring import Deployment, cross_check_period, version_of
from sensorstream.clock import Clock
from sensorstream.errors import RunsOnSpark
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.store import PostgresStore
from sensorstream.history.writer_lock import Writes
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.kinds import replay
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.settings import Settings


class EnginesHere:
    """One engine, in this process."""

    here: Final = True
    writes: Final = Writes.ALL

    def __init__(self, in_work: InWork, clock: Clock) -> None:
        self._in_work = in_work
        self._clock = clock

    def check(self, what: str, way_out: str) -> None:
        """All can be asked here."""

    def reasoner(self) -> None:
        """It has that of the profile."""

    def period(self, settings: Settings) -> float | None:
        """Seconds between two cross-checks; None: there are none."""
        return cross_check_period(settings)

    def begin(self, store: PostgresStore) -> Start:
        """Where its recovery begins; an entry that ends the process again and again is skipped."""
        start = find_start(store)
        death = self._in_work.open()
        if death is not None and skip_deadly(death, store, start, self._clock.now()):
            self._in_work.forget()
        return start

    def fill(
        self,
        target: Target,
        store: PostgresStore,
        start: Start,
        log: ReportLog,
        progress: Progress,
        own: Callable[[], Iterable[Entry]],
    ) -> None:
        """Bring it to the journal's end; see :func:`.recover`."""
        entries = store.last_seq() - start.seq
        told = Rebuilding(entries, progress, self._clock.counter)
        told.tell(0)
        now = self._clock.now()
        recover(target, store, start, log.publish, now, told.tell, self._in_work, own)

    def record(self, store: PostgresStore, start: Start, deployment: Deployment) -> None:
        """Note the ontology of the settings, if it is in force, since when it is."""
        since = None if start.state is None else start.state.window.counters.now
        store.record_ontology(version_of(deployment, start.seq, since))

    def time(self, url: str, since: Instant) -> None:
        """The pipeline tells it the time."""


class EnginesOnSpark:
    """Engines elsewhere, one for each key; the one of this process holds nothing.

    It knows the continuous queries, so that new ones can be checked.
    """

    here: Final = False
    writes: Final = Writes.JOURNAL

    def check(self, what: str, way_out: str) -> None:
        """Tell where to ask instead.

        Raises:
            RunsOnSpark: always.
        """
        raise RunsOnSpark(f"{what}: the engines run on Spark (pipeline.runner): {way_out}")

    def reasoner(self) -> NoReasoner:
        """The one here needs none."""
        return NoReasoner()

    def period(self, settings: Settings) -> None:
        """There is nothing to check here."""

    def begin(self, store: PostgresStore) -> Start:
        """The journal's end: others process it."""
        return Start(store.last_seq())

    def fill(self, target: Target, store: PostgresStore, *_: object) -> None:
        """Register the continuous queries of the journal."""
        for row in journal_rows(store.url, 0, None, (RegisterQuery.kind, RemoveQuery.kind)):
            replay(record_of(row), target, ())

    def record(self, store: PostgresStore, start: Start, deployment: Deployment) -> None:
        """The pipeline notes it."""

    def time(self, url: str, since: Instant) -> StreamTime:
        """What finds out when they are to be told of it."""
        return StreamTime(url, since)
