"""A question and a stream of the kinds that SensorStream asks of Spark, for their classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from sensorstream.errors import SparkError
from sensorstream.processes.own_folders import own_folder
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.class_cache import cache_file, keep
from sensorstream.spark.launch import STREAM_SETTINGS, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ROWS: Final = 1000
_KEYS: Final = 10
_SECONDS: Final = 300.0
_QUESTION: Final = """
with big as (
  select key, count(*) as size, sum(number) as total, max(text) as last, avg(value) as mean
  from numbers where value > 10 group by key having count(*) > 1
)
select n.key, b.size, b.total, b.mean, rank() over (order by b.total desc) as place,
  case when n.text like '%7' then upper(n.text) else coalesce(b.last, '') end as text, n.moment
from numbers n join big b on n.key = b.key left join numbers o on o.number = n.number + 1
where o.number is null or exists (select 1 from big c where c.key = n.key)
union select null, 0, 0, null, 0, '', null
order by 1 nulls last, 6 limit 50
"""
_SCHEMA: Final = "key string, number bigint, value double, text string, moment timestamp"
_ARROW: Final = pa.schema(
    [
        ("key", pa.string()),
        ("number", pa.int64()),
        ("value", pa.float64()),
        ("text", pa.string()),
        ("moment", pa.timestamp("us", "UTC")),
    ]
)


def prepare() -> Path:
    """Run both once, for about a minute, and return the file of the classes that Spark has loaded.

    Spark uses it from its next start on.

    Raises:
        SparkError: Spark does not start, or the Java runtime cannot keep the classes.
    """
    cache = cache_file()
    cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # In the same file system, so that it can be renamed.
    with own_folder("making-", cache.parent) as folder:
        made = folder / "classes.aot"
        at = SparkSettings("local[2]", (("spark.sql.shuffle.partitions", "2"),))
        with spark_session(at, classes=made) as spark:
            spark.dataSource.register(SampleRows)
            _ask(spark, folder / "answer")
            _stream(spark, folder / "state")
        return keep(made)


class SampleRows(DataSource):  # type: ignore[misc]
    """A few rows of all types that history has, as a stream."""

    @classmethod
    def name(cls) -> str:
        return "sensorstream-numbers"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> NumbersStream:  # noqa: N802 - Spark's name
        return NumbersStream()


class NumbersStream(DataSourceStreamReader):  # type: ignore[misc]
    """A stream of all numbers, and then of nothing more."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"row": 0}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        return {"row": _ROWS}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield _rows(partition.value)

    def commit(self, end: dict[str, int]) -> None:
        """Do nothing: nothing is kept."""


class KeyCounts(StatefulProcessor):  # type: ignore[misc]
    """The count and the texts of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n bigint, content binary")
        self._texts = handle.getListState("texts", "text string")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        texts = [row.text for row in rows]
        found = self._count.get()
        self._count.update(((found[0] if found else 0) + len(texts), b"content"))
        self._texts.clear()
        for text in texts:
            self._texts.appendValue((text,))
        yield Row(key=key[0], content=str(list(self._texts.get())).encode())

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _rows(part: int) -> pa.RecordBatch:
    columns: list[list[Any]] = [[], [], [], [], []]
    for number in range(part, _ROWS, 2):
        row = (f"k{number % _KEYS}", number, number / 7, f"text {number}", number * 1_000_000)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return pa.RecordBatch.from_pydict(dict(zip(_ARROW.names, columns, strict=True)), schema=_ARROW)


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from map(_rows, batch.column(0).to_pylist())


def _ask(spark: SparkSession, answer: Path) -> None:
    # Read like history: see sensorstream.spark.copy_reader.
    numbers = spark.range(0, 2, 1, 2).mapInArrow(_parts, _SCHEMA)
    numbers.createOrReplaceTempView("numbers")
    spark.sql(_QUESTION).write.parquet(str(answer))
    spark.read.parquet(str(answer)).createOrReplaceTempView("answers")
    spark.sql("select place, count(*) from answers group by place").toArrow()


def _stream(spark: SparkSession, state: Path) -> None:
    for setting, value in STREAM_SETTINGS.items():
        spark.conf.set(setting, value)
    counted = (
        spark.readStream.format(SampleRows.name())
        .load()
        .groupBy("key")
        .transformWithState(
            statefulProcessor=KeyCounts(),
            outputStructType="key string, content binary",
            outputMode="append",
            timeMode="none",
        )
    )

    def collect(frame: DataFrame, _batch: int) -> None:
        frame.toArrow()

    query = (
        counted.writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(state))
        .trigger(availableNow=True)
        .start()
    )
    if not query.awaitTermination(_SECONDS):
        raise SparkError(f"Spark has not done its work after {_SECONDS:.0f} s")
