"""One question has one answer: Spark's is that of PostgreSQL, about odd literals too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sensorstream.errors import UnsupportedQuery
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import Answer
from sensorstream.spark.bulk_sql import prepare_session
from sensorstream.spark.history_snapshot import HistoryPlace, snapshot_of
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.spark.spark_relations import over_tables
from sensorstream.spark.sparql import spark_query
from sensorstream.spark.sparql.spark_query import ask, check
from tests.history import oddities
from tests.history.test_one_meaning import LIMITS, LINE, Ask, Deployed, comparable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sensorstream.spark.history_snapshot import HistorySnapshot
    from sensorstream.spark.source_tables import SourceTable

TOGETHER: Final = 3
"""So many expressions are one question: each costs Spark a plan and a job."""
AT_ONCE: Final = 20
OF_OUTSIDE: Final[Mapping[str, str]] = {
    oddities.OF_OUTSIDE[2]: "an OPTIONAL within an EXISTS",
    **dict.fromkeys(
        (
            "SELECT ?x { ?x :q ?v FILTER EXISTS { ?x :r ?y MINUS { ?y :q ?v } } }",
            "SELECT ?x { ?x :q ?v FILTER NOT EXISTS { ?x :r ?y MINUS { ?y :q ?v } } }",
            "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :r ?x MINUS { ?x :q 2 } } }",
            "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :q ?w MINUS { ?y :q ?v } } }",
            "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :q ?w MINUS { ?y :q ?u FILTER(?u = ?v) } } }",
            "SELECT ?x { ?x :q ?v FILTER EXISTS { ?x :r ?y FILTER EXISTS "
            "{ ?y :q ?w FILTER(?w = ?v) } } }",
            "SELECT ?x { ?x :q ?v FILTER NOT EXISTS { ?x :r ?y FILTER NOT EXISTS { ?y :q ?v } } }",
        ),
        "an EXISTS, or a MINUS, within an EXISTS",
    ),
}
"""The questions that Spark cannot plan, and what in them."""
DIFFERENT: Final = "SELECT ?b { :nowhere :r?/:q? ?b }"
"""Spark computes the second step from all nodes, of which this is none."""
ASKED: Final = [
    text
    for text in oddities.questions(TOGETHER)
    if text.removeprefix(oddities.PREFIXES) not in (*OF_OUTSIDE, DIFFERENT)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive that has all."""
    return tmp_path_factory.mktemp("archive")


@pytest.fixture(scope="module")
def deployed(new_database: Callable[[], str], folder: Path) -> Iterator[Deployed]:
    made = Deployed(new_database, folder)
    yield made
    made.cache.close()


@pytest.fixture(scope="module")
def of_spark(spark: SparkSession, deployed: Deployed, folder: Path) -> Iterator[Ask]:
    """Asks Spark, which reads the archive once: how it does is tested elsewhere."""
    place = HistoryPlace(deployed.moved, folder)
    prepare_session(spark)
    tables: dict[str, DataFrame] = {}
    with snapshot_of(place) as snapshot:
        for name in ("statements", "terms"):
            rows = over_tables(spark, snapshot, "select * from t", {"t": SOURCE_TABLES[name]})
            tables[name] = spark.createDataFrame(rows.toArrow()).coalesce(1)

    def over_held(
        spark: SparkSession, _: HistorySnapshot, text: str, names: Mapping[str, SourceTable]
    ) -> DataFrame:
        for name, table in names.items():
            tables[table.name].createOrReplaceTempView(name)
        return spark.sql(text)

    def asked(text: str) -> AbstractContextManager[Answer]:
        return nullcontext(ask(spark, place, read_question(text, LINE), row_limit=LIMITS.rows))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_query, "over_tables", over_held)
        yield asked


@pytest.mark.parametrize("text", OF_OUTSIDE)
def test_what_spark_cannot_plan_is_refused_before_it_starts(text: str) -> None:
    with pytest.raises(UnsupportedQuery, match="ask the same with --on history") as told:
        check(read_question(oddities.PREFIXES + text, LINE))
    assert OF_OUTSIDE[text] in str(told.value)


def test_what_spark_finds_that_it_cannot_plan_is_told_with_the_way_out(
    spark: SparkSession, of_spark: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_query, "over_snapshot", lambda *_: spark.sql("select nothing"))
    with pytest.raises(UnsupportedQuery, match=r"cannot plan it: .*nothing.*--on history"):
        of_spark("ASK {}")


@pytest.mark.parametrize("first", range(0, len(ASKED), AT_ONCE))
def test_spark_means_the_same(first: int, deployed: Deployed, of_spark: Ask) -> None:
    found = {text: comparable(of_spark, text) for text in ASKED[first : first + AT_ONCE]}
    expected = {text: comparable(deployed.of_history, text) for text in found}
    assert {t: (found[t], expected[t]) for t in found if found[t] != expected[t]} == {}
