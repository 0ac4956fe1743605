"""What runs for clients now: the one list of questions that are being answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from threading import Lock
from typing import Final

from sensorstream.clock import Clock
from sensorstream.errors import (
    JobCancelled,
    Overrun,
    SensorStreamError,
    Unavailable,
    UnknownJob,
)
from sensorstream.processes.stopping import Stop

_PREFIX: Final = "question_"


def is_question(name: str) -> bool:
    """Whether a name is one of these, not of a job that is kept."""
    return name.startswith(_PREFIX)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: ``language`` is sparql or sql, ``on`` what is asked, ``client`` who asks."""

    language: str
    text: str
    on: str
    client: str
    at: str | None = None
    during: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A question that is being answered."""

    id: str
    asked: Asked
    since: datetime
    stop: Stop = field(default_factory=Stop)


class Running:
    """The questions that are being answered. Thread-safe."""

    def __init__(self, clock: Clock, overrun: Callable[[str], None]) -> None:
        """Begin with none; ``overrun`` is told what was asked by a question over its limits."""
        self._clock = clock
        self._overrun = overrun
        self._lock = Lock()
        self._runs: dict[str, Run] = {}
        self._closed = False

    @contextmanager
    def enter(self, asked: Asked) -> Iterator[Stop]:
        """A block in which a question is answered.

        Raises:
            Unavailable: the server stops.
        """
        run = Run(f"{_PREFIX}{token_hex(8)}", asked, self._clock.now())
        with self._lock:
            if self._closed:
                raise _stops()
            self._runs[run.id] = run
        try:
            yield run.stop
        except Overrun:
            self._overrun(asked.on)
            raise
        finally:
            with self._lock:
                del self._runs[run.id]

    def runs(self) -> Sequence[Run]:
        """All of them, newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def run(self, run_id: str) -> Run:
        """One of them.

        Raises:
            UnknownJob: it has ended, or was never there.
        """
        with self._lock:
            found = self._runs.get(run_id)
        if found is None:
            raise UnknownJob(f"there is no question '{run_id}': it has ended, or was never there")
        return found

    def cancel(self, run_id: str) -> None:
        """End one of them: who asked is told :class:`.JobCancelled`.

        Raises:
            UnknownJob: it has ended, or was never there.
        """
        self.run(run_id).stop.now(JobCancelled("the question was cancelled"))

    def close(self) -> None:
        """End all of them; none begins afterwards."""
        with self._lock:
            self._closed = True
            runs = list(self._runs.values())
        for each in runs:
            each.stop.now(_stops())


def _stops() -> SensorStreamError:
    return Unavailable("the server stops")
