"""The SQL of the corpora and the documents on PostgreSQL, DuckDB and Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from sensorstream.archive.archive_moves import archive
from sensorstream.archive.archive_queries import Archive, archive_sql
from sensorstream.history.asking.query_run import AskingLimits
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.view_definitions import view_definitions
from sensorstream.spark.history_snapshot import HistoryPlace
from tests.archive import conftest as archived
from tests.archive.test_archive_queries import QUESTIONS
from tests.archive.test_archiving import END
from tests.equivalence.canonical import CHECKOUT, table, value_text
from tests.equivalence.items import Item, Tools, name_of, parametrized
from tests.history import test_read_only_sql
from tests.history.test_sql_formats import EVERY_KIND
from tests.spark import conftest as bulk
from tests.spark import test_translation
from tests.spark.corpus import sql_texts

_BLOCK: Final = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_QUOTED: Final = re.compile(r"\"((?:select|SELECT|with) [^\"]*)\"")
_ORDERED: Final = re.compile(r"(?i)\border\s+by\b[^)]*$")
_OF_ANY: Final = re.compile(
    r"(?i)\b(random|now|clock_timestamp|current_\w+|localtime\w*|tablesample|pg_\w+)\b"
)
_MOST: Final = 10_000
_SECONDS: Final = 600.0


def _texts() -> list[str]:
    found = [each.query for each in sql_texts()]
    found += [*QUESTIONS, EVERY_KIND]
    for module in (test_read_only_sql, test_translation):
        found += parametrized(module)
    for page in (*sorted((CHECKOUT / "docs").rglob("*.md")), CHECKOUT / "README.md"):
        content = page.read_text("utf-8")
        for block in _BLOCK.findall(content):
            found += (part for each in block.split(";\n") if (part := each.strip()))
        found += _QUOTED.findall(content)
    return [each for each in dict.fromkeys(found) if "pg_sleep" not in each]


def of_tables(tools: Tools) -> Iterator[Item]:
    """Each text on PostgreSQL and DuckDB."""
    urls = [tools.new_database() for _ in range(3)]
    bulk.make(urls[0])
    for url in urls[1:]:
        archived.make(url)
    folder = tools.new_folder() / "archive"
    archive(urls[2], folder, END, archived.LINE)
    kept = Archive(urls[2], folder, 512)
    asked: dict[str, Callable[[str], SqlResult]] = {
        "postgresql": lambda text: run_sql(urls[0], text, timeout=_SECONDS, row_limit=_MOST),
        "postgresql-of-days": lambda text: run_sql(
            urls[1], text, timeout=_SECONDS, row_limit=_MOST
        ),
        "duckdb": lambda text: archive_sql(
            kept,
            text,
            view_definitions(archived.SCHEMA, archived.LINE),
            AskingLimits(_SECONDS, _MOST),
        ),
    }
    for text in _texts():
        for name, ask in asked.items():
            yield Item(f"{name}/{name_of(text)}", partial(_answer, text, ask))


def of_spark(tools: Tools) -> Iterator[Item]:
    """Each text on Spark, the history's views held by it."""
    from sensorstream.spark import bulk_sql
    from sensorstream.spark.history_snapshot import snapshot_of
    from sensorstream.sql.postgres.sql_reader import view_name

    url = tools.new_database()
    bulk.make(url)
    views = view_definitions(bulk.SCHEMA, bulk.LINE)
    spark = tools.spark
    bulk_sql.prepare_session(spark)
    with snapshot_of(HistoryPlace(url, tools.new_folder())) as snapshot:
        bulk_sql.define_views(spark, snapshot, views)
        for view in views:
            rows = spark.table(view_name(view.name)).toArrow()
            spark.createDataFrame(rows).coalesce(1).createOrReplaceTempView(view_name(view.name))

    def ask(text: str) -> SqlResult:
        prepared = bulk_sql.prepare(url, text, timeout=_SECONDS)
        with bulk_sql.spark_errors():
            return bulk_sql.collected(spark.sql(prepared.query.text), prepared, _MOST)

    for text in _texts():
        yield Item(name_of(text), partial(_answer, text, ask))


def _answer(text: str, ask: Callable[[str], SqlResult]) -> str:
    found = ask(text)
    if _OF_ANY.search(text):
        # Another time, other rows: of the clock, of chance, of PostgreSQL's own tables.
        return str(found.columns)
    rows = [[*map(value_text, row)] for row in found.rows]
    if re.search(r"(?i)\b(limit|offset)\s+\d", text) and not _ORDERED.search(text):
        return f"{found.columns}: {len(rows)} rows"
    names = [str(each) for each in found.columns]
    return table(names, rows, ordered=bool(_ORDERED.search(text)))
