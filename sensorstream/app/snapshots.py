"""Questions about what the engine knows between two messages, each answered in a fork."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from sensorstream.apart import Turns, run_apart
from sensorstream.app.handle import Handle
from sensorstream.errors import Unavailable

_AT_ONCE: Final = 2
_NICENESS: Final = 10
_SETTLING: Final = 10.0
"""Seconds to wait for the end of the message that is being processed."""
T = TypeVar("T")


class Snapshots:
    """Forks this process between two messages: the fork has an engine of its own. Thread-safe.

    An answer may take as long as any; ``what`` is asked is for errors.
    """

    def __init__(self, app: Handle, what: str) -> None:
        self._app = app
        self._what = what
        self._turns = Turns(_AT_ONCE, app.seconds, what)

    def ask(self, question: Callable[[], T]) -> T:
        """The result of ``question``, which is called in the fork; or its exception.

        Raises:
            Overrun: the answer takes too long.
            Busy: too many ask at once.
            Unavailable: a message takes long to be processed.
        """

        def nicely() -> T:
            # It must not take the cores from the engine.
            os.nice(_NICENESS)
            return question()

        with self._turns.turn():
            return run_apart(
                nicely,
                self._app.seconds,
                what=self._what,
                setting="limits.question_seconds",
                quiet=self.quiet,
            )

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """A block in which no message is processed.

        Raises:
            Unavailable: a message takes long to be processed.
        """
        if not self._app.pipeline.lock.acquire(timeout=_SETTLING):
            raise Unavailable("a message takes long to be processed: ask again later")
        try:
            yield
        finally:
            self._app.pipeline.lock.release()
