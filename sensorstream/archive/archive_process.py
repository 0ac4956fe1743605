"""The process that asks DuckDB: it answers each question in a fork, with limits.

DuckDB's planner heeds no limit of its own: it may take gigabytes before the first row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from typing import Final

import duckdb

# No fork must import for itself what every question needs.
import pyarrow  # noqa: F401
import sqlglot.dialects.duckdb
import sqlglot.generators.duckdb  # noqa: F401

from sensorstream.archive.archive_sparql import install
from sensorstream.errors import ArchiveError, Overrun, QueryError, SensorStreamError
from sensorstream.history.view_definitions import ENTRY_VIEWS
from sensorstream.model.frozen import frozen
from sensorstream.processes.fork_server import serve_forks
from sensorstream.processes.forks import QuestionLimits
from sensorstream.processes.process_limits import limit_memory

_BATCH: Final = 10_000
_MIB: Final = 1024 * 1024
_PIECE: Final = _MIB
"""Bytes that are sent at once, unless a row has more."""
_SPARE: Final = 128
_SPARE_FOR_THREAD: Final = 16
"""MiB beside what the rows of a question may take: for DuckDB itself, and each of its threads."""
# Whatever decides the meaning of a text beside the settings is as in PostgreSQL.
_DIALECT: Final = """
set TimeZone = 'UTC';
set integer_division = true;
set default_null_order = 'nulls_last_on_asc_first_on_desc';
"""
_MISSING: Final = re.compile(rf"Table with name \"?({'|'.join(ENTRY_VIEWS)})\"? does not exist")
_NO_MEMORY: Final = re.compile("Allocation failure|bad_alloc")
_REWRITES: Final = "delim_join_as_cte"
_HAS: Final = "select 1 from duckdb_settings() where name = $1"

# Only a computed term that is described is searched for among all.
TERMS: Final = """
create view store.terms as
select id, term_kind(id) as kind, term_text(id, literal_parts(id)) as text,
    term_datatype(literal_parts(id)) as datatype, term_language(literal_parts(id)) as language,
    null::double[] as number, null::timestamptz as moment
from (select subject as id from store.statements union select predicate from store.statements
    union select object from store.statements)
"""


@frozen
class ArchiveQuestion:
    """A question in SQL, which reads ``files`` only; ``definitions`` make its tables and views.

    ``ours``: the compiler has made it, with functions of ours; else it must be one SELECT.
    """

    text: str
    files: Sequence[str]
    definitions: Sequence[str]
    ours: bool


def main(owner: Connection) -> None:
    """Serve until the owner hangs up."""
    serve_forks(owner, _Answering())


class _Answering:
    def tell(self, message: object) -> None:
        """Do nothing: each question brings its files."""

    def answer(
        self, question: ArchiveQuestion, limits: QuestionLimits, send: Callable[[object], None]
    ) -> None:
        """Send the names of the columns, then the rows in batches, while they are computed."""
        spare = _SPARE + _SPARE_FOR_THREAD * (os.cpu_count() or 1)
        limit_memory((limits.memory + spare) * _MIB)
        with _explained(), closing(_opened(question, limits.memory)) as connection:
            if not question.ours:
                _check(connection, question.text)
            reader = connection.sql(question.text).to_arrow_reader(_BATCH)
            send(tuple(reader.schema.names))
            for batch in reader:
                # The owner, who has no such limit, takes a few at a time.
                rows = max(1, _PIECE * batch.num_rows // max(1, batch.nbytes))
                for start in range(0, batch.num_rows, rows):
                    send(batch.slice(start, rows))


def _opened(question: ArchiveQuestion, memory: int) -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory with the tables and views of a question; it opens no other file, loads no
    extension, and its settings are locked.
    """
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{memory}MiB",
            "temp_directory": "",
            "allow_community_extensions": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    try:
        connection.execute(_DIALECT)
        connection.execute("set allowed_paths = $1", [list(question.files)])
        connection.execute("set enable_external_access = false")
        for statement in question.definitions:
            connection.execute(statement)
        if question.ours:
            install(connection)
            connection.execute(TERMS)
        # DuckDB 2.0 looks for joins that no question here has, and copies what a row computes for
        # each query around it: two comparisons took gigabytes to plan.
        if connection.execute(_HAS, [_REWRITES]).fetchone():
            connection.execute(f"set {_REWRITES} = false")
        connection.execute("set search_path = 'history'")
        connection.execute("set lock_configuration = true")
    except duckdb.Error as error:
        if _of_memory(error):
            raise
        raise ArchiveError(f"cannot open the archive: {error}") from error
    return connection


def _check(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    statements = connection.extract_statements(text)
    # A COPY could write over the archive's files, which DuckDB may open.
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError("expected one SELECT")


@contextmanager
def _explained() -> Iterator[None]:
    """A block whose errors become SensorStream's."""
    try:
        yield
    except (duckdb.Error, MemoryError) as error:
        raise _ours(error) from error


def _ours(error: duckdb.Error | MemoryError) -> SensorStreamError:
    told = str(error)
    if _of_memory(error):
        return Overrun("the query needs more memory than limits.question_memory allows")
    if isinstance(error, duckdb.IOException):
        return ArchiveError(
            f"the archive cannot be read; if it has just changed, ask again: {told}"
        )
    missing = _MISSING.search(told)
    if missing is not None:
        return QueryError(f"{missing[1]} are never archived: ask PostgreSQL, with --on history")
    return QueryError(told)


def _of_memory(error: Exception) -> bool:
    """Whether there was no memory left; while it plans, DuckDB may tell that in other errors."""
    return isinstance(error, duckdb.OutOfMemoryException | MemoryError) or (
        _NO_MEMORY.search(str(error)) is not None
    )
