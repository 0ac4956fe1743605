"""The queue of jobs, without Spark; with it in tests/server/test_jobs.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from sensorstream.app.questions.jobs import Bounds, Job, JobFolder, Jobs, dropped
from sensorstream.errors import (
    JobCancelled,
    LostJob,
    Position,
    QueryError,
    TooManyJobs,
    UnfinishedJob,
    UnknownJob,
)
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.jobs.answer_files import ANSWER
from sensorstream.spark.jobs.spark_messages import JobText, SparkProgress, Task
from sensorstream.spark.jobs.spark_worker_process import JobRunner, WorkerProcess
from sensorstream.testing import ManualClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Answering(WorkerProcess):
    """Answers at once; "wait" goes on until it is cancelled, "die" ends it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.began = Event()
        self.closed = Event()
        self.dead = False

    @property
    def alive(self) -> bool:
        return not self.dead

    def ask(
        self,
        question: JobText,
        schema: Schema,
        folder: Path,
        most_bytes: int,
        told: Callable[[SparkProgress], None],
        cancelled: Callable[[], bool],
    ) -> int:
        self.asked.append(question.text)
        told(SparkProgress(1, 2, 0, 1))
        self.began.set()
        while question.text == "wait" and not self.dead:
            if cancelled():
                raise JobCancelled("the question was cancelled")
            time.sleep(0.005)
        if question.output is not None:
            return 7
        if question.text == "die" or self.dead:
            self.dead = True
            raise LostJob("it ended")
        if question.text == "bad":
            raise QueryError("division by zero", position=Position("query", 1, 2))
        (folder / ANSWER).write_bytes(b"1" * 100)
        return 1

    def close(self, seconds: float = 0.0) -> None:
        self.closed.set()

    def kill(self) -> None:
        self.dead = True


class Ready(JobRunner):
    def __init__(self) -> None:
        super().__init__(
            Task(HistoryPlace("", Path()), Timeline.INTEGER, SparkSettings("local"), 1)
        )
        self.started: list[Answering] = []

    def check(self, question: JobText) -> JobText:
        if question.text == "wrong":
            raise QueryError("it is wrong")
        return question if question.output is None else replace(question, output="/r/full.csv")

    def start(self, scratch: Path) -> Answering:
        self.started.append(Answering())
        return self.started[-1]


@pytest.fixture
def runner() -> Ready:
    return Ready()


@pytest.fixture
def jobs(tmp_path: Path, runner: Ready) -> Iterator[Jobs]:
    bounds = Bounds(number=3, bytes=250, age=timedelta(hours=1))
    jobs = Jobs(
        JobFolder(tmp_path), runner, Schema, ManualClock(NOW), bounds=bounds, most_waiting=2
    )
    yield jobs
    jobs.close()


def start(jobs: Jobs, text: str) -> str:
    return jobs.submit(JobText("sql", text)).id


def ended(jobs: Jobs, job: str) -> Job:
    deadline = time.monotonic() + 60
    while not (found := jobs.job(job)).ended:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found


def test_jobs_are_answered_one_after_the_other_by_one_worker(jobs: Jobs, runner: Ready) -> None:
    first, second = start(jobs, "a"), start(jobs, "b")
    done = ended(jobs, second)
    assert (done.state, done.rows, done.bytes, done.started_at) == ("done", 1, 100, NOW)
    assert done.progress == SparkProgress(1, 2, 0, 1)
    with jobs.answer(first).file as file:
        assert len(file.read()) == 100
    assert [each.id for each in jobs.jobs()] == [second, first]
    assert [each.asked for each in runner.started] == [["a", "b"]]


def test_a_job_that_fails_keeps_its_error_and_its_place(jobs: Jobs, tmp_path: Path) -> None:
    job = start(jobs, "bad")
    assert ended(jobs, job).state == "failed"
    with pytest.raises(QueryError, match="division by zero"):
        jobs.answer(job)
    (kept,) = JobFolder(tmp_path).load(NOW)
    assert kept.error is not None
    assert (str(kept.error), kept.error.code) == ("query:1:2: division by zero", "query")
    with pytest.raises(QueryError, match="wrong"):
        start(jobs, "wrong")


def test_an_answer_that_spark_wrote_is_named_and_not_kept(jobs: Jobs) -> None:
    job = jobs.submit(JobText("sql", "a", output="full.csv"))
    done = ended(jobs, job.id)
    assert (done.state, done.rows, done.bytes) == ("done", 7, None)
    assert done.question.output == "/r/full.csv"
    with pytest.raises(UnknownJob, match=r"wrote the answer to /r/full\.csv: read it there"):
        jobs.answer(job.id)


def test_no_more_wait_than_may_and_what_waits_or_runs_can_be_deleted(
    jobs: Jobs, runner: Ready, tmp_path: Path
) -> None:
    running = start(jobs, "wait")
    while not runner.started:
        time.sleep(0.005)
    assert runner.started[0].began.wait(60)
    with pytest.raises(UnfinishedJob, match="running"):
        jobs.answer(running)
    one, two = start(jobs, "a"), start(jobs, "b")
    with pytest.raises(TooManyJobs, match="2 jobs wait"):
        start(jobs, "c")
    jobs.delete(one)
    jobs.delete(running)
    assert ended(jobs, two).state == "done"
    assert runner.started[0].asked == ["wait", "b"]
    with pytest.raises(UnknownJob):
        jobs.delete(running)
    assert sorted(each.name for each in tmp_path.iterdir()) == [two]


def test_after_a_worker_that_died_comes_another(jobs: Jobs, runner: Ready) -> None:
    lost = ended(jobs, start(jobs, "die"))
    assert isinstance(lost.error, LostJob)
    assert ended(jobs, start(jobs, "a")).state == "done"
    assert [each.asked for each in runner.started] == [["die"], ["a"]]
    assert runner.started[0].closed.is_set()


def test_a_worker_without_work_is_stopped(tmp_path: Path, runner: Ready) -> None:
    jobs = Jobs(JobFolder(tmp_path), runner, Schema, ManualClock(NOW), idle=0.01)
    assert ended(jobs, start(jobs, "a")).state == "done"
    assert runner.started[0].closed.wait(60)
    assert ended(jobs, start(jobs, "b")).state == "done"
    assert len(runner.started) == 2
    jobs.close()


def test_what_had_not_ended_when_the_server_stopped_is_lost(tmp_path: Path, runner: Ready) -> None:
    jobs = Jobs(JobFolder(tmp_path), runner, Schema, ManualClock(NOW))
    done, running, waits = start(jobs, "a"), start(jobs, "wait"), start(jobs, "b")
    ended(jobs, done)
    jobs.close()
    assert runner.started[0].closed.is_set()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "job.json").write_text("{}")
    again = Jobs(JobFolder(tmp_path), runner, Schema, ManualClock(NOW))
    assert {each.id: each.state for each in again.jobs()} == {
        done: "done", running: "failed", waits: "failed"
    }  # fmt: skip
    for job in (running, waits):
        with pytest.raises(LostJob, match="the server stopped"):
            again.answer(job)
    again.answer(done).file.close()


def test_the_oldest_go_beyond_a_number_a_size_or_an_age(jobs: Jobs, tmp_path: Path) -> None:
    found = [ended(jobs, start(jobs, text)).id for text in ("a", "bad", "bad", "bad", "a")]
    assert [each.id for each in jobs.jobs()] == found[:1:-1]
    assert {each.name for each in tmp_path.iterdir()} == set(found[2:])
    last = [ended(jobs, start(jobs, text)).id for text in ("a", "a")]
    assert [each.id for each in jobs.jobs()] == last[::-1]


def test_what_is_dropped_is_no_more_than_must_be() -> None:
    job = Job("j", JobText("sql", ""), "spark", "done", NOW, ended_at=NOW, bytes=10)
    old = replace(job, ended_at=NOW - timedelta(days=2))
    bounds = Bounds(number=2, bytes=15, age=timedelta(days=1))
    assert list(dropped([old, job], bounds, NOW)) == [old]
    assert list(dropped([job, job], bounds, NOW)) == [job]
    assert list(dropped([job], bounds, NOW)) == []
    assert list(dropped([replace(job, bytes=None)] * 3, bounds, NOW)) == [replace(job, bytes=None)]
