"""SQL over the archive, by DuckDB in this process: without Spark, Java or a server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer
from typing import Final

import duckdb
import pyarrow as pa

from sensorstream.archive.files import pattern
from sensorstream.archive.layout import TABLES
from sensorstream.archive.manifest import Part, State, kept_parts
from sensorstream.archive.relations import LIVE_VIEWS, definitions
from sensorstream.errors import ArchiveError, Overrun, QueryError
from sensorstream.history.asking.stopping import Stop
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.history.view_definitions import View, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

_BATCH: Final = 10_000
# What is no setting but decides what a text means is as in PostgreSQL.
_DIALECT: Final = """
set TimeZone = 'UTC';
set integer_division = true;
set default_null_order = 'nulls_last_on_asc_first_on_desc';
"""
_MISSING: Final = re.compile(rf"Table with name \"?({'|'.join(LIVE_VIEWS)})\"? does not exist")


_REWRITES: Final = "delim_join_as_cte"
_HAS: Final = "select 1 from duckdb_settings() where name = $1"


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
    parts = kept_parts(url, State.ARCHIVED)
    views = view_definitions(schema, timeline)
    with closing(open_archive(parts, folder, views, memory)) as connection:
        return ask(connection, text, timeout=timeout, row_limit=row_limit, stop=stop)


def open_archive(
    parts: Sequence[Part],
    folder: Path,
    views: Iterable[View],
    memory: int,
    prepare: Callable[[duckdb.DuckDBPyConnection], None] = lambda _: None,
) -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory that has views of history over some parts, and sees nothing else.

    It opens no other file, loads no extension, and its settings are locked. ``prepare`` makes what
    a question needs besides, before that.

    Raises:
        ArchiveError: a file is missing or damaged.
    """
    files = {table: [part.file(folder, table) for part in parts] for table in TABLES}
    for several in files.values():
        for file in several:
            if not file.exists():
                raise ArchiveError(
                    f"{file} is missing: expected the files that the archive's manifest lists"
                )
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
        paths = [str(each) for several in files.values() for each in several]
        connection.execute(_DIALECT)
        connection.execute("set allowed_paths = $1", [paths])
        connection.execute("set enable_external_access = false")
        patterns = {table: list(map(pattern, several)) for table, several in files.items()}
        for statement in definitions(patterns, views):
            connection.execute(statement)
        prepare(connection)
        # DuckDB 2.0 looks for joins that no question here has, and copies what a row computes for
        # each query around it: two comparisons took gigabytes to plan, which no limit counts.
        if connection.execute(_HAS, [_REWRITES]).fetchone():
            connection.execute(f"set {_REWRITES} = false")
        connection.execute("set search_path = 'history'")
        connection.execute("set lock_configuration = true")
    except duckdb.Error as error:
        connection.close()
        raise ArchiveError(f"cannot open the archive in {folder}: {error}") from error
    return connection


def ask(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    *,
    timeout: float,
    row_limit: int,
    parameters: Mapping[str, object] | None = None,
    stop: Stop | None = None,
) -> SqlResult:
    """Answer one SELECT.

    Raises:
        QueryError: it is no SELECT, is refused, or needs too much time or memory.
        ArchiveError: a file is missing or damaged.
    """
    with interrupted(connection, timeout, stop):
        statements = connection.extract_statements(text)
        # A COPY could write over the archive's files, which DuckDB may open.
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryError("expected one SELECT")
        reader = connection.sql(text, params=parameters).to_arrow_reader(_BATCH)
        rows = list(_rows(reader, row_limit + 1))
    return SqlResult(
        tuple(reader.schema.names), tuple(rows[:row_limit]), truncated=len(rows) > row_limit
    )


def _rows(reader: pa.RecordBatchReader, limit: int) -> Iterator[tuple[object, ...]]:
    for batch in reader:
        taken = batch.slice(0, limit)
        limit -= taken.num_rows
        yield from zip(*(each.to_pylist() for each in taken.columns), strict=True)
        if limit <= 0:
            return


def batches(
    connection: duckdb.DuckDBPyConnection, text: str
) -> Iterator[Sequence[tuple[object, ...]]]:
    """The rows of a query that the compiler made, while they are computed."""
    for batch in connection.sql(text).to_arrow_reader(_BATCH):
        yield list(zip(*(each.to_pylist() for each in batch.columns), strict=True))


@contextmanager
def interrupted(
    connection: duckdb.DuckDBPyConnection, timeout: float, stop: Stop | None = None
) -> Iterator[None]:
    """A block whose queries end after some seconds or by ``stop``, and whose errors are ours."""
    timer = Timer(timeout, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        with (stop or Stop()).by(connection.interrupt), _explained():
            yield
    finally:
        timer.cancel()


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException as error:
        raise Overrun("the query took longer than limits.question_seconds allows") from error
    except duckdb.OutOfMemoryException as error:
        raise Overrun("the query needs more memory than limits.question_memory allows") from error
    except duckdb.IOException as error:
        raise ArchiveError(
            f"the archive cannot be read; if it has just changed, ask again: {error}"
        ) from error
    except duckdb.Error as error:
        missing = _MISSING.search(str(error))
        if missing is not None:
            raise QueryError(
                f"{missing[1]} are never archived: ask PostgreSQL, with --on history"
            ) from error
        raise QueryError(str(error)) from error
