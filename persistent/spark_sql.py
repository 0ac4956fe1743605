"""A job for spark-submit: one SQL query over history, its answer written as Parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import SparkSession

from sensorstream.history.view_definitions import view_definitions
from sensorstream.reasoning.ontology import load_ontology
from sensorstream.settings.settings_file import load_settings
from sensorstream.spark.bulk_sql import answering, prepare
from sensorstream.spark.history_snapshot import HistoryPlace


def main() -> None:
    """Read the command line and run the query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="sensorstream.toml")
    parser.add_argument("--output", required=True, help="where the Parquet files go")
    parser.add_argument("query", help="one SELECT over the views of schema history")
    given = parser.parse_args()
    settings = load_settings(given.config)
    if not settings.history.url:
        parser.error("a job needs history.url: executors cannot reach an embedded PostgreSQL")
    schema = load_ontology(settings.ontology.files).schema
    views = view_definitions(schema, settings.time.timeline)
    spark = SparkSession.builder.appName("SensorStream SQL").getOrCreate()
    limit = settings.limits.question_seconds
    query = prepare(settings.history.url, given.query, timeout=limit)
    place = HistoryPlace(settings.history.url, settings.archive.folder)
    with answering(spark, place, views, query) as answer:
        answer.write.parquet(given.output)


if __name__ == "__main__":
    main()
