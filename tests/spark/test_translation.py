from __future__ import annotations

import pytest
from sqlglot import exp

from sensorstream.errors import Position, QueryError
from sensorstream.history.view_definitions import view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.spark.bulk_sql import with_views
from sensorstream.sql.postgres.sql_reader import Catalog, translate
from sensorstream.sql.postgres.sql_scope import BIGINT, DOUBLE, MOMENT, TEXT

HUMAN = {"iri": TEXT, "x": BIGINT, "speed": DOUBLE, "time": MOMENT}
CATALOG = Catalog({"human": HUMAN, "room": {"iri": TEXT}, "messages": {"id": TEXT}}, True)
# A database that sorts texts by a language.
OTHER = Catalog(CATALOG.views, by_code_point=False)


def test_only_the_views_a_query_uses_are_made() -> None:
    text = "with x as (select 1 as one) select * from x, history.human, room"
    assert translate(text, CATALOG).views == ("human", "room")


def test_the_query_of_a_view_stands_in_the_place_of_its_name(schema: Schema) -> None:
    views = {f"history_{each.name}": each for each in view_definitions(schema, Timeline.INTEGER)}
    text = "select a.iri from human a, room where a.x > (select count(*) from x)"
    told = translate(text, Catalog({**CATALOG.views, "x": {"value": BIGINT}}, True))
    names = {each.this.name for each in told.tree.find_all(exp.Table)}
    assert names == {"history_human", "history_room", "history_x"}
    tables = [(each.db, each.name) for each in with_views(told.tree, views).find_all(exp.Table)]
    assert {db for db, _ in tables} == {"store"}
    # The human's stay and statements (of its class, and its values), the room's, and those of x.
    assert [name for _, name in tables].count("statements") == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "select 1; select 2",
        "drop view human",
        "insert into history.human values (1)",
        "with gone as (delete from history.human returning *) select * from gone",
        "select * into mine from human",
        "select * from store.webhooks",
        "select * from webhooks",
        "select * from pg_catalog.pg_roles",
        'select * from parquet."/etc"',
        "select * from human where iri in (select id from store.messages)",
        "select reflect('java.lang.System', 'exit', 1) from human",
        "set role postgres",
        "explain select 1",
        "select * from human for update",
        f"select {'(' * 3000}1{')' * 3000}",
        f"select {'-(' * 400}1{')' * 400}",
    ],
)
def test_only_a_select_over_the_views_is_taken(text: str) -> None:
    with pytest.raises(QueryError):
        translate(text, CATALOG)


def test_a_long_condition_is_taken() -> None:
    text = "select iri from human where " + " or ".join(f"x = {n}" for n in range(300))
    assert translate(text, CATALOG).text.count(" OR ") == 299


def test_parentheses_that_say_nothing_are_left_out_for_sparks_parser() -> None:
    text = (
        "select iri from human where (((x = 1) and (x > 2)) or ((x = 3) and ((x = 4) or (x = 5))))"
    )
    told = translate(text, CATALOG).text.partition(" WHERE ")[2]
    assert told.count("(") - told.count("CAST(") == 1


def test_an_error_says_where_it_is() -> None:
    with pytest.raises(QueryError, match="not SQL that can be read") as caught:
        translate("select iri\nfrom human where and", CATALOG)
    assert isinstance(caught.value.position, Position)
    assert caught.value.position.line == 2


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("select iri,\n  regexp_replace(iri, 'a', 'b') from human", 2, 3),
        ("select iri from human\nwhere x = any(array[1])", 2, 21),
        ("select iri\nfrom human, missing", 2, 13),
        ("select x::smallint from human", 1, 8),
    ],
)
def test_a_refusal_names_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(QueryError, match="not on Spark") as caught:
        translate(text, CATALOG)
    assert caught.value.position == Position("query", line, column)


@pytest.mark.parametrize(
    "text",
    [
        "select max(iri) from human",
        "select iri from human order by iri",
        "select iri from human order by 1",
        "select iri from human where iri < 'b'",
        "select lower(iri) from human",
        "select iri from human where iri ilike 'a%'",
        "select array_agg(x order by iri) from human",
        "select row_number() over (order by iri) from human",
        "select iri from human union select iri from room order by iri",
        "select greatest(iri, 'b') from human",
    ],
)
def test_texts_are_not_sorted_by_code_point_where_the_database_knows_a_language(text: str) -> None:
    translate(text, CATALOG)
    with pytest.raises(QueryError, match="language"):
        translate(text, OTHER)


def test_a_collation_makes_the_order_of_texts_clear() -> None:
    text = 'select iri from human where iri collate "C" < \'b\' order by iri collate "C"'
    assert translate(text, OTHER)
