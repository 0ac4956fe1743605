"""``/jobs``: long questions to Spark, and the questions that are being answered."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import IO, Any, Final, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from sensorstream.app.questions.jobs import RUNNING, Job
from sensorstream.app.questions.one_time_questions import RunningQuestion, is_question
from sensorstream.client.operations import Operations
from sensorstream.errors import UnfinishedJob
from sensorstream.history.asking.answer_formats import GRAPHS, SOLUTIONS
from sensorstream.server.client_questions import answer_response, pieces_of
from sensorstream.server.negotiation import accepted, chosen
from sensorstream.server.operation_routes import App, AskedBody, routed
from sensorstream.server.problems import ProblemBody, problem_of
from sensorstream.spark.jobs.answer_files import PIECES, read_answer
from sensorstream.spark.jobs.spark_messages import JobText

routes = APIRouter(tags=["jobs"])
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
    output: str | None = Field(
        default=None,
        max_length=1024,
        description="a folder or an address below `spark.results` for Spark's executors to write "
        "the answer to, as Parquet or CSV by the end of its name",
    )


class ProgressBody(BaseModel):
    """Counts of the tasks and stages that Spark knows by now."""

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
    output: str | None = Field(default=None, description="where Spark writes the answer")
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
    """Running questions of clients, and the jobs that are kept."""

    jobs: list[JobBody]


@routed(routes, Operations.start_job, "Start a job", status_code=202)
def start(app: App, body: JobRequest, response: Response) -> JobBody:
    """Put a question to Spark into the queue; `Location` is the job.

    A text that cannot be answered is refused at once.
    """
    question = JobText(body.language, body.text, body.at, body.during, body.plan, body.output)
    job = app.jobs.submit(question, body.on)
    response.headers["Location"] = f"/jobs/{job.id}"
    return _body(job)


@routed(routes, Operations.jobs, "All that runs, and all jobs")
def all_jobs(app: App) -> JobsBody:
    """The questions that are being answered, then all jobs that are kept; newest first.

    Questions are those of `/sparql` and `/sql`; they are gone when they are answered.
    """
    return JobsBody(jobs=[*map(_running, app.running.runs()), *map(_body, app.jobs.jobs())])


@routed(routes, Operations.job, "One job")
def one(app: App, job_id: str) -> JobBody:
    """Show the state and the progress of a job."""
    return _running(app.running.run(job_id)) if is_question(job_id) else _body(app.jobs.job(job_id))


@routed(routes, Operations.delete_job, "End and forget a job", status_code=204)
def delete(app: App, job_id: str) -> None:
    """End a job, if it has not ended, and forget it with its result.

    A question ends too; who asked it is told `job-cancelled`.
    """
    (app.running.cancel if is_question(job_id) else app.jobs.delete)(job_id)


@routed(routes, Operations.job_results, "The result of a job", types=(*PIECES, *SOLUTIONS, *GRAPHS))
async def result(app: App, job_id: str, request: Request) -> Response:
    """All rows of the answer: to SQL as JSON, CSV, an Arrow stream or Parquet; to SPARQL in the
    formats of `/sparql`; a plan as the answer to SQL.

    If the job failed, its error; `unfinished-job` before its end.
    """
    accept = accepted(request)
    if is_question(job_id):
        app.running.run(job_id)
        raise UnfinishedJob("the answer to a question goes to the client that asked it")
    answer = await run_sync(app.jobs.answer, job_id)
    if answer.question.has_terms:
        return await run_sync(_terms, answer.file, accept)
    try:
        media_type = chosen(accept, list(PIECES))
    except HTTPException:
        answer.file.close()
        raise
    return StreamingResponse(
        pieces_of(answer.file, PIECES[media_type](answer.file)),
        media_type=media_type,
        headers={"Vary": "Accept"},
    )


def _terms(file: IO[bytes], accept: str) -> Response:
    with file:
        return answer_response(read_answer(file), accept)


def _body(job: Job) -> JobBody:
    told: dict[str, Any] = {
        name: getattr(job, name) for name in ("id", "on", "state", "rows", "bytes", "progress")
    }
    told |= {f"{name}_at": getattr(job, f"{name}_at") for name in ("submitted", "started", "ended")}
    error = None if job.error is None else ProblemBody(**problem_of(job.error).document())
    return JobBody(**told, **asdict(job.question), error=error)


def _running(run: RunningQuestion) -> JobBody:
    told: dict[str, Any] = dict.fromkeys(("ended_at", "rows", "bytes", "progress", "error"))
    told |= {**asdict(run.asked), "text": run.asked.text[:_LONGEST], "plan": False}
    told |= {"submitted_at": run.since, "started_at": run.since}
    return JobBody(**told, id=run.id, state=RUNNING)
