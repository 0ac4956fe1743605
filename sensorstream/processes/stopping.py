"""Ending a question from another thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from sensorstream.errors import SensorStreamError


class Stop:
    """A way to end a question at any time, with a reason given by who ends it. Thread-safe."""

    __slots__ = ("_ends", "_lock", "reason")

    def __init__(self) -> None:
        self._lock = Lock()
        self._ends: list[Callable[[], object]] = []
        self.reason: SensorStreamError | None = None
        """The reason why it was ended; None: it was not."""

    def check(self) -> None:
        """Raise the reason if it was ended."""
        if self.reason is not None:
            raise self.reason

    @contextmanager
    def by(self, end: Callable[[], object]) -> Iterator[None]:
        """A block that ``end``, called by another thread, makes fail soon.

        Raises:
            SensorStreamError: the reason why it was ended, instead of the error that this caused.
        """
        with self._lock:
            self.check()
            self._ends.append(end)
        try:
            yield
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                self._ends.remove(end)

    def now(self, reason: SensorStreamError) -> None:
        """End it; the first reason counts. May be repeated, in case an end came too early."""
        with self._lock:
            self.reason = self.reason or reason
            for end in self._ends:
                end()
