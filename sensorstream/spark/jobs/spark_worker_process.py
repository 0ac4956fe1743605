"""The caller's side of a worker: starts it, asks it, and ends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final

from sensorstream.errors import JobCancelled, LostJob, QueryError
from sensorstream.history.asking.checked_question import read_question
from sensorstream.installation import require
from sensorstream.model.schema import Schema
from sensorstream.processes.child_process import Child
from sensorstream.processes.question_messages import (
    AnswerOver,
    AskQuestion,
    End,
    Failed,
    QuestionBegun,
)
from sensorstream.spark.jobs.spark_messages import SPARQL, JobQuestion, JobText, SparkProgress, Task
from sensorstream.spark.written_answers import below_one_of

_LOOK: Final = 0.2
"""Seconds between two looks whether a question is to be cancelled."""
_CANCELLING: Final = 10.0
"""Seconds that a cancelled question may go on before its process is ended."""
_STOPPING: Final = 10.0
"""Seconds that a process may take to stop Spark."""


class WorkerProcess(Child):
    """A process with a warm Spark for a ``task``; answers one question at a time.

    ``scratch`` is a folder for Spark's own files, made here and removed at the end.
    """

    def __init__(self, task: Task, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._scratch = scratch
        self._numbers = count(1)
        self._ready = False
        super().__init__(
            "sensorstream.spark.jobs.spark_worker",
            str(scratch),
            environment={"TMPDIR": str(scratch)},
        )
        self.connection.send(task)

    def ask(
        self,
        question: JobText,
        schema: Schema,
        folder: Path,
        most_bytes: int,
        told: Callable[[SparkProgress], None],
        cancelled: Callable[[], bool],
    ) -> int:
        """Answer a question into an empty folder; returns the number of rows. ``told`` gets the
        progress, ``cancelled`` is asked now and then whether to end.

        Raises:
            QueryError: it cannot be answered, or the answer is larger than ``most_bytes``.
            JobCancelled: it was to end.
            LostJob: the process ended.
            SparkError: Spark does not start or breaks down; the process has ended then.
            HistoryError: the history cannot be reached.
        """
        asked = AskQuestion(next(self._numbers), JobQuestion(question, schema, folder, most_bytes))
        deadline: float | None = None
        try:
            if self._ready:
                self.connection.send(asked)
            while True:
                if deadline is None and cancelled():
                    if not self._ready:
                        raise JobCancelled("the question was cancelled")
                    self.connection.send(End(asked.number))
                    deadline = monotonic() + _CANCELLING
                if deadline is not None and monotonic() > deadline:
                    self.kill()
                    raise JobCancelled("the question was cancelled")
                if not self.connection.poll(_LOOK):
                    continue
                match event := self.connection.recv():
                    case QuestionBegun():
                        self._ready = True
                        told(SparkProgress())
                        self.connection.send(asked)
                    case SparkProgress():
                        told(event)
                    case AnswerOver(int(rows)):
                        return rows
                    case Failed(error, broken):
                        if broken:
                            self.kill()
                        if deadline is not None:
                            raise JobCancelled("the question was cancelled")
                        raise error
        except (EOFError, OSError) as error:
            self.kill()
            if deadline is not None:
                raise JobCancelled("the question was cancelled") from None
            raise LostJob(
                "the process that ran Spark has ended: it was killed, or had too little memory; "
                f"exit code {self.code()}"
            ) from error

    def close(self, seconds: float = _STOPPING) -> None:
        """Stop Spark and the process, if it runs, and remove its files."""
        super().close(seconds)
        shutil.rmtree(self._scratch, ignore_errors=True)


class JobRunner:
    """Checks questions, and starts the process that answers them."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def check(self, question: JobText) -> JobText:
        """The question, with the full name of its output. Refuse what cannot be answered before it
        waits for Spark; no JVM is started.

        Raises:
            QueryError, UnsupportedQuery: it cannot be answered, with the place.
            MissingExtra: the extra "spark" is not installed.
            HistoryError: the history cannot be reached.
        """
        require("spark", "a question to Spark")
        task = self._task
        if question.output is not None:
            if question.plan:
                raise QueryError("output: a plan has none: leave it out")
            full = below_one_of(question.output, task.at.results)
            question = replace(question, output=full)
        # The translation is loaded with the first question, because most servers get none.
        if question.language == SPARQL:
            from sensorstream.spark.sparql.spark_query import check

            check(
                read_question(question.text, task.timeline, at=question.at, during=question.during)
            )
            return question
        for name, value in (("at", question.at), ("during", question.during)):
            if value is not None:
                raise QueryError(
                    f"{name}: SQL says its valid time itself, by valid_from and valid_to"
                )
        from sensorstream.spark.bulk_sql import prepare

        prepare(task.place.url, question.text, timeout=task.timeout)
        return question

    def start(self, scratch: Path) -> WorkerProcess:
        """A process whose Spark starts; ``scratch`` is for its files."""
        return WorkerProcess(self._task, scratch)
