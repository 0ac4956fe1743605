"""``/queries``: continuous queries and their reports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import format_sse_event
from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from sensorstream.alerts.alert_formats import query_report_data
from sensorstream.alerts.feed import Subscription
from sensorstream.analysis.note import Note
from sensorstream.app.application import Application
from sensorstream.app.control.query_control import QueryView
from sensorstream.app.control.versions import QUERY, digest_of
from sensorstream.client.operations import Operations
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.history.asking.answer_formats import GRAPHS, SOLUTIONS
from sensorstream.server.client_questions import answer_response
from sensorstream.server.negotiation import accepted, choose, media_type_of
from sensorstream.server.operation_routes import App, Key, Time, body_of, routed
from sensorstream.server.rest.versioned_routes import (
    IF_MATCH,
    By,
    DryRun,
    FaultBody,
    WantedChange,
    add_versions,
)
from sensorstream.streams.report_formats import check_format, format_of

routes = APIRouter(tags=["queries"])
_TEXTS: Final = (QUERY, "text/plain")
_BODY: Final[dict[str, Any]] = {each: {"schema": {"type": "string"}} for each in _TEXTS}
_STREAM: Final = "text/event-stream"
_LOOK_AGAIN: Final = 15.0  # seconds; the comment sent then finds out that a client is gone
_RETRY: Final = 2000  # milliseconds

_OrNull: TypeAlias = Annotated[str | None, BeforeValidator(lambda text: text or None)]
Name: TypeAlias = Annotated[str, Path(description="the query's name, percent-encoded")]


class QueryBody(BaseModel):
    """A continuous query; times are application time."""

    name: str = Field(examples=["http://example.org/busy"])
    stage: str = Field(description="the stage on Spark whose engines run it, or empty")
    query: str = Field(validation_alias="text", description="its text")
    registered: str = Field(
        validation_alias="entry",
        description="the journal's id of its registration",
        examples=["m17"],
    )
    form: str = Field(description="SELECT, CONSTRUCT, ASK or DESCRIBE")
    relation: str | None = Field(
        description="RSTREAM, ISTREAM or DSTREAM; null: additions and removals"
    )
    variables: list[str]
    group_keys: list[str] = Field(description="those of its variables by which it groups")
    anew: _OrNull = Field(
        validation_alias="reason", description="why it is evaluated anew at every change, or null"
    )
    reports: int = Field(description="at how many instants it has reported")
    reported: int = Field(description="the number of its last report")
    last_report: Time | None
    next_report: Time | None = Field(
        description="when it may report next though no message comes; null: it waits for one"
    )
    state: Annotated[
        Literal["running", "stopped"], BeforeValidator(lambda why: "stopped" if why else "running")
    ] = Field(validation_alias="stopped")
    stopped: _OrNull = Field(description="why it was stopped, or null")
    digest: Annotated[str, BeforeValidator(digest_of)] = Field(
        validation_alias="text", description="the ETag of its text, for If-Match"
    )
    notes: list[Note] = Field(
        description="in the answer to its registration: what is remarkable in its text"
    )


class QueriesBody(BaseModel):
    """All continuous queries, in the order they were registered."""

    queries: list[QueryBody]


def _reports(reports: Sequence[EngineReport], info: ValidationInfo) -> list[dict[str, Any]]:
    line: Any = info.context
    return [query_report_data(each.id, each.report, line) for each in reports]


class QueryTriedBody(BaseModel):
    """Nothing was put: what is wrong with the query, or what it would report."""

    faults: list[FaultBody]
    messages: int = Field(description="how many recent messages were tried, at most 100")
    count: int = Field(description="how many reports came of them")
    reports: Annotated[list[dict[str, Any]], BeforeValidator(_reports)] = Field(
        description="the first 20 of these, as `/results` sends them"
    )
    stopped: _OrNull = Field(description="why it was stopped on the way, or null")


class StepsBody(BaseModel):
    """The last recorded instants, oldest first."""

    instants: list[dict[str, Any]]


async def _subscribed(app: App) -> AsyncIterator[Subscription]:
    # A dependency ends with its request, even if the generator does not.
    with app.queries.feed.subscribe() as subscription:
        yield subscription


async def _name(name: Name) -> str:
    return unquote(name)


_Unquoted = Annotated[str, Depends(_name)]


@routed(routes, Operations.register, "Register a continuous query", status_code=201, body=_BODY)
async def register(
    app: App,
    request: Request,
    by: By,
    response: Response,
    name: Annotated[
        str | None, Query(description="instead of the name in its REGISTER clause")
    ] = None,
) -> QueryBody:
    """Start a query; it begins with the present content of the knowledge base."""
    text = await _text(request)
    query = await run_in_threadpool(app.queries.register, text, name, by)
    response.headers["Location"] = f"/queries/{quote(query.name, safe='')}"
    return body_of(QueryBody, query, app.timeline)


@routed(routes, Operations.queries, "List continuous queries")
def list_queries(app: App) -> QueriesBody:
    """All queries that run, then those that were stopped."""
    found = app.queries.views()
    return QueriesBody(queries=[body_of(QueryBody, each, app.timeline) for each in found])


@routed(routes, Operations.query_state, "Look up a continuous query")
def get_query(app: App, name: _Unquoted, response: Response) -> QueryBody:
    """One query as it stands; the ETag is that of its text."""
    found = body_of(QueryBody, app.queries.view(name), app.timeline)
    response.headers["ETag"] = f'"{found.digest}"'
    return found


@routed(routes, "PUT /queries/{name}", "Put a continuous query", headers=IF_MATCH, body=_BODY)
async def put_query(
    app: App, name: _Unquoted, request: Request, by: By, match: WantedChange, dry_run: DryRun = None
) -> QueryBody | QueryTriedBody:
    """Start a query, instead of the one of this name if there is one."""
    text = await _text(request)
    if dry_run is not None:
        trial = await run_in_threadpool(app.queries.try_put, name, text)
        return body_of(QueryTriedBody, trial, app.timeline)
    query = await run_in_threadpool(app.queries.put, name, text, by, match)
    return body_of(QueryBody, query, app.timeline)


@routed(
    routes,
    Operations.unregister,
    "Remove a continuous query",
    status_code=204,
    headers=IF_MATCH[:1],
)
def delete_query(app: App, name: _Unquoted, by: By, match: WantedChange) -> None:
    """Stop a query; its followers get an `end` event."""
    app.queries.remove(name, by, match)


add_versions(
    routes,
    "/queries/{name}",
    "a continuous query",
    lambda app, name: (app.queries.versions, name),
    _name,
    ("Oldest first.", "The text that a change has put."),
    {"content": {QUERY: {"schema": {"type": "string"}}}},
)


@routed(
    routes,
    Operations.results,
    "Read or follow the results",
    types=(*SOLUTIONS, *GRAPHS, _STREAM),
    response_class=Response,
)
async def results(
    app: App,
    request: Request,
    name: _Unquoted,
    form: Annotated[
        Literal["json", "ndjson", "csv", "jsonld", "trig"] | None,
        Query(alias="format", description="of the reports in an event stream"),
    ] = None,
    key: Key = None,
    last_event_id: Annotated[str | None, Header()] = None,
    subscription: Subscription = Depends(_subscribed),  # noqa: B008 - FastAPI's way
) -> Response:
    """The whole result as it is now; or reports as they come, as server-sent events."""
    accept = accepted(request)
    if choose(accept, (*SOLUTIONS, *GRAPHS, _STREAM)) != _STREAM:
        if form is not None:
            raise HTTPException(400, f"format: only with 'Accept: {_STREAM}', else Accept says it")
        return await run_in_threadpool(
            lambda: answer_response(app.queries.results(name, key), accept)
        )
    if key is not None:
        raise HTTPException(400, "key: the reports of all engines are followed: omit it")
    query = await run_in_threadpool(app.queries.view, name)
    check_format(form or "json", name, query.form)
    events = _follow(app, query, last_event_id, subscription, form or "json")
    return StreamingResponse(
        events, media_type=_STREAM, headers={"Cache-Control": "no-cache", "Vary": "Accept"}
    )


@routed(routes, Operations.query_graph, "Read the operators")
def graph(app: App, name: _Unquoted, key: Key = None) -> dict[str, Any]:
    """The operators with their counters as nodes, and what feeds what as edges."""
    return app.queries.graph(name, key)


@routed(routes, Operations.steps, "Step through the last instants")
def step(
    app: App, name: _Unquoted, last: Annotated[int, Query(ge=1, le=100)] = 10, key: Key = None
) -> StepsBody:
    """Show the rows in and out of each operator; the first call begins the record."""
    return StepsBody(instants=app.queries.steps(name, last, key))


@routed(routes, Operations.end_steps, "End the record of instants", status_code=204)
def end_record(app: App, name: _Unquoted, key: Key = None) -> None:
    """Stop recording the operators."""
    app.queries.end_record(name, key)


async def _text(request: Request) -> str:
    media_type = media_type_of(request.headers.get("content-type", _TEXTS[0]))
    if media_type not in _TEXTS:
        raise HTTPException(415, f"expected {' or '.join(_TEXTS)}, not '{media_type}'")
    try:
        return (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"the query is not UTF-8: {error}") from None


async def _follow(
    application: Application,
    query: QueryView,
    last_event_id: str | None,
    subscription: Subscription,
    form: str,
) -> AsyncIterator[bytes]:
    """Reports after the last one that the client has, or from now on. A client that is slow, or was
    away for long, gets the number of missed reports.
    """
    queries, after = application.queries, None
    if last_event_id is not None:
        entry, _, number = last_event_id.rpartition("-")
        # Another registration of the same name has its own numbers.
        known = entry == query.entry and number.isascii() and number.isdigit() and len(number) < 19
        after = int(number) if known else 0
    cursor, _ = await run_in_threadpool(queries.reports, query, after)
    yield format_sse_event(comment="listening", retry=_RETRY)
    ending = False
    while not queries.feed.closed:
        cursor, found = await run_in_threadpool(queries.reports, query, cursor)
        if found and found[0].number > cursor + 1:
            missed = json.dumps({"missed": found[0].number - cursor - 1})
            yield format_sse_event(event="missed", data_str=missed)
        for report in found:
            data = await run_in_threadpool(_data, application, report, form)
            yield format_sse_event(event="report", id=report.id, data_str=data)
            cursor = report.number
        if found:
            continue
        if ending:
            yield format_sse_event(event="end", data_str="{}")
            return
        ending = not await run_in_threadpool(queries.runs, query.entry)
        if not ending and not await subscription.wait(_LOOK_AGAIN):
            yield format_sse_event(comment="still listening")


def _data(application: Application, report: EngineReport, form: str) -> str:
    data = query_report_data(report.id, report.report, application.timeline)
    return format_of(form, data).write(data, report.report.variables)
