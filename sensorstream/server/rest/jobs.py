"""``/jobs``: what runs for clients: long questions to Spark, and those that are asked now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import IO, Any, Final, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.job_folder import RUNNING, Job
from sensorstream.app.running import Run, is_question
from sensorstream.client.operations import Operations
from sensorstream.errors import UnfinishedJob
from sensorstream.history.asking.formats import GRAPHS, SOLUTIONS
from sensorstream.server.known import AskedBody, routed
from sensorstream.server.negotiation import choose
from sensorstream.server.problems import ProblemBody, problem_of
from sensorstream.server.results import answer_response
from sensorstream.spark.jobs.answer_files import PIECES, read_answer
from sensorstream.spark.jobs.protocol import JobText

PATH: Final = "/jobs"
_LONGEST: Final = 65_536


class JobRequest(AskedBody):
    """A question."""

    language: Literal["sql", "sparql"]
    text: str = Field(
        min_length=1,
        max_length=_LONGEST,
        examples=["select class, count(*) from history.individuals group by class"],
    )
    on: Literal["spark"] = Field(default="spark", description="what answers it")
    at: str | None = Field(default=None, description="SPARQL: what held at a time")
    during: str | None = Field(
        default=None, description="SPARQL: what held at any time of start/end"
    )
    plan: bool = Field(
        default=False, description="not the answer, but how Spark would find it: `part`, `text`"
    )


class ProgressBody(BaseModel):
    """Of the tasks and stages that Spark knows of by now."""

    model_config = ConfigDict(from_attributes=True)

    tasks_done: int
    tasks: int
    stages_done: int
    stages: int


class JobBody(BaseModel):
    """A job, or a question that is being answered; times are of the wall clock."""

    id: str
    language: str
    text: str
    on: str
    at: str | None
    during: str | None
    plan: bool
    state: str = Field(description="queued, running, done or failed")
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    rows: int | None = Field(description="of the answer, when it is done")
    bytes: int | None = Field(description="of the answer as Parquet")
    progress: ProgressBody | None = Field(description="null before Spark works on it")
    error: ProblemBody | None = Field(description="why it failed")
    client: str | None = Field(default=None, description="of a question: the address that asks")


class JobsBody(BaseModel):
    """What runs for clients, and the jobs that are kept."""

    jobs: list[JobBody]


def router(application: Application) -> APIRouter:
    """The resource of jobs."""
    routes = APIRouter(tags=["jobs"])

    @routed(routes, Operations.start_job, status_code=202, summary="Start a job")
    def start(body: JobRequest, response: Response) -> JobBody:
        """Put a question to Spark into the queue; `Location` is the job.

        A text that cannot be answered is refused at once.
        """
        question = JobText(body.language, body.text, body.at, body.during, body.plan)
        job = application.jobs.submit(question, body.on)
        response.headers["Location"] = f"{PATH}/{job.id}"
        return _body(job)

    @routed(routes, Operations.jobs, summary="All that runs, and all jobs")
    def all_jobs() -> JobsBody:
        """The questions that are being answered, then all jobs that are kept; newest first.

        Questions are those of `/sparql` and `/sql`; they are gone when they are answered.
        """
        running = map(_running, application.running.runs())
        return JobsBody(jobs=[*running, *map(_body, application.jobs.jobs())])

    @routed(routes, Operations.job, summary="One job")
    def one(job_id: str) -> JobBody:
        """What is known of a job: its state, and how far it is."""
        if is_question(job_id):
            return _running(application.running.run(job_id))
        return _body(application.jobs.job(job_id))

    @routed(routes, Operations.delete_job, status_code=204, summary="End and forget a job")
    def delete(job_id: str) -> None:
        """End a job, if it has not ended, and forget it with its result.

        A question ends too; who asked it is told `job-cancelled`.
        """
        if is_question(job_id):
            application.running.cancel(job_id)
        else:
            application.jobs.delete(job_id)

    @routed(
        routes,
        Operations.job_results,
        summary="The result of a job",
        responses={200: {"content": {each: {} for each in (*PIECES, *SOLUTIONS, *GRAPHS)}}},
    )
    async def result(job_id: str, request: Request) -> Response:
        """All rows of the answer: to SQL as JSON, CSV, an Arrow stream or Parquet; to SPARQL in the
        formats of `/sparql`; a plan as the answer to SQL.

        If the job failed, its error; `unfinished-job` before its end.
        """
        accept = ",".join(request.headers.getlist("accept"))
        if is_question(job_id):
            application.running.run(job_id)
            raise UnfinishedJob("the answer to a question goes to the client that asked it")
        answer = await run_sync(application.jobs.answer, job_id)
        if answer.question.has_terms:
            return await run_sync(_terms, answer.file, accept)
        media_type = choose(accept, list(PIECES))
        if media_type is None:
            answer.file.close()
            raise HTTPException(406, f"'{accept}' matches none of {', '.join(PIECES)}")
        return StreamingResponse(
            _stream(answer.file, PIECES[media_type](answer.file)),
            media_type=media_type,
            headers={"Vary": "Accept"},
        )

    return routes


def _terms(file: IO[bytes], accept: str) -> Response:
    with file:
        return answer_response(read_answer(file), accept)


def _body(job: Job) -> JobBody:
    told: dict[str, Any] = {
        name: getattr(job, name)
        for name in ("id", "on", "state", "submitted_at", "started_at", "ended_at", "rows", "bytes")
    }
    asked = job.question
    return JobBody(
        **told,
        language=asked.language,
        text=asked.text,
        at=asked.at,
        during=asked.during,
        plan=asked.plan,
        progress=None if job.progress is None else ProgressBody.model_validate(job.progress),
        error=None if job.error is None else ProblemBody(**problem_of(job.error).document()),
    )


def _running(run: Run) -> JobBody:
    asked = run.asked
    return JobBody(
        id=run.id,
        language=asked.language,
        text=asked.text[:_LONGEST],
        on=asked.on,
        at=asked.at,
        during=asked.during,
        plan=False,
        state=RUNNING,
        submitted_at=run.since,
        started_at=run.since,
        ended_at=None,
        rows=None,
        bytes=None,
        progress=None,
        error=None,
        client=asked.client,
    )


async def _stream(file: IO[bytes], pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    # Asynchronous, so that it is closed when the client leaves half-way.
    with file:
        while (piece := await run_sync(next, pieces, None)) is not None:
            yield piece
