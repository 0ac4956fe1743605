"""Long questions beside the requests: a queue, a worker, and a folder on disk."""

from __future__ import annotations

import json
import logging
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex
from threading import Condition, Thread
from typing import IO, Any, Final

from sensorstream.clock import Clock
from sensorstream.errors import (
    JobCancelled,
    LostJob,
    SensorStreamError,
    SparkError,
    TooManyJobs,
    UnfinishedJob,
    UnknownJob,
    error_of_data,
)
from sensorstream.model.frozen import asdict, frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.spark.jobs.spark_messages import JobText, SparkProgress
from sensorstream.spark.jobs.spark_worker_process import JobRunner, WorkerProcess
from sensorstream.spark.written_answers import remove_unfinished

QUEUED: Final = "queued"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"

_LOG = logging.getLogger(__name__)
_RECORD: Final = "job.json"


@frozen
class Job:
    """A question that runs beside the requests. Times are of the wall clock. ``state`` is
    ``queued``, ``running``, ``done`` or ``failed``; ``error`` says why it failed. ``progress`` is
    there while Spark works on it.
    """

    id: str
    question: JobText
    on: str
    state: str
    submitted_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    rows: int | None = None
    bytes: int | None = None
    progress: SparkProgress | None = None
    error: SensorStreamError | None = None

    @property
    def ended(self) -> bool:
        return self.state in (DONE, FAILED)


@frozen
class Bounds:
    """The bounds of the jobs that are kept after their end; the oldest go first."""

    number: int = 100
    bytes: int = 4 << 30
    age: timedelta = timedelta(days=1)
    answer_bytes: int = 1 << 30
    """The largest size of an answer."""


class JobFolder:
    """The jobs of a deployment, below its folder of data; made when it is needed."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    @property
    def scratch(self) -> Path:
        """The folder for the files of a process that runs jobs."""
        return self._path / "work"

    def load(self, now: datetime) -> list[Job]:
        """Read the kept jobs, oldest first; those that had not ended are marked as lost."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        found = sorted(self._read(), key=lambda each: each.submitted_at)
        for number, job in enumerate(found):
            if not job.ended:
                told = LostJob(f"the server stopped while the job was {job.state}: start it again")
                _LOG.warning("job %s is lost: %s", job.id, told.message)
                found[number] = replace(job, state=FAILED, ended_at=now, progress=None, error=told)
                self.clear(job.id)
                remove_unfinished(job.question.output)
                self.save(found[number])
        return found

    def save(self, job: Job) -> None:
        """Keep what is known of a job; its progress is not kept."""
        folder = self.of(job.id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = folder / f".{_RECORD}"
        part.write_text(json.dumps(_written(job)), encoding="utf-8")
        part.replace(folder / _RECORD)

    def of(self, job_id: str) -> Path:
        return self._path / job_id

    def answer(self, job_id: str) -> Path:
        """The folder of a job's answer, made empty."""
        self.clear(job_id)
        folder = self.of(job_id) / "answer"
        folder.mkdir(parents=True, mode=0o700)
        return folder

    def answer_file(self, job_id: str) -> Path:
        from sensorstream.spark.jobs.answer_files import ANSWER

        return self.of(job_id) / "answer" / ANSWER

    def clear(self, job_id: str) -> None:
        """Remove the answer of a job, whole or not."""
        shutil.rmtree(self.of(job_id) / "answer", ignore_errors=True)

    def remove(self, job_id: str) -> None:
        shutil.rmtree(self.of(job_id), ignore_errors=True)

    def _read(self) -> Iterator[Job]:
        for record in self._path.glob(f"*/{_RECORD}"):
            try:
                yield _read(json.loads(record.read_text(encoding="utf-8")))
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                _LOG.warning("%s is not a job and is left alone: %r", record, error)


def dropped(ended: list[Job], bounds: Bounds, now: datetime) -> Iterator[Job]:
    """The jobs beyond the bounds, of those that have ended, oldest first."""
    number = len(ended)
    size = sum(each.bytes or 0 for each in ended)
    for job in ended:
        assert job.ended_at is not None
        if number <= bounds.number and size <= bounds.bytes and now - job.ended_at <= bounds.age:
            return
        yield job
        number -= 1
        size -= job.bytes or 0


def _written(job: Job) -> dict[str, Any]:
    told = {name: getattr(job, name) for name in ("id", "on", "state", "rows", "bytes")}
    told["question"] = asdict(job.question)
    for name in ("submitted_at", "started_at", "ended_at"):
        time = getattr(job, name)
        told[name] = None if time is None else time.isoformat()
    told["error"] = None if job.error is None else job.error.data()
    return told


def _read(told: dict[str, Any]) -> Job:
    error = None if told["error"] is None else error_of_data(told["error"])
    times: dict[str, Any] = {
        name: None if told[name] is None else datetime.fromisoformat(told[name])
        for name in ("submitted_at", "started_at", "ended_at")
    }
    plain = {name: told[name] for name in ("id", "on", "state", "rows", "bytes")}
    return Job(**plain, **times, question=JobText(**told["question"]), error=error)


ON_SPARK: Final = "spark"
_MOST_WAITING: Final = 16
_IDLE: Final = 600.0
"""Seconds without a job after which Spark is stopped."""


@frozen
class JobAnswer:
    """The answer to a job: a Parquet file, to be closed by who asked for it."""

    question: JobText
    file: IO[bytes]


class Jobs:
    """The jobs of a deployment. Thread-safe. Spark runs in a process of its own: it starts with the
    first job, answers one after the other, and stops after a while without jobs. Methods that name
    a job raise :class:`.UnknownJob` if there is none.
    """

    def __init__(
        self,
        folder: JobFolder,
        runner: JobRunner,
        schema: Callable[[], Schema],
        clock: Clock,
        *,
        bounds: Bounds = Bounds(),
        most_waiting: int = _MOST_WAITING,
        idle: float = _IDLE,
    ) -> None:
        """Begin with the jobs of the folder; ``schema`` gives that of the ontology in force."""
        self._folder = folder
        self._runner = runner
        self._schema = schema
        self._clock = clock
        self._bounds = bounds
        self._most_waiting = most_waiting
        self._idle = idle
        self._changed = Condition()
        self._jobs = {each.id: each for each in folder.load(clock.now())}
        self._waiting: deque[str] = deque()
        self._worker: WorkerProcess | None = None
        self._thread: Thread | None = None
        self._closing = False

    def submit(self, question: JobText, on: str = ON_SPARK) -> Job:
        """Put a question into the queue.

        Raises:
            QueryError: it cannot be answered, with the place.
            TooManyJobs: too many wait.
            MissingExtra: the extra "spark" is not installed.
            HistoryError: the history cannot be reached.
        """
        self._check_room()
        question = self._runner.check(question)
        job = Job(f"job_{token_hex(8)}", question, on, QUEUED, self._clock.now())
        with self._changed:
            self._check_room()
            self._folder.save(job)
            self._jobs[job.id] = job
            self._waiting.append(job.id)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="jobs", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return job

    def jobs(self) -> Sequence[Job]:
        """The jobs that are kept, newest first."""
        with self._changed:
            self._drop()
            return list(reversed(self._jobs.values()))

    def unfinished(self) -> int:
        """The number of jobs that wait or run."""
        with self._changed:
            return sum(not each.ended for each in self._jobs.values())

    def job(self, job_id: str) -> Job:
        with self._changed:
            found = self._jobs.get(job_id)
        if found is None:
            raise UnknownJob(f"there is no job '{job_id}': it was deleted, or never there")
        return found

    def answer(self, job_id: str) -> JobAnswer:
        """The answer to a job.

        Raises:
            UnfinishedJob: it has not ended.
            SensorStreamError: why it failed.
        """
        job = self.job(job_id)
        if job.error is not None:
            raise job.error
        if not job.ended:
            raise UnfinishedJob(f"the job is {job.state}: ask again when it is done")
        if job.question.output is not None:
            raise UnknownJob(f"Spark wrote the answer to {job.question.output}: read it there")
        try:
            return JobAnswer(job.question, self._folder.answer_file(job_id).open("rb"))
        except FileNotFoundError:
            raise UnknownJob(f"the answer to the job '{job_id}' is gone") from None

    def delete(self, job_id: str) -> None:
        """Forget a job and its answer; one that has not ended is ended."""
        with self._changed:
            job = self.job(job_id)
            del self._jobs[job_id]
            with suppress(ValueError):
                self._waiting.remove(job_id)
        if job.state != RUNNING:
            self._folder.remove(job_id)

    def close(self) -> None:
        """Stop Spark; what has not ended is lost."""
        with self._changed:
            self._closing = True
            worker, thread = self._worker, self._thread
            self._changed.notify_all()
        if worker is not None:
            worker.kill()
        if thread is not None:
            thread.join()

    def _check_room(self) -> None:
        if len(self._waiting) >= self._most_waiting:
            raise TooManyJobs(f"{self._most_waiting} jobs wait already: ask again later")

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._run(job)
            except Exception:
                _LOG.exception("job %s failed", job.id)
                self._end(job, LostJob("a fault of the server: see its log"))
        self._stop_worker()

    def _next(self) -> Job | None:
        """The next job; None at the end. Stops Spark when there is none for long."""
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    if not self._changed.wait(None if self._worker is None else self._idle):
                        break
                if self._closing:
                    return None
                if self._waiting:
                    job = replace(
                        self._jobs[self._waiting.popleft()],
                        state=RUNNING,
                        started_at=self._clock.now(),
                    )
                    self._jobs[job.id] = job
                    self._folder.save(job)
                    return job
            self._stop_worker()

    def _run(self, job: Job) -> None:
        def told(progress: SparkProgress) -> None:
            with self._changed:
                if job.id in self._jobs:
                    self._jobs[job.id] = replace(self._jobs[job.id], progress=progress)

        try:
            worker = self._running_worker()
            rows = worker.ask(
                job.question,
                self._schema(),
                self._folder.answer(job.id),
                self._bounds.answer_bytes,
                told,
                lambda: job.id not in self._jobs,
            )
        except SensorStreamError as error:
            if isinstance(error, (JobCancelled, LostJob, SparkError)):
                # Else it was refused: what is there is somebody else's.
                remove_unfinished(job.question.output)
            if isinstance(error, JobCancelled):
                self._folder.remove(job.id)
            else:
                self._end(job, error)
        else:
            self._end(job, None, rows)

    def _running_worker(self) -> WorkerProcess:
        if self._worker is not None and not self._worker.alive:
            self._stop_worker()
        with self._changed:
            if self._closing:
                raise LostJob("the server stops")
            if self._worker is None:
                self._worker = self._runner.start(self._folder.scratch)
            return self._worker

    def _stop_worker(self) -> None:
        with self._changed:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _end(self, job: Job, error: SensorStreamError | None, rows: int | None = None) -> None:
        if error is not None:
            self._folder.clear(job.id)
        with self._changed:
            if self._closing and error is not None:
                # The next start says that it is lost.
                return
            if job.id not in self._jobs:
                self._folder.remove(job.id)
                return
            kept = error is None and job.question.output is None
            size = self._folder.answer_file(job.id).stat().st_size if kept else None
            self._jobs[job.id] = ended = replace(
                self._jobs[job.id],
                state=DONE if error is None else FAILED,
                ended_at=self._clock.now(),
                rows=rows,
                bytes=size,
                progress=None if error else self._jobs[job.id].progress,
                error=error,
            )
            self._folder.save(ended)
            self._drop()

    def _drop(self) -> None:
        ended = [each for each in self._jobs.values() if each.ended]
        for job in list(dropped(ended, self._bounds, self._clock.now())):
            del self._jobs[job.id]
            self._folder.remove(job.id)
