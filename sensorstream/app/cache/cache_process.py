"""The process with a copy of the cache: each question is answered in a fork of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import IO, Any, Final, cast

import pyoxigraph as ox

from sensorstream.app.cache.cache_messages import Answered, CacheQuestion, Formats
from sensorstream.history.asking import answer_formats
from sensorstream.history.asking.query_answer import (
    Answer,
    GraphAnswer,
    Solutions,
    answer_of_oxigraph,
)
from sensorstream.kb.graph_changes import QuadStore
from sensorstream.network.exact_values import exact
from sensorstream.processes.fork_server import serve_forks
from sensorstream.processes.forks import QuestionLimits
from sensorstream.sparql.answerable import read_answerable

_PIECE: Final = 64 * 1024


def main(owner: Connection) -> None:
    """Serve until the server hangs up."""
    serve_forks(owner, _Copy())


class _Copy:
    """The knowledge base as the server has told it."""

    def __init__(self) -> None:
        self._quads = QuadStore()
        # Loaded now, so that no question waits for the grammar's tables or loads them itself.
        exact(read_answerable("ASK { }"), self._quads.store).answer(self._quads.store)

    def tell(self, message: tuple[bytes, bytes]) -> None:
        """Add quads and remove others."""
        added, removed = message
        self._quads.change(_read(added), _read(removed))

    def answer(
        self, question: CacheQuestion, limits: QuestionLimits, send: Callable[[bytes], None]
    ) -> Answered:
        """Send the answer in its format."""
        store = self._quads.store
        asked = exact(
            read_answerable(
                question.text,
                question.default_graphs,
                question.named_graphs,
                names_only=question.names_only,
            ),
            store,
        )
        found = asked.answer(store, question.default_graphs, question.named_graphs)
        asked.check()
        answer = answer_of_oxigraph(found, limits.rows, asked)
        offered = answer_formats.writers(answer)
        media_type = _wanted(answer, question.formats)
        if media_type is None:
            return Answered(None, tuple(offered))
        out = _Pieces(send)
        offered[media_type](answer, cast(IO[bytes], out))
        out.flush()
        return Answered(media_type)


def _read(quads: bytes) -> list[ox.Quad]:
    return list(ox.parse(quads, format=ox.RdfFormat.N_QUADS, lenient=True))


def _wanted(answer: Answer, wanted: Formats) -> str | None:
    match answer:
        case Solutions():
            return wanted.solutions
        case GraphAnswer():
            return wanted.graph
        case _:
            return wanted.boolean


class _Pieces(io.RawIOBase):
    """A file that sends what is written to it, in pieces that are neither small nor large."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._kept = bytearray()
        self._sent = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _PIECE):
            self._kept += view[start : start + _PIECE]
            if len(self._kept) >= _PIECE:
                self.flush()
        return len(view)

    def flush(self) -> None:
        if self._kept:
            self._send(bytes(self._kept))
            self._sent += len(self._kept)
            self._kept.clear()

    def tell(self) -> int:
        return self._sent + len(self._kept)

    def writable(self) -> bool:
        return True
