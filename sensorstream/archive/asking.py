"""Questions to the archive, in SQL, by DuckDB: without Spark, Java or a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from typing import Any, Final

from sensorstream.archive.answering import ArchiveQuestion
from sensorstream.archive.files import pattern
from sensorstream.archive.layout import TABLES
from sensorstream.archive.manifest import State, kept_parts
from sensorstream.archive.relations import definitions
from sensorstream.errors import ArchiveError
from sensorstream.history.asking.run import Limits
from sensorstream.history.read_only_sql import Column, SqlResult, SqlStream
from sensorstream.history.view_definitions import View, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.processes.forks import Forks, Question, QuestionLimits
from sensorstream.processes.stopping import Stop

_IDLE: Final = 600.0
"""Seconds without a question after which the process that answers is ended."""
_TEXT: Final = 25


@dataclass(frozen=True, slots=True)
class Archive:
    """Where an archive is, and how it is asked; ``memory`` in MiB."""

    url: str
    folder: Path
    memory: int


class _Process:
    """The process that answers, while there are questions. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._forks: Forks | None = None
        self._idle: Timer | None = None

    def begin(self, question: ArchiveQuestion, limits: QuestionLimits) -> Question:
        with self._lock:
            if self._forks is None or not self._forks.alive:
                self._forks = Forks("sensorstream.archive.answering", "the archive")
            if self._idle is not None:
                self._idle.cancel()
            self._idle = Timer(limits.seconds + _IDLE, self._end, [self._forks])
            self._idle.daemon = True
            self._idle.start()
            return self._forks.begin(question, limits)

    def _end(self, forks: Forks) -> None:
        with self._lock:
            forks.close()


_PROCESS: Final = _Process()


def run_archive_sql(
    url: str,
    folder: Path,
    text: str,
    *,
    schema: Schema,
    timeline: Timeline,
    memory: int,
    timeout: float,
    row_limit: int,
    stop: Stop | None = None,
) -> SqlResult:
    """Answer one SQL query over the archive; its tables are the views of ``history``.

    Args:
        url: the history's URL: its manifest says which files count.
        folder: the archive's folder.
        text: one SELECT, in the SQL of DuckDB.
        schema: that of the ontology, for the views.
        timeline: that of the history.
        memory: MiB it may use.
        timeout: seconds it may take.
        row_limit: the most rows returned.
        stop: ends it early.

    Raises:
        QueryError: DuckDB refuses the text, or it needs too much time or memory.
        ArchiveError: a file is missing or damaged.
        HistoryError: the manifest cannot be read.
    """
    views = view_definitions(schema, timeline)
    limits = Limits(timeout, row_limit)
    with asked(Archive(url, folder, memory), text, limits, views, stop) as (names, batches):
        columns = tuple(Column(each, _TEXT) for each in names)
        return SqlStream(columns, batches).result(row_limit)


@contextmanager
def asked(
    archive: Archive,
    text: str,
    limits: Limits,
    views: Iterable[View] | None,
    stop: Stop | None = None,
) -> Iterator[tuple[Sequence[str], Iterator[list[tuple[Any, ...]]]]]:
    """The names of the columns of an answer, and its rows, which are read within the block.

    ``views`` are those that a user's text may name; None: the text is of the compiler.

    Raises:
        QueryError, ArchiveError, HistoryError: see :func:`run_archive_sql`.
    """
    parts = kept_parts(archive.url, State.ARCHIVED)
    files = {table: [part.file(archive.folder, table) for part in parts] for table in TABLES}
    every = [each for several in files.values() for each in several]
    for file in every:
        if not file.exists():
            raise ArchiveError(
                f"{file} is missing: expected the files that the archive's manifest lists"
            )
    patterns = {table: list(map(pattern, several)) for table, several in files.items()}
    question = ArchiveQuestion(
        text, list(map(str, every)), list(definitions(patterns, views or ())), ours=views is None
    )
    most = QuestionLimits(limits.timeout, archive.memory, limits.rows)
    begun = _PROCESS.begin(question, most)
    with closing(begun.pieces(stop or Stop())) as pieces:
        yield next(pieces), pieces
