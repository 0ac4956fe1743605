from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.history.views import numbered, terms_of, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF_TYPE
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
    definitions = view_definitions(schema, Timeline.INTEGER)
    numbers: dict[Term, int] = {
        name: number for number, name in enumerate(sorted(terms_of(definitions)), 1)
    }
    views = {view.name: numbered(view, numbers) for view in definitions}
    human = numbers[IRI("http://example.org/tracking#Human")]
    query, sources = view_query(views["human"])
    assert set(sources) == {
        ViewSource("stays", ("stay", "name", "time", "expired_at", "message")),
        ViewSource(
            "statements",
            ("subject", "valid_to", "stay"),
            (("object", str(human)), ("predicate", str(numbers[RDF_TYPE]))),
        ),
        ViewSource("statements", ("subject", "predicate", "object", "valid_to", "stay", "number")),
        ViewSource("terms", ("id", "kind", "text")),
        ViewSource("terms", ("id", "kind", "text", "number", "moment")),
    }
    assert "LATERAL" not in spark_sql(query)
    (source, *_) = view_query(views["x"])[1]
    x = numbers[IRI("http://example.org/tracking#x")]
    assert source.equals == (("predicate", str(x)),)


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
