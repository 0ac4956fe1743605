"""What the schema before held is there after an upgrade, and again after the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg2
import pytest
from alembic import command
from psycopg2 import extensions
from sqlalchemy import Engine

from sensorstream.errors import HistoryError
from sensorstream.history.database import engine
from sensorstream.history.migrations import configuration, migrate
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline

XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
DAY = 86_400_000_000

_STATEMENTS = (
    "select stay, subject, predicate, object, kind, datatype, language, number, moment, "
    "valid_from, valid_to, message_id, inferred, superseded from store.statements order by 1, 2, 4"
)
_READABLE = """
    select s.stay, n.text, n.kind, o.text, o.kind, o.datatype, o.language, o.number::text,
        o.moment, s.number, s.valid_from, s.valid_to, s.message, s.inferred
    from store.statements s join store.terms n on n.id = s.subject
    join store.terms o on o.id = s.object order by 1, 4, 2
"""


@pytest.fixture
def before(url: str) -> Iterator[Engine]:
    """A database with the schema of revision 0009."""
    database = engine(url)
    migrate(database)
    with database.begin() as connection:
        command.downgrade(configuration(connection), "0009")
    yield database
    database.dispose()


@pytest.fixture
def cursor(url: str) -> Iterator[extensions.cursor]:
    connection = psycopg2.connect(url, options="-c TimeZone=UTC")
    connection.autocommit = True
    with connection.cursor() as opened:
        yield opened
    connection.close()


def asked(cursor: extensions.cursor, query: str) -> list[tuple[Any, ...]]:
    cursor.execute(query)
    return cursor.fetchall()


def begin(cursor: extensions.cursor, timeline: Timeline) -> None:
    cursor.execute(
        "insert into store.progress (watermark, timeline) values (7, %s)", (timeline.value,)
    )


def say(cursor: extensions.cursor, stay: int, *rows: tuple[object, ...]) -> None:
    for row in rows:
        cursor.execute(
            "insert into store.statements (stay, subject, predicate, object, kind, datatype, "
            "language, number, moment, valid_from, valid_to, message_id, inferred, superseded) "
            "values (%s, %s, 'urn:p', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (stay, *row),
        )


def test_terms_of_all_kinds_are_moved(before: Engine, cursor: extensions.cursor) -> None:
    begin(cursor, Timeline.INTEGER)
    cursor.execute(
        "insert into store.individuals values (1, 'urn:a', 5, 10, 30, 'm3'), "
        "(2, 'urn:a', 50, 60, 70, 'm5'), (3, '_:b', 1, 2, 100000, 'm6')"
    )
    end = (10, 30, "m3", False, False)
    long = "9" * 400
    say(
        cursor,
        1,
        ("urn:a", "a text", "literal", f"{XSD}string", None, None, None, *end),
        ("urn:a", "bonjour\\ '\n", "literal", LANG_STRING, "fr", None, None, *end),
        ("urn:a", " +072 ", "literal", f"{XSD}integer", None, 72, None, *end),
        ("urn:a", "072", "literal", f"{XSD}string", None, None, None, *end),
        ("urn:a", "9007199254740993", "literal", f"{XSD}integer", None, 2.0**53, None, *end),
        ("urn:a", long, "literal", f"{XSD}integer", None, None, None, *end),
        ("urn:a", f"-{long}", "literal", f"{XSD}decimal", None, None, None, *end),
        ("urn:a", "300", "literal", f"{XSD}byte", None, None, None, *end),
        ("urn:a", "0.10", "literal", f"{XSD}decimal", None, 0.1, None, *end),
        ("urn:a", "1.5e1", "literal", f"{XSD}double", None, 15, None, *end),
        ("urn:a", "-INF", "literal", f"{XSD}double", None, float("-inf"), None, *end),
        ("urn:a", "NaN", "literal", f"{XSD}float", None, float("nan"), None, *end),
        ("urn:a", "apples", "literal", f"{XSD}integer", None, None, None, *end),
        ("urn:a", "_:b", "blank", None, None, None, None, *end),
        ("_:b", "urn:a", "iri", None, None, None, None, *end),
        ("urn:a", "urn:a", "literal", f"{XSD}anyURI", None, None, None, *end),
    )
    say(
        cursor,
        2,
        ("urn:a", "72", "literal", f"{XSD}integer", None, 72, None, 55, 58, "m4", False, True),
        ("urn:a", "urn:C", "iri", None, None, None, None, 60, 70, "m5", True, False),
    )
    kept = asked(cursor, _STATEMENTS)
    migrate(before)
    first = (10, 30, 3, False)
    assert asked(cursor, _READABLE.replace("order by", "and s.stay = 1 order by")) == [
        (1, "urn:a", 0, " +072 ", 2, f"{XSD}integer", None, "72", None, 72.0, *first),
        (1, "urn:a", 0, f"-{long}", 2, f"{XSD}decimal", None, f"-{long}", None, -INF, *first),
        (1, "urn:a", 0, "-INF", 2, f"{XSD}double", None, "-Infinity", None, -INF, *first),
        (1, "urn:a", 0, "0.10", 2, f"{XSD}decimal", None, "0.10", None, 0.1, *first),
        (1, "urn:a", 0, "072", 2, f"{XSD}string", None, None, None, None, *first),
        (1, "urn:a", 0, "1.5e1", 2, f"{XSD}double", None, "15", None, 15.0, *first),
        (1, "urn:a", 0, "300", 2, f"{XSD}byte", None, None, None, None, *first),
        (
            *(1, "urn:a", 0, "9007199254740993", 2, f"{XSD}integer", None),
            *("9007199254740993", None, 2.0**53, *first),
        ),
        (1, "urn:a", 0, long, 2, f"{XSD}integer", None, long, None, INF, *first),
        (1, "urn:a", 0, "NaN", 2, f"{XSD}float", None, "NaN", None, NAN, *first),
        (1, "urn:a", 0, "a text", 2, f"{XSD}string", None, None, None, None, *first),
        (1, "urn:a", 0, "apples", 2, f"{XSD}integer", None, None, None, None, *first),
        (1, "urn:a", 0, "b", 1, None, None, None, None, None, *first),
        (1, "urn:a", 0, "bonjour\\ '\n", 2, LANG_STRING, "fr", None, None, None, *first),
        (1, "b", 1, "urn:a", 0, None, None, None, None, None, *first),
        (1, "urn:a", 0, "urn:a", 2, f"{XSD}anyURI", None, None, None, None, *first),
    ]
    assert asked(cursor, _READABLE.replace("order by", "and s.stay = 2 order by")) == [
        (2, "urn:a", 0, "72", 2, f"{XSD}integer", None, "72", None, 72.0, 55, 58, 4, False),
        (2, "urn:a", 0, "urn:C", 0, None, None, None, None, None, 60, 70, 5, True),
    ]
    assert asked(
        cursor,
        "select stay, text, kind, entered, time, expired_at, message "
        "from store.stays join store.terms on id = name order by 1",
    ) == [
        (1, "urn:a", 0, 5, 10, 30, 3),
        (2, "urn:a", 0, 50, 60, 70, 5),
        (3, "b", 1, 1, 2, 100000, 6),
    ]
    duplicates = "select 1 from store.terms group by kind, text, datatype, language"
    assert asked(cursor, f"{duplicates} having count(*) > 1") == []
    with before.begin() as connection:
        command.downgrade(configuration(connection), "0009")
    back = asked(cursor, _STATEMENTS)
    assert [_without_number(row) for row in back] == [_without_number(row) for row in kept]


def test_the_writer_goes_on_where_the_move_ended(
    before: Engine, cursor: extensions.cursor, url: str
) -> None:
    begin(cursor, Timeline.INTEGER)
    say(cursor, 1, ("urn:a", "x", "literal", f"{XSD}string", None, None, None, 1, 2, "m1", False,
        False))  # fmt: skip
    with PostgresStore.open(url, Timeline.INTEGER) as store:
        assert store.watermark() == 7
    assert asked(cursor, "select last_term = (select max(id) from store.terms) from store.progress")


def test_much_is_moved_at_once_and_in_whole_days(before: Engine, cursor: extensions.cursor) -> None:
    begin(cursor, Timeline.DATETIME)
    cursor.execute(
        "insert into store.statements (stay, subject, predicate, object, kind, valid_from, "
        "valid_to, message_id, inferred, superseded) "
        "select n, 'urn:s' || n % 5000, 'urn:p' || n % 3, 'urn:o' || n, 'iri', 0, "
        f"(n - 30000) * {DAY // 24}, 'm1', false, false from generate_series(1, 60000) n"
    )
    migrate(before)
    assert asked(cursor, "select count(*), min(valid_to) from store.statements") == [
        (60000, -29999 * DAY // 24)
    ]
    assert asked(
        cursor,
        "select count(*) from store.statements s join store.terms n on n.id = s.subject "
        "join store.terms o on o.id = s.object "
        "where n.text = 'urn:s' || substr(o.text, 6)::int % 5000",
    ) == [(60000,)]
    bounds = asked(
        cursor,
        "select pg_get_expr(relpartbound, oid) from pg_class "
        "where relispartition and relkind = 'r'",
    )
    assert bounds == [(f"FOR VALUES FROM ('{-1250 * DAY}') TO ('{1251 * DAY}')",)]
    # The planner has statistics of spans; those that end before they begin have none.
    cursor.execute(f"update store.statements set valid_from = least(valid_to - {DAY}, 7)")
    cursor.execute("analyze store.statements")
    at = 100 * DAY
    (plan,) = asked(
        cursor,
        "explain (format json) select from store.statements "
        f"where store.span(valid_from, valid_to) @> {at}::bigint",
    )
    (held,) = asked(
        cursor,
        f"select count(*) from store.statements where valid_from <= {at} and valid_to > {at}",
    )
    assert held[0] / 2 < plan[0][0]["Plan"]["Plan Rows"] < held[0] * 2


def test_generated_views_are_in_no_upgrades_way(before: Engine, cursor: extensions.cursor) -> None:
    cursor.execute("create schema history")
    cursor.execute("create view history.old as select * from store.statements")
    cursor.execute("comment on view history.old is 'SensorStream: old [0]'")
    migrate(before)
    assert asked(cursor, "select 1 from pg_views where schemaname = 'history'") == []


def test_a_view_of_the_user_on_a_generated_one_is_named(
    before: Engine, cursor: extensions.cursor
) -> None:
    cursor.execute("create schema history")
    cursor.execute("create view history.old as select * from store.statements")
    cursor.execute("comment on view history.old is 'SensorStream: old [0]'")
    cursor.execute("create view public.mine as select * from history.old")
    with pytest.raises(HistoryError, match=r"view mine depends on view history\.old"):
        migrate(before)
    assert asked(cursor, "select count(*) from public.mine") == [(0,)]


INF = float("inf")


class _NotANumber:
    """Equal to NaN, which is not equal to itself."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and other != other

    def __hash__(self) -> int:
        return 0


NAN = _NotANumber()


def _without_number(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers that did not fit before are infinite now; NaN differs from itself."""
    return (*row[:7], *row[8:])
