"""Settings of a Spark session that runs a stream of few, large rows with state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STREAM_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch writes its own changes to the folder, not the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # A row is all entries of a key: for so few rows, to compile the plan takes longer than to run
    # it as it is.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
