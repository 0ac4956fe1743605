"""SPARQL over history on Spark: as Oxigraph answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from sensorstream.archive.archive_moves import archive
from sensorstream.errors import Overrun, QueryError
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.history.asking.query_run import AskingLimits, answered
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Timeline
from sensorstream.spark.bulk_sql import prepare_session
from sensorstream.spark.history_snapshot import HistoryPlace, snapshot_of
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.spark.spark_relations import over_tables
from sensorstream.spark.sparql import spark_query
from sensorstream.spark.sparql.spark_query import ask, check, plan_of
from tests.history import house
from tests.history.asking.test_query_run import history as history
from tests.spark.conftest import UNCOMPILED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sensorstream.spark.history_snapshot import HistorySnapshot
    from sensorstream.spark.source_tables import SourceTable

ROWS = 10_000
TOGETHER = 10
XSD = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


@pytest.fixture(scope="module")
def place(history: str, tmp_path_factory: pytest.TempPathFactory) -> HistoryPlace:
    """The history, and a folder for its archive."""
    return HistoryPlace(history, tmp_path_factory.mktemp("archive"))


@pytest.fixture
def held(
    spark: SparkSession, tables: Mapping[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> SparkSession:
    """Spark with the history's tables held by Spark: that they are read is tested below."""

    def over_tables(
        spark: SparkSession, _: HistorySnapshot, text: str, names: Mapping[str, SourceTable]
    ) -> DataFrame:
        for name, table in names.items():
            tables[table.name].createOrReplaceTempView(name)
        return spark.sql(text)

    monkeypatch.setattr(spark_query, "over_tables", over_tables)
    return spark


@pytest.fixture(scope="module")
def tables(spark: SparkSession, place: HistoryPlace) -> Mapping[str, DataFrame]:
    """All rows of the history."""
    prepare_session(spark)
    found = {}
    with snapshot_of(place) as snapshot:
        for name in ("statements", "terms"):
            table = {"t": SOURCE_TABLES[name]}
            rows = over_tables(spark, snapshot, "select * from t", table).toArrow()
            found[name] = spark.createDataFrame(rows).coalesce(1)
    return found


@pytest.mark.parametrize("case", house.cases(), ids=lambda case: case.name)
def test_an_answer_is_that_of_oxigraph(
    held: SparkSession, history: str, place: HistoryPlace, case: house.Case
) -> None:
    store = house.exported(history, case.question.time)
    answer = ask(held, place, case.question, row_limit=ROWS)
    found = house.comparable(answer, case)
    assert found == house.expected(store, case)


MORE = (
    "SELECT ?r { ?r a :Room FILTER EXISTS { ?s :in ?r "
    "FILTER NOT EXISTS { ?x :beside ?s . ?x :in ?r } } }",
    "SELECT ?s (EXISTS { ?s :remark ?r } AS ?e) { ?s a :Sensor }",
    "SELECT ?s { ?s a :Sensor FILTER(?s = :sensor-1 || EXISTS { ?s :working false }) }",
    "SELECT ?s ?v { ?s a :Sensor OPTIONAL { ?s :value ?v FILTER EXISTS { ?s :working false } } }",
    "SELECT ?r { ?r a :Room FILTER EXISTS { ?s :in ?r OPTIONAL { ?s :remark ?m } "
    "FILTER(BOUND(?m)) } }",
    "SELECT (COUNT(DISTINCT ?u) AS ?n) (COUNT(?u) AS ?m) { ?s a :Sensor BIND(STRUUID() AS ?u) }",
    "SELECT (COUNT(*) AS ?n) { ?s a :Sensor BIND(RAND() AS ?x) FILTER(?x >= 0 && ?x < 1) }",
    'SELECT ?s (GROUP_CONCAT(DISTINCT ?c; separator="|") AS ?t) (MAX(?t2) AS ?last) '
    "{ ?s :count ?c ; :measured ?t2 } GROUP BY ?s",
    "SELECT ?t ?s { ?s :measured ?t } ORDER BY DESC(?t) ?s LIMIT 7",
    "SELECT * { ?a (:in|:beside)* ?b }",
    "SELECT ?a { ?a :in/:partOf* :house }",
    "SELECT ?a ?b { ?a (:in/:partOf)+ ?b . ?a :working true }",
    "ASK { ?x :beside+ ?x }",
    "DESCRIBE ?s { ?s :in :cellar }",
    "SELECT ?s ?l { ?s :in ?r { SELECT ?s (SUM(?v) AS ?l) { ?s :level ?v } GROUP BY ?s } }",
    "SELECT ?x ?n { VALUES (?x ?n) { (1 UNDEF) (UNDEF 2.0) } ?s :count ?x }",
)


@pytest.mark.parametrize("text", MORE)
def test_an_answer_is_that_of_postgresql(
    held: SparkSession, history: str, place: HistoryPlace, text: str
) -> None:
    prefix = "PREFIX : <http://example.org/house#> "
    case = house.Case("", read_question(prefix + text, Timeline.INTEGER))
    with answered(history, case.question, AskingLimits(60.0, ROWS)) as answer:
        expected = house.comparable(answer, case)
    found = house.comparable(ask(held, place, case.question, row_limit=ROWS), case)
    assert found == expected


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


@pytest.mark.parametrize("first", range(0, len(EXPRESSIONS), TOGETHER))
def test_expressions_mean_the_same_as_in_postgresql(
    held: SparkSession, history: str, place: HistoryPlace, first: int
) -> None:
    expressions = EXPRESSIONS[first : first + TOGETHER]
    parts = " ".join(f"({text} AS ?e{n})" for n, text in enumerate(expressions))
    question = read_question(f"{XSD} SELECT {parts} {{}}", Timeline.INTEGER)
    with answered(history, question, AskingLimits(60.0, 10)) as answer:
        (expected,) = rows(answer)
    (found,) = rows(ask(held, place, question, row_limit=10))
    assert dict(zip(expressions, found, strict=True)) == dict(
        zip(expressions, expected, strict=True)
    )


def rows(answer: object) -> list[tuple[object, ...]]:
    assert isinstance(answer, Solutions)
    return list(answer.rows)


def test_compiled_code_computes_the_same(
    spark: SparkSession, history: str, place: HistoryPlace
) -> None:
    text = f"{XSD} SELECT (SUM(?v * 0.5) AS ?s) {{ ?a <http://example.org/house#value> ?v }}"
    question = read_question(text, Timeline.INTEGER)
    with answered(history, question, AskingLimits(60.0, 10)) as answer:
        expected = rows(answer)
    for name in UNCOMPILED:
        spark.conf.unset(name)
    try:
        found = rows(ask(spark, place, question, row_limit=10))
    finally:
        for name, value in UNCOMPILED.items():
            spark.conf.set(name, value)
    assert found == expected
    assert isinstance(found[0][0], Literal)


def test_an_answer_with_too_many_rows_is_an_error(spark: SparkSession, place: HistoryPlace) -> None:
    question = read_question("SELECT * { ?s ?p ?o } LIMIT 3", Timeline.INTEGER)
    with pytest.raises(Overrun, match="more than 2 rows"):
        rows(ask(spark, place, question, row_limit=2))


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


def test_the_plan_shows_the_sql_and_what_spark_does(
    spark: SparkSession, place: HistoryPlace
) -> None:
    text = "SELECT ?f { <http://example.org/house#sensor-1> (<urn:p>|<urn:q>)+ ?f }"
    found = plan_of(spark, place, read_question(text, Timeline.INTEGER))
    assert "with its new rows until there are none" in found.sql
    assert "== Physical Plan ==" in found.plan


def test_what_is_archived_is_asked_with_the_rest(spark: SparkSession, place: HistoryPlace) -> None:
    names = ("three-patterns", "path-plus", "grouped", "describe", "during")
    cases = [each for each in house.cases() if each.name in names]
    assert len(cases) == len(names)
    stores = [house.exported(place.url, each.question.time) for each in cases]
    assert archive(place.url, place.archive, 10**9, Timeline.INTEGER)
    assert not house.stored(place.url)
    for case, store in zip(cases, stores, strict=True):
        answer = ask(spark, place, case.question, row_limit=ROWS)
        assert house.comparable(answer, case) == house.expected(store, case)
