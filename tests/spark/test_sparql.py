"""SPARQL over history on Spark: as Oxigraph answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from sensorstream.app.application import Application
from sensorstream.spark.sparql.run import answered
from tests.history import house

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10_000


@pytest.fixture(scope="module")
def history(new_database: Callable[[], str]) -> Iterator[str]:
    """The URL of the house's history; its server has stopped."""
    url = new_database()
    with TemporaryDirectory() as folder:
        with Application.open(house.settings(Path(folder), url)) as application:
            for each in [application.submit(content, "house") for content in house.messages()]:
                assert each.result(60).status.value == "accepted"
        yield url


@pytest.mark.parametrize("case", house.cases(), ids=lambda case: case.name)
def test_an_answer_is_that_of_oxigraph(
    spark: SparkSession, history: str, case: house.Case
) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    store = house.exported(history, case.question.time)
    with answered(spark, history, case.question, ROWS) as answer:
        found = house.comparable(answer, case)
    assert found == house.expected(store, case)
