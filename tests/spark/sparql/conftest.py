"""One history of data sets that Spark holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sensorstream.spark.bulk_sql import prepare_session
from sensorstream.spark.sparql import spark_query as on_spark
from sensorstream.spark.sparql.numbers import register
from tests.databases import Databases
from tests.spark.sparql.held_world import SparkWorld

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark_world(spark: SparkSession, new_database: Databases) -> Iterator[SparkWorld]:
    made = SparkWorld(new_database(), spark)
    prepare_session(spark)
    register(spark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_spark, "over_tables", made.over_held)
        # To change a plan while it runs costs more than so small data.
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        yield made
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    made.close()
