"""What questions to Spark are checked and answered with."""

from __future__ import annotations

from pathlib import Path

from sensorstream.errors import QueryError
from sensorstream.extras import require
from sensorstream.history.asking.question import read_question
from sensorstream.spark.jobs.protocol import SPARQL, JobText, Task
from sensorstream.spark.jobs.worker_process import WorkerProcess


class Runner:
    """Checks questions, and starts the process that answers them."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def check(self, question: JobText) -> None:
        """Refuse what cannot be answered before it waits for Spark; no JVM is started.

        Raises:
            QueryError, UnsupportedQuery: it cannot be answered, with the place.
            MissingExtra: the extra "spark" is not installed.
            HistoryError: the history cannot be reached.
        """
        require("spark", "a question to Spark")
        task = self._task
        # What translates is loaded with the first question: most servers get none.
        if question.language == SPARQL:
            from sensorstream.spark.sparql.run import check

            check(
                read_question(question.text, task.timeline, at=question.at, during=question.during)
            )
            return
        for name, value in (("at", question.at), ("during", question.during)):
            if value is not None:
                raise QueryError(
                    f"{name}: SQL says its valid time itself, by valid_from and valid_to"
                )
        from sensorstream.spark.described import prepare

        prepare(task.place.url, question.text, timeout=task.timeout)

    def start(self, scratch: Path) -> WorkerProcess:
        """A process whose Spark starts; ``scratch`` is for its files."""
        return WorkerProcess(self._task, scratch)
