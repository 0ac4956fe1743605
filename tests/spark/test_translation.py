from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.history.views import view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.spark.java import java_home
from sensorstream.spark.translation import ViewSource, spark_sql, translate, view_query


def translated(text: str, schema: Schema) -> str:
    views = {view.name: view for view in view_definitions(schema, Timeline.DATETIME)}
    return spark_sql(translate(text, views)[0])


def test_only_the_views_a_query_uses_are_made(schema: Schema) -> None:
    views = {view.name: view for view in view_definitions(schema, Timeline.DATETIME)}
    text = "with x as (select 1 as one) select * from x, history.human, room"
    assert [view.name for view in translate(text, views)[1]] == ["human", "room"]


def test_a_view_reads_only_the_statements_it_needs(schema: Schema) -> None:
    views = {view.name: view for view in view_definitions(schema, Timeline.INTEGER)}
    human = "http://example.org/tracking#Human"
    kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    query, sources = view_query(views["human"])
    kept = ("stay", "subject", "predicate", "object", "number", "moment", "superseded")
    assert set(sources) == {
        ViewSource("individuals", ("stay", "name", "time", "expired_at", "message_id")),
        ViewSource(
            "statements",
            ("stay", "subject", "superseded"),
            (("kind", "iri"), ("object", human), ("predicate", kind)),
        ),
        ViewSource("statements", kept),
    }
    assert "LATERAL" not in spark_sql(query)
    (source,) = view_query(views["x"])[1]
    assert source.equals == (("predicate", "http://example.org/tracking#x"),)
    assert "object" not in source.columns


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
    ],
)
def test_only_a_select_over_the_views_is_taken(schema: Schema, text: str) -> None:
    with pytest.raises(QueryError):
        translated(text, schema)


def test_an_error_says_where_it_is(schema: Schema) -> None:
    with pytest.raises(QueryError, match="not SQL that can be read") as caught:
        translated("select iri\nfrom human where and", schema)
    assert isinstance(caught.value.position, Position)
    assert caught.value.position.line == 2


def test_the_launcher_drops_the_module_the_runtime_lacks(tmp_path: Path) -> None:
    home = java_home(tmp_path / "java home")
    done = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "openjdk" in done.stderr.lower()
