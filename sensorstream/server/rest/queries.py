"""``/queries``: continuous queries and their reports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import format_sse_event
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sensorstream.alerts.feed import Subscription
from sensorstream.alerts.formats import plain_time, query_report_data
from sensorstream.analysis.note import Note
from sensorstream.app.application import Application
from sensorstream.app.registered_queries import TEXT, QueryView, ResultSet
from sensorstream.app.trials import QueryTrial
from sensorstream.app.versions import Match, digest_of
from sensorstream.client.operations import Operations
from sensorstream.engine.live_queries import QueryReport
from sensorstream.history.asking.answer import Answer, Graph, Solutions
from sensorstream.history.asking.formats import GRAPHS, SOLUTIONS
from sensorstream.model.timeline import Timeline
from sensorstream.server.known import routed
from sensorstream.server.negotiation import choose, media_type_of
from sensorstream.server.rest import window
from sensorstream.server.rest.versioned import (
    IF_MATCH,
    DryRun,
    FaultBody,
    add_versions,
    fault_bodies,
    wanted,
    who,
)
from sensorstream.server.results import answer_response

_PATH: Final = "/queries"
_NAMED: Final = (f"{_PATH}/".encode(), f"{window.PATH}/".encode())
_TEXTS: Final = (TEXT, "text/plain")
_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {each: {"schema": {"type": "string"}} for each in _TEXTS},
}
_STREAM: Final = "text/event-stream"
_LOOK_AGAIN: Final = 15.0  # seconds; the comment sent then finds out that a client is gone
_RETRY: Final = 2000  # milliseconds

Name: TypeAlias = Annotated[str, Path(description="the query's name, percent-encoded")]


class QueryBody(BaseModel):
    """A continuous query; times are application time."""

    name: str = Field(examples=["http://example.org/busy"])
    query: str = Field(description="its text")
    registered: str = Field(description="the journal's id of its registration", examples=["m17"])
    form: str = Field(description="SELECT, CONSTRUCT, ASK or DESCRIBE")
    relation: str | None = Field(
        description="RSTREAM, ISTREAM or DSTREAM; null: additions and removals"
    )
    variables: list[str]
    group_keys: list[str] = Field(description="those of its variables by which it groups")
    anew: str | None = Field(description="why it is evaluated anew at every change, or null")
    reports: int = Field(description="at how many instants it has reported")
    reported: int = Field(description="the number of its last report")
    last_report: int | str | None
    next_report: int | str | None = Field(
        description="when it may report next though no message comes; null: it waits for one"
    )
    state: Literal["running", "stopped"]
    stopped: str | None = Field(description="why it was stopped, or null")
    digest: str = Field(description="the ETag of its text, for If-Match")
    notes: list[Note] = Field(
        description="in the answer to its registration: what is remarkable in its text"
    )


class QueriesBody(BaseModel):
    """All continuous queries, in the order they were registered."""

    queries: list[QueryBody]


class QueryTriedBody(BaseModel):
    """Nothing was put: what is wrong with the query, or what it would report."""

    faults: list[FaultBody]
    messages: int = Field(description="how many recent messages were tried, at most 100")
    count: int = Field(description="how many reports came of them")
    reports: list[dict[str, Any]] = Field(
        description="the first 20 of these, as `/results` sends them"
    )
    stopped: str | None = Field(description="why it was stopped on the way, or null")


class StepsBody(BaseModel):
    """The last recorded instants, oldest first."""

    instants: list[dict[str, Any]]


class EncodedNames:
    """ASGI middleware: paths stay percent-encoded where their names may be IRIs with slashes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path", b"")
            if raw.startswith(_NAMED):
                scope = {**scope, "path": raw.partition(b"?")[0].decode("ascii", "replace")}
        await self._app(scope, receive, send)


def router(application: Application) -> APIRouter:
    """The resource of continuous queries."""
    routes = APIRouter(tags=["queries"])

    def told(query: QueryView) -> QueryBody:
        def time(instant: int | None) -> int | str | None:
            return None if instant is None else plain_time(instant, application.timeline)

        return QueryBody(
            name=query.name,
            query=query.text,
            registered=query.entry,
            form=query.form,
            relation=query.relation,
            variables=list(query.variables),
            group_keys=list(query.group_keys),
            anew=query.reason or None,
            reports=query.reports,
            reported=query.reported,
            last_report=time(query.last_report),
            next_report=time(query.next_report),
            state="stopped" if query.stopped else "running",
            stopped=query.stopped or None,
            digest=digest_of(query.text),
            notes=list(query.notes),
        )

    async def subscribed() -> AsyncIterator[Subscription]:
        # A dependency ends with its request, even if the generator does not.
        with application.queries.feed.subscribe() as subscription:
            yield subscription

    @routed(
        routes,
        Operations.register,
        summary="Register a continuous query",
        status_code=201,
        openapi_extra={"requestBody": _BODY},
    )
    async def register(
        request: Request,
        response: Response,
        name: Annotated[
            str | None, Query(description="instead of the name in its REGISTER clause")
        ] = None,
    ) -> QueryBody:
        """Start a query; it begins with the present content of the knowledge base."""
        text = await _text(request)
        query = await run_in_threadpool(application.queries.register, text, name, who(request))
        response.headers["Location"] = f"{_PATH}/{quote(query.name, safe='')}"
        return told(query)

    @routed(routes, Operations.queries, summary="List continuous queries")
    def list_queries() -> QueriesBody:
        """All queries that run, then those that were stopped."""
        return QueriesBody(queries=[told(each) for each in application.queries.views()])

    @routed(routes, Operations.query_state, summary="Look up a continuous query")
    def get_query(name: Name, response: Response) -> QueryBody:
        """One query as it stands; the ETag is that of its text."""
        found = told(application.queries.view(unquote(name)))
        response.headers["ETag"] = f'"{found.digest}"'
        return found

    @routes.put(
        "/queries/{name}",
        summary="Put a continuous query",
        openapi_extra={"parameters": IF_MATCH, "requestBody": _BODY},
    )
    async def put_query(
        name: Name,
        request: Request,
        match: Annotated[Match, Depends(wanted)],
        dry_run: DryRun = None,
    ) -> QueryBody | QueryTriedBody:
        """Start a query, instead of the one of this name if there is one."""
        text = await _text(request)
        queries, chosen = application.queries, unquote(name)
        if dry_run is not None:
            trial = await run_in_threadpool(queries.try_put, chosen, text)
            return query_tried_body(trial, application.timeline)
        return told(await run_in_threadpool(queries.put, chosen, text, who(request), match))

    @routed(
        routes,
        Operations.unregister,
        summary="Remove a continuous query",
        status_code=204,
        openapi_extra={"parameters": IF_MATCH[:1]},
    )
    def delete_query(
        name: Name, request: Request, match: Annotated[Match, Depends(wanted)]
    ) -> Response:
        """Stop a query; its followers get an `end` event."""
        application.queries.remove(unquote(name), who(request), match)
        return Response(status_code=204)

    add_versions(
        routes,
        "/queries/{name}",
        "a continuous query",
        application.queries.versions,
        _name,
        "Oldest first.",
        "The text that a change has put.",
        {"content": {TEXT: {"schema": {"type": "string"}}}},
    )

    @routed(
        routes,
        Operations.results,
        summary="Read or follow the results",
        response_class=Response,
        responses={200: {"content": {each: {} for each in (*SOLUTIONS, *GRAPHS, _STREAM)}}},
    )
    async def results(
        request: Request,
        name: Name,
        last_event_id: Annotated[str | None, Header()] = None,
        subscription: Subscription = Depends(subscribed),  # noqa: B008 - FastAPI's way
    ) -> Response:
        """The whole result as it is now; or reports as they come, as server-sent events."""
        accept = ",".join(request.headers.getlist("accept"))
        if choose(accept, (*SOLUTIONS, *GRAPHS, _STREAM)) != _STREAM:
            return await run_in_threadpool(_results, application, unquote(name), accept)
        application.queries.check_followed()
        query = await run_in_threadpool(application.queries.view, unquote(name))
        events = _follow(application, query, last_event_id, subscription)
        return StreamingResponse(
            events, media_type=_STREAM, headers={"Cache-Control": "no-cache", "Vary": "Accept"}
        )

    @routed(routes, Operations.query_graph, summary="Read the operators")
    def graph(name: Name) -> dict[str, Any]:
        """The operators with their counters as nodes, and what feeds what as edges."""
        return application.queries.graph(unquote(name))

    @routed(routes, Operations.steps, summary="Step through the last instants")
    def step(name: Name, last: Annotated[int, Query(ge=1, le=100)] = 10) -> StepsBody:
        """What came into each operator and what went out; the first call begins the record."""
        return StepsBody(instants=application.queries.steps(unquote(name), last))

    @routed(routes, Operations.end_steps, summary="End the record of instants", status_code=204)
    def end_record(name: Name) -> Response:
        """Stop recording the operators."""
        application.queries.end_record(unquote(name))
        return Response(status_code=204)

    return routes


def query_tried_body(trial: QueryTrial, timeline: Timeline) -> QueryTriedBody:
    """What came of a trial."""
    return QueryTriedBody(
        faults=fault_bodies(trial.faults),
        messages=trial.messages,
        count=trial.count,
        reports=[query_report_data(each.id, each.report, timeline) for each in trial.reports],
        stopped=trial.stopped or None,
    )


def _name(name: Name) -> str:
    return unquote(name)


async def _text(request: Request) -> str:
    media_type = media_type_of(request.headers.get("content-type", _TEXTS[0]))
    if media_type not in _TEXTS:
        raise HTTPException(415, f"expected {' or '.join(_TEXTS)}, not '{media_type}'")
    try:
        return (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"the query is not UTF-8: {error}") from None


def _results(application: Application, name: str, accept: str) -> Response:
    return answer_response(_answer(application.queries.results(name)), accept)


def _answer(found: ResultSet) -> Answer:
    if found.triples is not None:
        return Graph(iter(found.triples))
    if found.answer is not None:
        return found.answer
    return Solutions(found.variables, iter(found.rows))


async def _follow(
    application: Application,
    query: QueryView,
    last_event_id: str | None,
    subscription: Subscription,
) -> AsyncIterator[bytes]:
    """Reports after the last one that the client has, or from now on.

    A client that is slow, or was away for long, gets the number of missed reports.
    """
    queries, cursor = application.queries, query.reported
    if last_event_id is not None:
        entry, _, number = last_event_id.rpartition("-")
        # Another registration of the same name has its own numbers.
        known = entry == query.entry and number.isascii() and number.isdigit() and len(number) < 19
        cursor = int(number) if known else 0
    yield format_sse_event(comment="listening", retry=_RETRY)
    while not queries.feed.closed:
        found = await run_in_threadpool(queries.reports, query.entry, cursor)
        if found and found[0].number > cursor + 1:
            missed = json.dumps({"missed": found[0].number - cursor - 1})
            yield format_sse_event(event="missed", data_str=missed)
        for report in found:
            data = await run_in_threadpool(_data, application, report)
            yield format_sse_event(event="report", id=report.id, data_str=data)
            cursor = report.number
        if found:
            continue
        if not await run_in_threadpool(queries.runs, query.entry):
            yield format_sse_event(event="end", data_str="{}")
            return
        if not await subscription.wait(_LOOK_AGAIN):
            yield format_sse_event(comment="still listening")


def _data(application: Application, report: QueryReport) -> str:
    data = query_report_data(report.id, report.report, application.timeline)
    return json.dumps(data, ensure_ascii=False)
