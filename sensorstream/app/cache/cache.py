"""SPARQL over the cache, in processes that can be ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, closing, suppress
from io import BytesIO
from threading import Lock
from typing import IO, Final

from sensorstream.app.cache.cache_messages import Answered, CacheQuestion, Formats
from sensorstream.errors import SensorStreamError, Unavailable
from sensorstream.kb.graph_changes import KnowledgeChanges, Quad
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.kb.oxigraph_terms import stored_text
from sensorstream.processes.fork_once import held
from sensorstream.processes.forks import IDLE, Forks, OpenQuestion, QuestionLimits, RestingForks
from sensorstream.processes.stopping import Stop

_SETTLING: Final = 10.0
"""Seconds to wait for the end of the message that is being processed."""
_JSON: Final = "application/sparql-results+json"
_PROBE: Final = CacheQuestion("ASK {}", Formats(_JSON, _JSON, None))


class Cache(RestingForks):
    """Questions to a knowledge base. Thread-safe.

    From the first question on a process of its own has a copy of the knowledge base and answers
    each question in a fork. A message only notes its changes, which are brought over when a
    question comes; without a question for long the copy and the notes are dropped.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        lock: Lock,
        limits: QuestionLimits,
        *,
        idle: float = IDLE,
    ) -> None:
        """``lock`` is held by who changes the knowledge base."""
        super().__init__("sensorstream.app.cache.cache_process", "the cache", idle)
        self._kb = kb
        self._changing = lock
        self._limits = limits
        self._changes: KnowledgeChanges | None = None
        self._closed = False
        self._proven = False
        self.trouble = ""
        """Why the last question found no process to answer it; "" if it found one."""

    def ask(self, question: CacheQuestion, out: IO[bytes], stop: Stop) -> Answered:
        """Write the answer to a question, from the state between two messages.

        Raises:
            QueryError: it cannot be answered.
            Overrun: it took more than its limits.
            TermError: the knowledge base holds an IRI that is not valid.
            Unavailable: there is no process to answer it.
            SensorStreamError: it was stopped.
        """
        try:
            begun = self.begin(question, self._limits)
            self.trouble = ""
        except (OSError, Unavailable) as error:
            self.trouble = str(error)
            raise Unavailable(f"the cache cannot be asked now: {error}") from error
        return _written(begun, out, stop)

    def probe(self) -> None:
        """Answer a query, unless one was answered before and the copy has gone since: so a copy
        that nobody uses is still dropped. Raises Unavailable if there is no process to answer.
        """
        if self._forks is None and self._proven and not self.trouble:
            return
        out = BytesIO()
        try:
            _written(self.begin(_PROBE, self._limits, used=False), out, Stop())
        except (OSError, SensorStreamError) as error:
            self.trouble = str(error)
            raise Unavailable(f"the cache cannot be asked now: {error}") from error
        self._proven, self.trouble = True, ""

    def close(self) -> None:
        """End all answers; later questions get none."""
        self._closed = True
        with suppress(Unavailable):
            super().close()

    def prepare(self, forks: Forks) -> None:
        """Bring the copy up to date."""
        if self._closed:
            raise Unavailable("the server stops")
        with self._quiet():
            if self._changes is None:
                self._changes = KnowledgeChanges(self._kb)
            added, removed = self._changes.read()
            self._changes.done()
        if added or removed:
            forks.tell((_lines(added), _lines(removed)))

    def _quiet(self) -> AbstractContextManager[None]:
        """A block in which the knowledge base does not change."""
        late = Unavailable("a message takes long to be processed: ask again later")
        return held(self._changing, _SETTLING, late)

    def drop(self) -> None:
        """End the process, and note changes no more."""
        super().drop()
        if self._changes is not None:
            with self._quiet():
                self._changes.close()
            self._changes = None


def _written(question: OpenQuestion, out: IO[bytes], stop: Stop) -> Answered:
    """Write the pieces of the answer."""
    pieces = question.pieces(stop)
    with closing(pieces):
        while True:
            try:
                out.write(next(pieces))
            except StopIteration as end:
                found: Answered = end.value
                return found


def _lines(quads: Iterable[Quad]) -> bytes:
    lines = (
        f"{s.n3} {p.n3} {stored_text(o)} .\n"
        if graph is None
        else f"{s.n3} {p.n3} {stored_text(o)} {graph.n3} .\n"
        for (s, p, o), graph in quads
    )
    # UTF-8 cannot hold a lone surrogate.
    return "".join(lines).encode("utf-8", "replace")
