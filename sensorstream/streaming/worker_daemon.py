"""The process that Spark's Python workers are forks of; it has imported what they need.

Spark starts a worker for each task that runs at a time; importing pandas, Arrow and the pipeline's
modules would cost each of them a second of CPU.
"""

from __future__ import annotations

import gc
import importlib
import sys
from typing import Final

from pyspark import daemon

_WORKER: Final = "pyspark.worker"
_NEEDED: Final = (
    "pandas",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.streaming.stateful_processor_util",
    "sensorstream.streaming.journal_source",
    "sensorstream.streaming.keyed_state",
)


def main() -> None:
    """Run ``python -m sensorstream.streaming.worker_daemon MODULE`` instead of PySpark's own."""
    # Those that plan a batch are of another module, and need less.
    if sys.argv[1] == _WORKER:
        for name in _NEEDED:
            importlib.import_module(name)
        # A worker collects garbage after each task, which took 60 ms of these modules.
        gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()
