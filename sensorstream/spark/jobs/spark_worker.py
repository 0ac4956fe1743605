"""The process that holds a warm Spark and answers one question after the other.

It ends with its caller: when the pipe between them closes, it stops Spark, even if the caller was
killed, and then kills its group of processes. So the end of this process ends all.
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Final

from sensorstream.errors import InternalFault, QueryError, SensorStreamError, SparkError
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.view_definitions import View, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.processes.pipe_waits import wait_for_hang_up
from sensorstream.processes.question_messages import (
    AnswerOver,
    AskQuestion,
    End,
    Failed,
    QuestionBegun,
)
from sensorstream.spark import bulk_sql
from sensorstream.spark.bulk_sql import prepare
from sensorstream.spark.jobs.answer_files import term_rows, write_plan, write_table, write_terms
from sensorstream.spark.jobs.spark_messages import SPARQL, JobQuestion, SparkProgress, Task
from sensorstream.spark.launch import spark_session
from sensorstream.spark.sparql import spark_query as sparql
from sensorstream.spark.written_answers import below_one_of, write_answer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOOK: Final = 0.3
"""Seconds between two looks at a running question."""
_FAREWELL: Final = 20.0
"""Seconds that Spark may take to stop; one that starts gets none."""
_CONFIGURATION: Final = {
    # Spark's own default is a type of Parquet without a time zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


class JobWorker:
    """Answers the questions that come over a pipe."""

    def __init__(self, task: Task, connection: Connection, spark: SparkSession) -> None:
        self._task = task
        self._connection = connection
        self._spark = spark
        self._running: _Running | None = None
        self._schema: Schema | None = None
        self._views: tuple[View, ...] = ()

    def serve(self) -> None:
        """Do the caller's tasks, until the pipe closes or Spark breaks down."""
        while True:
            running = self._running
            try:
                if self._connection.poll(None if running is None else _LOOK):
                    self._take(self._connection.recv())
                if running is not None and self._watch(running):
                    return
            except (EOFError, OSError):
                return

    def _take(self, command: AskQuestion | End) -> None:
        if isinstance(command, End):
            if self._running is not None and self._running.number == command.number:
                self._running.cancelled = True
            return
        asked: JobQuestion = command.question
        if asked.schema != self._schema:
            self._schema = asked.schema
            self._views = view_definitions(asked.schema, self._task.timeline)
        self._running = _Running(self._task, self._spark, self._views, command)
        self._running.start()

    def _watch(self, running: _Running) -> bool:
        """Tell how far a question is; returns whether Spark cannot be used any more."""
        over = not running.is_alive()
        progress = running.look()
        if progress is not None:
            self._connection.send(progress)
        if over:
            self._running = None
            event = running.event
            if isinstance(event, Failed) and isinstance(event.error, SparkError):
                event = replace(event, broken=not running.works())
            self._connection.send(event)
            return isinstance(event, Failed) and event.broken
        return False


class _Running(Thread):
    """A question in a thread of its own, whose jobs Spark counts as one group."""

    def __init__(
        self, task: Task, spark: SparkSession, views: tuple[View, ...], ask: AskQuestion
    ) -> None:
        super().__init__(daemon=True)
        self.number = ask.number
        self.cancelled = False
        self.event: AnswerOver | Failed | None = None
        self._asked: JobQuestion = ask.question
        self._task = task
        self._spark = spark
        self._views = views
        self._group = f"question-{ask.number}"
        self._told = SparkProgress()
        self._too_large = False

    def run(self) -> None:
        try:
            self._spark.sparkContext.setJobGroup(self._group, self._asked.text.text[:200])
            self.event = AnswerOver(self._answer())
        except SensorStreamError as error:
            self.event = Failed(self._because(error))
        except Exception as error:
            told = InternalFault(f"{type(error).__name__}: {error}")
            self.event = Failed(self._because(told))

    def look(self) -> SparkProgress | None:
        """The progress, if it is news; ends the question if cancelled or grown too large."""
        from py4j.protocol import Py4JError

        if _size(self._asked.folder) > self._asked.most_bytes:
            self._too_large = True
        try:
            if self.cancelled or self._too_large:
                # At each look: the next stage may have begun in between.
                self._spark.sparkContext.cancelJobGroup(self._group)
                return None
            progress = self._progress()
        except (Py4JError, OSError):
            # The question's thread meets the same error, and says it.
            return None
        news = progress if progress != self._told else None
        self._told = progress
        return news

    def works(self) -> bool:
        """Whether Spark still answers."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return bool(self._spark.range(1).count() == 1)
        except (Py4JError, PySparkException, OSError):
            return False

    def _answer(self) -> int:
        asks_sparql = self._asked.text.language == SPARQL
        return bulk_sql.once_more(self._sparql if asks_sparql else self._sql)

    def _sql(self) -> int:
        task = self._task
        prepared = prepare(task.place.url, self._asked.text.text, timeout=task.timeout)
        with bulk_sql.answering(self._spark, task.place, self._views, prepared) as answer:
            if self._asked.text.plan:
                parts = {"sql": prepared.query.text, "plan": bulk_sql.plan_text(answer)}
                return write_plan(parts, self._asked.folder)
            if self._asked.text.output is not None:
                return self._written(answer.toDF(*prepared.names))
            return write_table(answer, prepared.names, self._asked.folder)

    def _sparql(self) -> int:
        asked, task = self._asked.text, self._task
        question = read_question(asked.text, task.timeline, at=asked.at, during=asked.during)
        if asked.plan:
            plan = sparql.plan_of(self._spark, task.place, question)
            return write_plan(asdict(plan), self._asked.folder)
        with sparql.answering(self._spark, task.place, question) as (query, answer):
            if asked.output is not None:
                return self._written(term_rows(answer, query))
            return write_terms(answer, query, self._asked.folder)

    def _written(self, answer: DataFrame) -> int:
        # Since the job was submitted a link may have come.
        output = below_one_of(self._asked.text.output or "", self._task.at.results)
        return write_answer(answer, output)

    def _because(self, error: SensorStreamError) -> SensorStreamError:
        broken = isinstance(error, SparkError) and "SPARK_JOB_CANCELLED" not in error.message
        if self._too_large and not broken:
            most = self._asked.most_bytes
            return QueryError(f"the answer is larger than {most} bytes: ask for less, or add LIMIT")
        return error

    def _progress(self) -> SparkProgress:
        tracker = self._spark.sparkContext.statusTracker()
        counts = [0, 0, 0, 0]
        for job in tracker.getJobIdsForGroup(self._group):
            told = tracker.getJobInfo(job)
            for number in () if told is None else told.stageIds:
                stage = tracker.getStageInfo(number)
                if stage is not None and stage.numTasks:
                    done = stage.numCompletedTasks
                    counts[0] += done
                    counts[1] += stage.numTasks
                    counts[2] += done == stage.numTasks
                    counts[3] += 1
        return SparkProgress(*counts)


def _size(folder: Path) -> int:
    """Bytes of all files below; those that go meanwhile are not counted."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += (Path(place) / name).stat().st_size
    return size


def main(connection: Connection, folder: str) -> None:
    """Serve until the caller hangs up; ``folder`` is for Spark's own files."""
    # Ctrl-C of a terminal is for the caller, who then says what is to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scratch, started = Path(folder), Flag()
    watched = (connection.fileno(), scratch, started)
    Thread(target=_end_with_caller, args=watched, name="caller", daemon=True).start()
    task: Task = connection.recv()
    try:
        with spark_session(task.at, _CONFIGURATION) as spark:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # PySpark has taken it
            bulk_sql.prepare_session(spark)
            started.set()
            connection.send(QuestionBegun())
            JobWorker(task, connection, spark).serve()
    except SensorStreamError as error:
        connection.send(Failed(error, broken=True))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _end_with_caller(descriptor: int, scratch: Path, started: Flag) -> None:
    """Kill this process and Spark's, when the caller is gone."""
    wait_for_hang_up(descriptor)
    if started.is_set():
        sleep(_FAREWELL)
    shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(os.getpid(), signal.SIGKILL)
