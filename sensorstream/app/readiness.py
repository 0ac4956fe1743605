"""Whether the parts of the system can do their work, found out by a trial.

A trial goes the way of a message and leaves nothing behind: the history makes an empty transaction
durable, the pipeline's thread comes to it in its turn, the mapping rules read a document, the
reasoner is asked a question of its own, the cache answers a query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Condition, Thread
from typing import Final

from psycopg2 import extensions

from sensorstream.app.handle import Handle
from sensorstream.cache.cache import Cache
from sensorstream.engine.arrival import Unmapped
from sensorstream.errors import HistoryError, SensorStreamError
from sensorstream.history.database import connect, translating
from sensorstream.model.events import Message
from sensorstream.reasoning.resilient import ResilientReasoner

_EVERY: Final = 5.0
"""Seconds between two trials while somebody asks."""
_FRESH: Final = 10.0
"""Seconds for which what was found is told without waiting for a newer trial."""
LATE: Final = 5.0
"""Seconds after which a part without an answer counts as not ready."""
_SOON: Final = 5.0
"""Seconds that the database may take for each of two small questions."""
_DOCUMENT: Final = Message("readiness", b'<trial xmlns="urn:sensorstream:readiness"/>', 0)

Enter = Callable[[str], None]
"""Is told the name of the part that a trial comes to."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the system and whether it could do its work ``age`` seconds ago."""

    name: str
    ready: bool
    detail: str = ""
    age: float = 0.0


class Readiness:
    """Makes trials in a thread of its own: one at a time, and only while somebody asks.

    ``names`` are the parts in the order in which ``trial`` comes to them. It raises what keeps the
    part that it has come to from its work; those after it are then as they were found before.
    ``counter`` gives seconds.
    """

    def __init__(
        self, names: Sequence[str], trial: Callable[[Enter], None], counter: Callable[[], float]
    ) -> None:
        self._trial = trial
        self._counter = counter
        # What was found of each part, and when; in the order of the trial.
        self._found: dict[str, tuple[Part, float | None]] = {
            name: (Part(name, False, "not tried yet"), None) for name in names
        }
        self._at: tuple[str, float] | None = None
        self._wanted = self._stopping = False
        self._tried: float | None = None
        self._gate = Condition()
        self._thread = Thread(target=self._run, name="readiness", daemon=True)

    def start(self) -> None:
        """Wait for somebody to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Try no more; a trial that hangs is left behind."""
        with self._gate:
            self._stopping = True
            self._gate.notify_all()
        self._thread.join(1.0)

    def parts(self) -> Sequence[Part]:
        """What the last trial found; waits for one if it is long ago, but not for a late part."""
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

    def _told(self, part: Part, since: float | None, now: float) -> Part:
        if self._at is not None and self._at[0] == part.name and now - self._at[1] > LATE:
            return Part(part.name, False, f"no answer for {now - self._at[1]:.0f} seconds")
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
                self._found[name] = Part(name, not failure, failure), now


class WholeWay:
    """The trial of a deployment. ``cache`` None: the engines are elsewhere."""

    def __init__(self, history: HistoryProbe, app: Handle, cache: Cache | None) -> None:
        self._history = history
        self._app = app
        self._cache = cache

    @property
    def names(self) -> Sequence[str]:
        """The parts that it comes to."""
        here = () if self._cache is None else ("reasoner", "cache")
        return ("history", "pipeline", "mapping", *here)

    def __call__(self, enter: Enter) -> None:
        """Try all parts; raises what keeps the one from its work that was entered last."""
        enter("history")
        self._history()
        enter("pipeline")
        self._app.pipeline.settled(partial(self._in_turn, enter)).result()
        if self._cache is not None:
            enter("cache")
            self._cache.probe()

    def _in_turn(self, enter: Enter) -> None:
        """What only the pipeline's thread may do."""
        enter("mapping")
        made = self._app.exchange.mapper.map(_DOCUMENT)
        if isinstance(made, Unmapped) and not isinstance(made.error, SensorStreamError | None):
            raise made.error
        if self._cache is None:
            return
        enter("reasoner")
        reasoner = self._app.engine.reasoner
        if isinstance(reasoner, ResilientReasoner):
            reasoner.probe()


class HistoryProbe:
    """Asks the database on a connection of its own, which no question can take away."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url = url
        self._connection: extensions.connection | None = None

    def __call__(self) -> None:
        """Read, and make a transaction durable that changes nothing.

        Raises:
            HistoryError: it cannot be reached, cannot write, or does not answer in time.
        """
        try:
            if self._connection is None:
                self._connection = connect(self._url(), application="sensorstream readiness")
                self._connection.autocommit = True
            with translating("the history does not answer"), self._connection.cursor() as cursor:
                cursor.execute(f"set statement_timeout = {_SOON * 1000:.0f}")
                cursor.execute("select from store.alerts limit 1")
                # A transaction with a number is written to the log, and to the disk.
                cursor.execute("select pg_current_xact_id()")
        except HistoryError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next trial makes another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
