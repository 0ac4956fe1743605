"""Maps groups of documents in Spark's executors."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Final

from sensorstream.backfill.mapping import Group, Results, map_group
from sensorstream.errors import SparkError
from sensorstream.extras import require
from sensorstream.settings import Settings
from sensorstream.spark.launch import spark_session

_GROUPS_A_CORE: Final = 4
"""Groups of one job for each core: a job takes a tenth of a second to start."""


def map_on_spark(settings: Settings, source: str, groups: Iterator[Group]) -> Iterator[Results]:
    """The results of groups of documents, in order; Spark runs at ``spark.master``.

    The documents are read here and sent to the executors, which need the deployment's files in the
    same places, and nothing of the recordings. While a job runs, the caller has the results of the
    one before.

    Raises:
        MissingExtra: the extra "spark" is not installed.
        SparkError: Spark does not start, or a job failed.
    """
    require("spark", "backfill on Spark")
    from pyspark.errors import PySparkException

    with spark_session(settings.spark.master) as spark, ThreadPoolExecutor(1) as jobs:
        context = spark.sparkContext
        mapped = partial(map_group, settings.path, source)

        def run(part: list[Group]) -> list[Results]:
            found: list[Results] = context.parallelize(part, len(part)).map(mapped).collect()
            return found

        most = _GROUPS_A_CORE * context.defaultParallelism
        running = None
        try:
            while part := list(islice(groups, most)):
                before, running = running, jobs.submit(run, part)
                if before is not None:
                    yield from before.result()
            if running is not None:
                yield from running.result()
        except PySparkException as error:
            raise SparkError(f"the documents cannot be mapped on Spark: {error}") from error
