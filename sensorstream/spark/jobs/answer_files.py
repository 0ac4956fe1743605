"""Answers of Spark as files: Spark writes them in parts, one Parquet file is what is kept."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sensorstream.errors import SparkError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

ANSWER: Final = "answer.parquet"
_PARTS: Final = "parts"
_BATCH: Final = 64 * 1024


def write_table(answer: DataFrame, names: Sequence[str], folder: Path) -> int:
    """Write the rows of an answer, in their order, as ``answer.parquet``; how many there are.

    Spark's tasks write parts of it at once, so neither this process nor the JVM holds it whole.

    Args:
        answer: to be computed.
        names: of its columns; two may be the same.
        folder: is there; on a cluster, shared with the executors.

    Raises:
        SparkError: the executors wrote the parts elsewhere.
    """
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import NullType

    # Parquet, as Spark writes it, has neither two columns of one name nor one without a type.
    answer = answer.toDF(*(f"c{number}" for number in range(len(names))))
    for field in answer.schema.fields:
        if isinstance(field.dataType, NullType):
            answer = answer.withColumn(field.name, answer[field.name].cast("string"))
    parts = folder / _PARTS
    shutil.rmtree(parts, ignore_errors=True)
    answer.write.parquet(str(parts))
    written = sorted(parts.glob("part-*.parquet"))
    if not written:
        raise SparkError(
            f"Spark's executors do not write to {folder}: on a cluster, history.folder must be a "
            "folder that they share with this process"
        )
    schema = to_arrow_schema(answer.schema, timezone="UTC")
    rows = _join(written, names, schema, folder / ANSWER)
    shutil.rmtree(parts)
    return rows


def _join(parts: Sequence[Path], names: Sequence[str], schema: pyarrow.Schema, target: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    named = pa.schema([pa.field(name, each.type) for name, each in zip(names, schema, strict=True)])
    rows = 0
    with pq.ParquetWriter(target, named) as writer:
        for part in parts:
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(_BATCH):
                    # Spark writes lengths of time as whole numbers.
                    columns = [
                        column.cast(field.type)
                        for column, field in zip(batch.columns, named, strict=True)
                    ]
                    writer.write_batch(pa.record_batch(columns, schema=named))
                    rows += batch.num_rows
    return rows
