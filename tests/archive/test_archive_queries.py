"""The archive answers SQL as PostgreSQL does, and opens nothing else."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from sensorstream.archive.archive_moves import archive
from sensorstream.archive.archive_queries import Archive, DuckDB, archive_sql
from sensorstream.errors import ArchiveError, Overrun, QueryError
from sensorstream.history.asking.query_run import AskingLimits
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.view_definitions import view_definitions
from sensorstream.model.schema import Schema
from tests.archive.conftest import EX, LINE, make
from tests.archive.test_archiving import END
from tests.waiting import command_of, eventually

QUESTIONS = (
    "select iri, value, valid_from, valid_to, message_id, inferred from x where value > 5",
    f"select subject, object from statements where predicate = '{EX}hasName' and language = 'en'",
    "select class, count(*) from individuals group by class",
    "select h.iri, r.value from human h join has_location r on r.iri = h.iri where h.x > 3",
    "select count(*), 7 / 2, -7 / 2 from human where time > '2014-08-02T00:00:00Z'",
    "select value from speed order by value desc limit 40",
    f"select object from statements where subject = '{EX}human-7' and not superseded",
    "select count(*) from statements where starts_with(subject, 'b')",
)


@pytest.fixture(scope="module")
def kept(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A history, and the archive of its first days; nobody changes them."""
    url, folder = new_database(), tmp_path_factory.mktemp("kept") / "archive"
    make(url)
    assert archive(url, folder, END, LINE)
    return url, folder


DUCKDB = DuckDB()


def ask(url: str, folder: Path, text: str, schema: Schema, **limits: float) -> SqlResult:
    told = {"memory": 256, "timeout": 300.0, "row_limit": 100_000, **limits}
    return archive_sql(
        Archive(url, folder, int(told["memory"]), DUCKDB),
        text,
        view_definitions(schema, LINE),
        AskingLimits(told["timeout"], int(told["row_limit"])),
    )


def plain(found: SqlResult) -> list[str]:
    """Rows as texts: only the class of a number or of a time zone may differ."""
    return [
        str([str(float(c)) if isinstance(c, float) else str(c) for c in row]) for row in found.rows
    ]


def test_every_view_shows_what_postgresql_showed(
    history: str, archived: Path, schema: Schema
) -> None:
    views = [
        each.name
        for each in view_definitions(schema, LINE)
        if each.name not in ("messages", "alerts")
    ]
    texts = [f'select * from "{name}"' for name in views]
    before = [run_sql(history, text, timeout=300, row_limit=10**6) for text in texts]
    archive(history, archived, END, LINE)
    for text, told in zip(texts, before, strict=True):
        found = ask(history, archived, text, schema)
        assert found.columns == told.columns, text
        assert sorted(plain(found)) == sorted(plain(told)), text


def test_questions_have_the_answers_of_postgresql(
    history: str, archived: Path, schema: Schema
) -> None:
    before = {text: run_sql(history, text, timeout=300, row_limit=10**6) for text in QUESTIONS}
    archive(history, archived, END, LINE)
    for text, told in before.items():
        found = ask(history, archived, text, schema)
        assert sorted(plain(found)) == sorted(plain(told)), text
        assert found.rows, text


def test_an_empty_archive_has_all_views_without_rows(
    history: str, archived: Path, schema: Schema
) -> None:
    assert ask(history, archived, "select * from human", schema).rows == ()


def test_a_length_of_time_is_a_value_of_arrow(kept: tuple[str, Path], schema: Schema) -> None:
    found = ask(*kept, "select interval '1 day' as day, array[1.5, null] as both", schema)
    assert found.rows == ((pa.MonthDayNano([0, 1, 0]), [Decimal("1.5"), None]),)


def test_missing_rows_are_told(history: str, archived: Path, schema: Schema) -> None:
    archive(history, archived, END, LINE)
    found = ask(history, archived, "select * from statements", schema, row_limit=7)
    assert (len(found.rows), found.truncated) == (7, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("select", "syntax error|SELECT clause without selection list"),
        ("select * from nowhere", "nowhere"),
        ("select 1; select 2", "expected one SELECT"),
        ("", "expected one SELECT"),
        ("copy (select 1) to '{file}'", "expected one SELECT"),
        ("delete from store.stays", "expected one SELECT"),
        ("set memory_limit = '99GB'", "expected one SELECT"),
        ("attach '/tmp/other.db'", "expected one SELECT"),
        ("install httpfs", "expected one SELECT"),
        ("select * from read_csv('/etc/passwd')", "Cannot access file"),
        ("select * from read_text('{folder}/../secret')", "Cannot access file"),
        ("select * from query('copy (select 1) to ''{file}''')", "SELECT"),
        ("select * from alerts", "never archived: ask PostgreSQL, with --on history"),
    ],
)
def test_what_is_no_question_to_the_archive_is_refused(
    text: str, told: str, kept: tuple[str, Path], schema: Schema
) -> None:
    url, folder = kept
    (folder.parent / "secret").write_text("secret")
    files = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    (file, *_) = files
    assert files[file]
    with pytest.raises(QueryError, match=told):
        ask(url, folder, text.format(file=file, folder=folder), schema)
    assert {path: path.read_bytes() for path in folder.rglob("*.parquet")} == files


def test_time_and_memory_are_limited(history: str, archived: Path, schema: Schema) -> None:
    archive(history, archived, END, LINE)
    endless = "select count(*) from range(100000000000) a, range(1000) b where a.range % 7 = 3"
    with pytest.raises(Overrun, match=r"longer than 0\.3 seconds: .* \(limits\.question_seconds\)"):
        ask(history, archived, endless, schema, timeout=0.3)
    large = "select a.range from range(100000000) a order by random()"
    with pytest.raises(Overrun, match=r"more memory than limits\.question_memory"):
        ask(history, archived, large, schema, memory=64)


def test_a_text_whose_plan_takes_gigabytes_ends_alone(
    kept: tuple[str, Path], schema: Schema
) -> None:
    url, folder = kept
    twice = "with c0 as (select 1 as x)"
    for n in range(24):
        twice += f", c{n + 1} as not materialized (select a.x + b.x as x from c{n} a, c{n} b)"
    with pytest.raises(Overrun, match=r"more memory than limits\.question_memory"):
        ask(url, folder, f"{twice} select x from c24", schema)
    assert ask(url, folder, "select 1", schema).rows == ((1,),)


def test_a_file_that_is_gone_is_told(history: str, archived: Path, schema: Schema) -> None:
    archive(history, archived, END, LINE)
    for path in archived.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(ArchiveError, match="is missing: expected"):
        ask(history, archived, "select 1", schema)


def test_the_process_that_answers_ends_with_the_last_who_has_the_archive(
    kept: tuple[str, Path],
) -> None:
    def answering() -> set[int]:
        children = psutil.Process().children()
        return {p.pid for p in children if "sensorstream.archive.archive_process" in command_of(p)}

    before = answering()
    place = Archive(*kept, 256)
    archive_sql(place, "select 1", [], AskingLimits(60.0, 10))
    (pid,) = answering() - before
    # All of others would be missing in a fork.
    assert psutil.Process(pid).num_threads() == 1
    del place
    eventually(lambda: answering() == before)
