"""The window beside history in SQL: the views of schema ``live``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import OntologyConflict, QueryError
from sensorstream.history.read_only_sql import run_sql
from sensorstream.history.term_dictionary import term_key
from tests.history import house


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]
) -> Iterator[Application]:
    """The house: six individuals are in its window, the others have left it."""
    settings = house.settings(tmp_path_factory.mktemp("live"), new_database())
    with Application.open(settings) as opened:
        for future in [opened.submit(each, "house") for each in house.messages()]:
            assert future.result(60).status.value == "accepted"
        yield opened


def rows(application: Application, text: str) -> Counter[tuple[object, ...]]:
    return Counter(application.asking.sql(text).rows)


def test_live_and_history_have_the_same_views_with_the_same_columns(whole: Application) -> None:
    columns = (
        "select c.table_name, c.column_name, c.ordinal_position, c.data_type "
        "from information_schema.columns c where c.table_schema = '{}'"
    )
    live, history = (rows(whole, columns.format(name)) for name in ("live", "history"))
    assert {row[0] for row in history - live} == {"messages", "alerts"}
    assert not live - history


def test_live_statements_are_those_of_the_window(whole: Application) -> None:
    found = rows(
        whole,
        "select subject, predicate, object, valid_from, message_id from live.statements "
        "where not inferred",
    )
    assert found == Counter(
        (*(term_key(term).text for term in triple), said.time, said.message)
        for individual in whole.engine.window
        for triple, said in individual.statements.items()
    )
    ended = rows(whole, "select distinct valid_to, superseded from live.statements")
    assert ended == Counter([(None, False)])
    assert rows(whole, "select 1 from live.statements where inferred")


def test_the_views_of_classes_and_properties_have_the_windows_values(whole: Application) -> None:
    names = {str(each.name): each for each in whole.engine.window}
    sensors = whole.asking.sql(
        'select iri, time, expired_at, message_id, "count" from live.sensor'
    ).rows
    assert {row[0]: row[1:4] for row in sensors} == {
        name: (each.time, None, each.message) for name, each in names.items()
    }
    counts = whole.asking.sql("select iri, value, valid_from, valid_to from live.count").rows
    assert {row[0]: row[1] for row in counts} == {row[0]: row[4] for row in sensors}
    assert {row[2] for row in counts} == {each.time for each in names.values()}
    classes = rows(whole, "select iri, class from live.individuals where class like '%Sensor'")
    assert classes == Counter((name, "http://example.org/house#Sensor") for name in names)


def test_live_and_history_are_asked_together_at_one_instant(whole: Application) -> None:
    ever = whole.asking.sql(
        "select count(*), count(distinct (iri, valid_from)) from ("
        "select iri, valid_from from history.count union all "
        "select iri, valid_from from live.count) as every"
    ).rows
    assert ever == ((70, 70),)


def test_the_planner_sees_the_tables_behind_the_views(whole: Application) -> None:
    plan = str(whole.asking.sql("/* live */ explain select iri, title from live.sensor").rows)
    assert "on live_statements" in plan
    assert "Function Scan" not in plan


def test_a_text_that_only_looks_like_it_is_answered(whole: Application) -> None:
    assert whole.asking.sql("select 'live' as a").rows == (("live",),)
    with pytest.raises(QueryError, match=r'relation "live.nothing" does not exist'):
        whole.asking.sql("select * from live.nothing")


def test_without_a_server_it_is_said_who_knows_the_window(whole: Application) -> None:
    for text in ("select * from live.statements", "select 1 from live.sensor"):
        with pytest.raises(QueryError, match="window of a running server"):
            run_sql(whole.url, text, timeout=300, row_limit=10)


def test_an_ontology_does_not_break_a_view_over_the_window(tmp_path: Path, database: str) -> None:
    with Application.open(house.settings(tmp_path, database)) as opened:
        with opened.database.begin() as connection:
            connection.exec_driver_sql("create view history.mine as select * from live.sensor")
        text = (house.FOLDER / "house.ttl").read_text() + ":tag a owl:DatatypeProperty .\n"
        with pytest.raises(OntologyConflict, match=r"mine is built on live\.sensor"):
            opened.ontologies.put(text.encode(), "text/turtle")
