"""SPARQL over history on Spark: as Oxigraph answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import QueryError
from sensorstream.history.asking.answer import Solutions
from sensorstream.history.asking.question import read_question
from sensorstream.history.asking.run import Limits
from sensorstream.history.asking.run import answered as answered_in_postgresql
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Timeline
from sensorstream.spark.snapshot import Place
from sensorstream.spark.sparql.run import answered, check, plan_of
from tests.history import house

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10_000
XSD = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


@pytest.fixture(scope="module")
def history(new_database: Callable[[], str]) -> Iterator[str]:
    """The URL of the house's history; its server has stopped."""
    url = new_database()
    with TemporaryDirectory() as folder:
        with Application.open(house.settings(Path(folder), url)) as application:
            for each in [application.submit(content, "house") for content in house.messages()]:
                assert each.result(60).status.value == "accepted"
        yield url


@pytest.fixture(scope="module")
def place(history: str) -> Place:
    """The history; it has no archive."""
    return Place(history, Path("/no/archive"))


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> SparkSession:
    """Spark for small data: to compile a query would cost more than to run it."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return spark


@pytest.mark.parametrize("case", house.cases(), ids=lambda case: case.name)
def test_an_answer_is_that_of_oxigraph(small: SparkSession, history: str, case: house.Case) -> None:
    store = house.exported(history, case.question.time)
    with answered(small, place, case.question, ROWS) as answer:
        found = house.comparable(answer, case)
    assert found == house.expected(store, case)


EXPRESSIONS = (
    '"123456789012345678901234567890123456789.5"^^xsd:decimal + 1',
    '"0.1"^^xsd:decimal + "0.2"^^xsd:decimal',
    "0.1e0 + 0.2e0",
    "1 / 3",
    "1e0 / 0",
    "1 / 0",
    '"-INF"^^xsd:double',
    '"NaN"^^xsd:double = "NaN"^^xsd:double',
    "1e308 * 10",
    '"1e-400"^^xsd:double = 0',
    "100000000000000000000000000000001 > 100000000000000000000000000000000",
    "ROUND(-2.5)",
    "CEIL(2.1)",
    "FLOOR(-2.1)",
    "ABS(-7)",
    "-(3 - 5)",
    'xsd:integer("-7.9"^^xsd:decimal)',
    'xsd:double("1e3")',
    "STR(1.50)",
    "xsd:string(1e6)",
    '"2014-08-01T24:00:00Z"^^xsd:dateTime = "2014-08-02T02:00:00+02:00"^^xsd:dateTime',
    '"2014-08-01T00:00:00"^^xsd:dateTime < "2014-08-01T01:00:00Z"^^xsd:dateTime',
    '"2014-02-30T00:00:00Z"^^xsd:dateTime = "2014-02-30T00:00:00Z"^^xsd:dateTime',
    'YEAR("2014-08-01T00:00:00Z"^^xsd:dateTime)',
    'TIMEZONE("2014-08-01T00:00:00-08:30"^^xsd:dateTime)',
    'UCASE("straße 😀")',
    'STRLEN("a😀")',
    'SUBSTR("a😀bc", 2, 2)',
    'SUBSTR("abc", 0, 2)',
    'STRBEFORE("abc"@en, "b")',
    'STRAFTER("abc", "")',
    'ENCODE_FOR_URI("a b/ü*~+")',
    'REGEX("a\\nb", "^b$", "m")',
    'REGEX("a\\n", "^a$")',
    'REGEX("STRASSE é", "É$", "i")',
    'REPLACE("a.b.c", "\\\\.", "$")',
    'REPLACE("abcd", "(b)", "[$1]0")',
    'SHA256("ü")',
    'MD5("")',
    'CONCAT("a"@en, "b"@en)',
    'LANGMATCHES("en-GB", "EN")',
    'STRDT("7", xsd:integer) + 1',
    '"7"^^xsd:byte < 300',
    '"300"^^xsd:byte < 400',
    '"${env:HOME} it\'s \\\\ \\"quoted\\"\\n"',
    'COALESCE(1 / 0, "none")',
    'IF(1 = 1.0, "same", "other")',
    'sameTerm("1"^^xsd:integer, "01"^^xsd:integer)',
    '"a" IN ("b", 1, "a")',
    'IRI("urn:x y")',
    'IRI("urn:x")',
)


def test_expressions_mean_the_same_as_in_postgresql(
    small: SparkSession, history: str, place: Place
) -> None:
    parts = " ".join(f"({text} AS ?e{n})" for n, text in enumerate(EXPRESSIONS))
    question = read_question(f"{XSD} SELECT {parts} {{}}", Timeline.INTEGER)
    with answered_in_postgresql(history, question, Limits(60.0, 10)) as answer:
        (expected,) = rows(answer)
    with answered(small, place, question, 10) as answer:
        (found,) = rows(answer)
    assert dict(zip(EXPRESSIONS, found, strict=True)) == dict(
        zip(EXPRESSIONS, expected, strict=True)
    )


def rows(answer: object) -> list[tuple[object, ...]]:
    assert isinstance(answer, Solutions)
    return list(answer.rows)


def test_compiled_code_computes_the_same(spark: SparkSession, history: str, place: Place) -> None:
    text = f"{XSD} SELECT (SUM(?v * 0.5) AS ?s) {{ ?a <http://example.org/house#value> ?v }}"
    question = read_question(text, Timeline.INTEGER)
    with answered_in_postgresql(history, question, Limits(60.0, 10)) as answer:
        expected = rows(answer)
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"):
        spark.conf.unset(name)
    with answered(spark, place, question, 10) as answer:
        found = rows(answer)
    assert found == expected
    assert isinstance(found[0][0], Literal)


def test_an_answer_with_too_many_rows_is_an_error(small: SparkSession, place: Place) -> None:
    question = read_question("SELECT * { ?s ?p ?o } LIMIT 3", Timeline.INTEGER)
    with (
        pytest.raises(QueryError, match=r"more than 2 rows"),
        answered(small, place, question, 2) as answer,
    ):
        rows(answer)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT *\n{ GRAPH <urn:sensorstream:window> { ?s ?p ?o } }",
        "SELECT *\nFROM <urn:sensorstream:static> { ?s ?p ?o }",
    ],
)
def test_what_holds_now_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(QueryError, match="left the window: ask the server, with --on all") as told:
        check(read_question(text, Timeline.INTEGER))
    assert told.value.position is not None
    assert told.value.position.line == 2


def test_the_plan_shows_the_sql_and_what_spark_does(small: SparkSession, place: Place) -> None:
    text = "SELECT ?f { <http://example.org/house#sensor-1> (<urn:p>|<urn:q>)+ ?f }"
    sql, plan = plan_of(small, place, read_question(text, Timeline.INTEGER))
    assert "with its new rows until there are none" in sql
    assert "== Physical Plan ==" in plan
