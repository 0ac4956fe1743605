"""Jobs on disk: a folder for each, with what is known of it and its answer."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sensorstream import errors
from sensorstream.errors import LostJob, Position, SensorStreamError
from sensorstream.spark.jobs.protocol import JobText, Progress

QUEUED: Final = "queued"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"

_LOG = logging.getLogger(__name__)
_RECORD: Final = "job.json"


@dataclass(frozen=True, slots=True)
class Job:
    """A question that runs beside the requests. Times are of the wall clock.

    ``state`` is ``queued``, ``running``, ``done`` or ``failed``; ``error`` says why it failed.
    ``progress`` is there while Spark works on it.
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
    progress: Progress | None = None
    error: SensorStreamError | None = None

    @property
    def ended(self) -> bool:
        return self.state in (DONE, FAILED)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is kept of jobs that have ended; the oldest go first."""

    number: int = 100
    bytes: int = 4 << 30
    age: timedelta = timedelta(days=1)
    answer_bytes: int = 1 << 30
    """How large one answer may be."""


class JobFolder:
    """The jobs of a deployment, below its folder of data; made when it is needed."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    @property
    def scratch(self) -> Path:
        """For the files of a process that runs jobs."""
        return self._path / "work"

    def load(self, now: datetime) -> list[Job]:
        """The jobs that are kept, oldest first. Those that had not ended are lost, and say so."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        found = sorted(self._read(), key=lambda each: each.submitted_at)
        for number, job in enumerate(found):
            if not job.ended:
                told = LostJob(f"the server stopped while the job was {job.state}: start it again")
                _LOG.warning("job %s is lost: %s", job.id, told.message)
                found[number] = replace(job, state=FAILED, ended_at=now, progress=None, error=told)
                self.clear(job.id)
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
        """The folder of a job."""
        return self._path / job_id

    def answer(self, job_id: str) -> Path:
        """The folder of a job's answer, made empty."""
        self.clear(job_id)
        folder = self.of(job_id) / "answer"
        folder.mkdir(parents=True, mode=0o700)
        return folder

    def answer_file(self, job_id: str) -> Path:
        """The file of a job's answer."""
        from sensorstream.spark.jobs.answer_files import ANSWER

        return self.of(job_id) / "answer" / ANSWER

    def clear(self, job_id: str) -> None:
        """Remove the answer of a job, whole or not."""
        shutil.rmtree(self.of(job_id) / "answer", ignore_errors=True)

    def remove(self, job_id: str) -> None:
        """Forget a job."""
        shutil.rmtree(self.of(job_id), ignore_errors=True)

    def _read(self) -> Iterator[Job]:
        for record in self._path.glob(f"*/{_RECORD}"):
            try:
                yield _read(json.loads(record.read_text(encoding="utf-8")))
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                _LOG.warning("%s is not a job and is left alone: %r", record, error)


def dropped(ended: list[Job], bounds: Bounds, now: datetime) -> Iterator[Job]:
    """Of the jobs that have ended, oldest first, those beyond what is kept."""
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
    if job.error is not None:
        position = job.error.position
        told["error"] = {
            "kind": type(job.error).__name__,
            "message": job.error.message,
            "position": None if position is None else asdict(position),
        }
    return told


def _read(told: dict[str, Any]) -> Job:
    error = None
    if "error" in told:
        kind, place = getattr(errors, told["error"]["kind"]), told["error"]["position"]
        error = kind(
            told["error"]["message"], position=None if place is None else Position(**place)
        )
    times: dict[str, Any] = {
        name: None if told[name] is None else datetime.fromisoformat(told[name])
        for name in ("submitted_at", "started_at", "ended_at")
    }
    plain = {name: told[name] for name in ("id", "on", "state", "rows", "bytes")}
    return Job(**plain, **times, question=JobText(**told["question"]), error=error)
