"""One question, answered in a process of its own: a fork of the one with the copy."""

from __future__ import annotations

import io
import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Final, Never, cast

import pyoxigraph as ox

from sensorstream.cache.protocol import Answered, Ask, Begun, CacheQuestion, Failed, Formats
from sensorstream.errors import Overrun, QueryError, SensorStreamError
from sensorstream.history.asking import formats
from sensorstream.history.asking.answer import Answer, Graph, Row, Solutions, limited
from sensorstream.kb.snapshot import Results, read_answerable
from sensorstream.model.terms import Triple
from sensorstream.network.exact import Asked, exact, term_of

_NICENESS: Final = 10
_SPARE_SECONDS: Final = 5
_MIB: Final = 1024 * 1024
_PIECE: Final = 64 * 1024
_BATCH: Final = 1024


def answer_and_exit(store: ox.Store, asked: Ask, replies: Connection) -> Never:
    """Answer a question, within its limits; ends the process."""
    code = 1
    try:
        _limit(asked)
        replies.send(Begun())
        replies.send(_reply(store, asked, replies))
        code = 0
    except (BrokenPipeError, ConnectionResetError):
        code = 0  # Nobody wants the answer any more.
    finally:
        os._exit(code)


def _limit(asked: Ask) -> None:
    """Let the kernel limit this process; it must not take the cores from the engine."""
    os.nice(_NICENESS)
    # Of all processes, the kernel ends this one first when memory is short.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The server ends it earlier, if the server still is there.
    seconds = int(asked.limits.seconds) + _SPARE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with suppress(OSError, ValueError):
        size = _address_space() + asked.limits.memory * _MIB
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    # Oxigraph says there where it ran out of memory, which the exit code says as well.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)


def _address_space() -> int:
    """Bytes that this process has mapped; the copy of the knowledge base is among them."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _reply(store: ox.Store, asked: Ask, replies: Connection) -> Answered | Failed:
    try:
        return _answer(store, asked.question, asked.limits.rows, _Pieces(replies))
    except SensorStreamError as error:
        return Failed(error)
    except MemoryError:
        return Failed(Overrun(out_of_memory(asked.limits.memory)))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        return Failed(QueryError(f"the query cannot be answered: {error}"))


def out_of_memory(memory: int) -> str:
    """What to tell of a question that needed more than so many MiB."""
    return (
        f"the question needs more than {memory} MiB of memory: ask for less "
        "(limits.question_memory)"
    )


def _answer(store: ox.Store, question: CacheQuestion, rows: int, out: _Pieces) -> Answered:
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
    answer = _answer_of(found, rows, asked)
    offered = formats.writers(answer)
    media_type = _wanted(answer, question.formats)
    if media_type is None:
        return Answered(None, tuple(offered))
    offered[media_type](answer, cast(IO[bytes], out))
    out.flush()
    return Answered(media_type)


def _wanted(answer: Answer, wanted: Formats) -> str | None:
    match answer:
        case Solutions():
            return wanted.solutions
        case Graph():
            return wanted.graph
        case _:
            return wanted.boolean


def _answer_of(found: Results, most: int, asked: Asked) -> Answer:
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    if isinstance(found, ox.QuerySolutions):
        names = tuple(variable.value for variable in found.variables)
        rows: Iterator[Row] = (
            tuple(None if value is None else term_of(value) for value in solution)
            for solution in found
        )
        return Solutions(names, cast(Iterator[Row], limited(_batches(rows, asked), most)))
    triples = (tuple(map(term_of, triple)) for triple in found)
    return Graph(cast(Iterator[Triple], limited(_batches(triples, asked), most)))


def _batches(
    rows: Iterable[tuple[object, ...]], asked: Asked
) -> Iterator[list[tuple[object, ...]]]:
    rows = iter(rows)
    while batch := list(islice(rows, _BATCH)):
        asked.check()
        yield batch
    asked.check()


class _Pieces(io.RawIOBase):
    """A file that sends what is written to it, in pieces that are neither small nor large."""

    def __init__(self, replies: Connection) -> None:
        self._replies = replies
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
            self._replies.send(bytes(self._kept))
            self._sent += len(self._kept)
            self._kept.clear()

    def tell(self) -> int:
        return self._sent + len(self._kept)

    def writable(self) -> bool:
        return True
