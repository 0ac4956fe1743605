"""The process that Spark's Python workers are forks of; it has imported what they need.

Spark starts a worker for each task that runs at a time. To import pandas, Arrow and the pipeline's
modules takes a second of CPU, for each worker by itself.
"""

from __future__ import annotations

import importlib
import sys
from typing import Final

from pyspark import daemon

_WORKER: Final = "pyspark.worker"
_NEEDED: Final = (
    "pandas",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.streaming.stateful_processor_util",
    "sensorstream.streaming.journal_source",
    "sensorstream.streaming.keyed_state",
)


def main() -> None:
    """``python -m sensorstream.streaming.worker_daemon MODULE``, in the place of PySpark's own."""
    # Those that plan a batch are of another module, and need less.
    if sys.argv[1] == _WORKER:
        for name in _NEEDED:
            importlib.import_module(name)
    daemon.manager()


if __name__ == "__main__":
    main()
