"""Requests about jobs: long questions, which run beside the requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from sensorstream.client.calls import (
    ARROW,
    SOLUTIONS,
    Call,
    json_object,
    media_type,
    read_arrow,
    read_solutions,
    read_table,
)
from sensorstream.client.results import Results
from sensorstream.extras import require

if TYPE_CHECKING:
    import pyarrow


def start_job(
    text: str,
    language: str = "sql",
    *,
    at: str | None = None,
    during: str | None = None,
    plan: bool = False,
) -> Call[dict[str, Any]]:
    """Put a long question to Spark into the server's queue; the job, with its ``id``.

    ``language`` is ``sql`` or ``sparql``. With ``plan`` the result is not the answer, but how
    Spark would find it: rows of ``part`` and ``text``.
    """
    given = {"language": language, "text": text, "at": at, "during": during, "plan": plan}
    body = {name: value for name, value in given.items() if value is not None}
    return Call("POST", "/jobs", json_object, {"json": body})


def jobs() -> Call[list[dict[str, Any]]]:
    """All jobs that the server keeps, newest first."""
    return Call("GET", "/jobs", lambda response: list(json_object(response)["jobs"]))


def job(job_id: str) -> Call[dict[str, Any]]:
    """One job: its ``state``, its ``progress``, the ``rows`` of its answer, its ``error``."""
    return Call("GET", _path(job_id), json_object)


def delete_job(job_id: str) -> Call[None]:
    """End a job, if it has not ended, and forget it with its result."""
    return Call("DELETE", _path(job_id), lambda _: None)


def job_results(job_id: str) -> Call[Results]:
    """The rows of a job that is done; if it failed, its error is raised.

    Of ASK it is one row with the column ``boolean``; of a graph there are no rows, see
    ``GET /jobs/{id}/result``.
    """
    headers = {"Accept": f"{SOLUTIONS}, application/json;q=0.9"}
    return Call("GET", result_path(job_id), _results, {"headers": headers})


def job_arrow(job_id: str) -> Call[pyarrow.Table]:
    """The rows of a job that is done, as an Arrow table (extra "frames").

    Raises:
        MissingExtra: the extra "frames" is not installed.
    """
    require("frames", "an Arrow table")
    return Call("GET", result_path(job_id), read_arrow, {"headers": {"Accept": ARROW}})


def result_path(job_id: str) -> str:
    """The path of the result of a job."""
    return f"{_path(job_id)}/result"


def _path(job_id: str) -> str:
    return f"/jobs/{quote(job_id, safe='')}"


def _results(response: httpx.Response) -> Results:
    if media_type(response) != SOLUTIONS:
        return read_table(response)
    document = json_object(response)
    if "boolean" in document:
        return Results(("boolean",), ((bool(document["boolean"]),),))
    return read_solutions(response)
