"""Whether the parts of the system can do their work, told without waiting for any of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Final

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, translating

_EVERY: Final = 1.0
"""Seconds between two checks."""
_DEADLINE: Final = 10.0
"""Seconds after which a check without a result counts as a failure."""
_SOON: Final = 5.0
"""Seconds that the database may take for the smallest question."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the system and whether it could do its work ``age`` seconds ago."""

    name: str
    ready: bool
    detail: str = ""
    age: float = 0.0


class Check:
    """Asks a part again and again, in a thread of its own; :meth:`latest` never waits.

    ``probe`` raises what keeps the part from its work. ``counter`` gives seconds.
    """

    def __init__(
        self, name: str, probe: Callable[[], object], counter: Callable[[], float]
    ) -> None:
        self._name = name
        self._probe = probe
        self._counter = counter
        self._found = Part(name, ready=False, detail="not asked yet")
        self._asked = counter()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name=f"check {name}", daemon=True)

    def start(self) -> None:
        """Ask once, then go on in the thread."""
        self._ask()
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; a probe that hangs is left behind."""
        self._stopping.set()
        self._thread.join(_EVERY)

    def latest(self) -> Part:
        """What the last check found, and how long ago that was."""
        found, age = self._found, self._counter() - self._asked
        if age > _DEADLINE:
            return Part(self._name, False, f"no answer for {age:.0f} seconds", age)
        return Part(self._name, found.ready, found.detail, age)

    def _run(self) -> None:
        while not self._stopping.wait(_EVERY):
            self._ask()

    def _ask(self) -> None:
        asked = self._counter()
        try:
            self._probe()
        except Exception as error:
            self._found = Part(self._name, ready=False, detail=str(error))
        else:
            self._found = Part(self._name, ready=True)
        self._asked = asked


class HistoryProbe:
    """Asks the database on a connection of its own, which no question can take away."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url = url
        self._connection: extensions.connection | None = None

    def __call__(self) -> None:
        """Ask.

        Raises:
            HistoryError: it cannot be reached, or does not answer in time.
        """
        try:
            if self._connection is None:
                self._connection = connect(self._url(), application="sensorstream readiness")
                self._connection.autocommit = True
            with translating("the history does not answer"), self._connection.cursor() as cursor:
                cursor.execute(f"set statement_timeout = {_SOON * 1000:.0f}")
                cursor.execute("select from store.alerts limit 1")
        except HistoryError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next check makes another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
