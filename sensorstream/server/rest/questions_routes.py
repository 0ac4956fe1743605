"""``/sparql``, ``/graphs`` and ``/sql``: questions to the cache, history and archive.

Sources: SPARQL 1.1 Protocol; SPARQL 1.1 Service Description; SPARQL 1.1 Graph Store HTTP Protocol.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack
from functools import partial
from io import BytesIO
from itertools import chain
from typing import IO, Annotated, Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import parse_qs

import anyio
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.cache.cache_messages import Answered, CacheQuestion, Formats
from sensorstream.app.questions.one_time_questions import AskedText
from sensorstream.client.operations import Operations
from sensorstream.errors import Overrun, QueryError
from sensorstream.history.asking import answer_formats
from sensorstream.history.asking.checked_question import (
    ALL,
    ARCHIVE,
    CACHE,
    HISTORY,
    SPARK,
    CheckedQuestion,
    check_no_time,
    read_question,
)
from sensorstream.history.asking.query_answer import Answer, GraphAnswer
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.history.sql_formats import PIECES, WHOLE, json_value
from sensorstream.model.terms import iri
from sensorstream.model.vocabulary import GRAPH_PERSISTENT, RESERVED
from sensorstream.processes.stopping import Stop
from sensorstream.server.access_rules import NO_UPDATE
from sensorstream.server.client_questions import (
    ClientQuestions,
    QuestionTurns,
    answer_response,
    cache_response,
    client_of,
)
from sensorstream.server.negotiation import accepted, chosen, media_type_of
from sensorstream.server.operation_routes import App, AskedBody, body_of, routed
from sensorstream.server.service_description import OWN_GRAPHS, service_description
from sensorstream.sparql.query_parser import parse_update

routes = APIRouter(tags=["sparql"])
_T = TypeVar("_T")


class PlanBody(BaseModel):
    """The plan of a question, without its answer."""

    algebra: str = Field(description="the query in the algebra of SPARQL, one operator a line")
    sql: str = Field(description="the SQL that answers it; empty for the cache")
    plan: str = Field(description="the plan of PostgreSQL, or of DuckDB for the archive")


_FORM: Final = "application/x-www-form-urlencoded"
_QUERY: Final = "application/sparql-query"
_UPDATE: Final = "application/sparql-update"
_SERVED: Final = (CACHE, HISTORY, ALL, ARCHIVE)
_DATASET: Final = ("default-graph-uri", "named-graph-uri")
_RDF: Final = answer_formats.GRAPHS.keys()
_JSON: Final = Formats(answer_formats.JSON, answer_formats.JSON, None)
_WHOLE: Final = "CONSTRUCT WHERE { ?s ?p ?o }"
_MOST_GRAPHS: Final = 1000
"""Graphs of messages in the description of the service."""
_GRAPHS: Final = (
    "SELECT ?g { GRAPH ?g { } FILTER(!STRSTARTS(STR(?g), 'urn:sensorstream:')) "
    f"FILTER EXISTS {{ GRAPH ?g {{ ?s ?p ?o }} }} }} LIMIT {_MOST_GRAPHS}"
)


def parameters(query: bool | None = None, lists: Iterable[str] = _DATASET) -> list[dict[str, Any]]:
    """The parameters in OpenAPI's form; ``query``: whether it is needed, None: it is none."""
    text = {"type": "string"}
    found: list[dict[str, Any]] = []
    if query is not None:
        found.append({"name": "query", "in": "query", "required": query, "schema": text})
    found += (
        {"name": name, "in": "query", "schema": {"type": "array", "items": text}} for name in lists
    )
    found += (
        {"name": name, "in": "query", "description": told, "schema": {**text, **more}}
        for name, told, more in (
            ("on", "What is asked.", {"enum": [*_SERVED], "default": CACHE}),
            ("at", "Of history: what held at a time of the time line.", {}),
            ("during", "Of history: what held at any time of start/end.", {}),
        )
    )
    return found


BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        _QUERY: {"schema": {"type": "string"}},
        _FORM: {
            "schema": {
                "type": "object",
                "required": ["query"],
                "properties": {"query": {"type": "string"}},
            }
        },
    },
}
"""The body of a POST in OpenAPI's form."""


def of_get(request: Request) -> AskedText:
    """The query of a GET.

    Raises:
        HTTPException: 400, the parameters are not those of a query.
    """
    given = request.query_params
    return _read(request, {name: given.getlist(name) for name in given})


async def of_post(request: Request) -> AskedText:
    """The query of a POST, as a form or as it stands.

    Raises:
        HTTPException: 400 as for :func:`of_get`, 415 for another media type.
    """
    media_type = media_type_of(request.headers.get("content-type", ""))
    if media_type == _UPDATE:
        raise HTTPException(415, NO_UPDATE)
    if media_type not in (_FORM, _QUERY):
        raise HTTPException(415, f"expected {_QUERY} or {_FORM}, not '{media_type}'")
    try:
        body = (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"the query is not UTF-8: {error}") from None
    if media_type == _FORM:
        return _read(request, parse_qs(body, keep_blank_values=True))
    given = request.query_params
    others = {name: given.getlist(name) for name in given if name != "query"}
    return _read(request, {**others, "query": [body]})


def _read(request: Request, given: Mapping[str, Sequence[str]]) -> AskedText:
    if "update" in given:
        raise HTTPException(400, NO_UPDATE)
    queries = given.get("query", ())
    if len(queries) != 1:
        raise HTTPException(400, f"expected the parameter 'query' once, not {len(queries)} times")
    on = _place(given)
    return AskedText(
        "sparql",
        queries[0],
        on,
        client_of(request),
        _once(given, "at"),
        _once(given, "during"),
        tuple(given.get("default-graph-uri", ())),
        tuple(given.get("named-graph-uri", ())),
    )


def _place(given: Mapping[str, Sequence[str]]) -> str:
    on = _once(given, "on") or CACHE
    if on not in _SERVED:
        told = f"on: expected {', '.join(_SERVED[:-1])} or {_SERVED[-1]}, not '{on}'"
        if on == SPARK:
            told += ": 'sensorstream query --on spark' starts Spark, the server does not"
        raise HTTPException(400, told)
    return on


def _once(given: Mapping[str, Sequence[str]], name: str) -> str | None:
    found = given.get(name, ())
    if len(found) > 1:
        raise HTTPException(400, f"expected the parameter '{name}' once, not {len(found)} times")
    return found[0] if found else None


_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Results, as JSON, XML, CSV, TSV, Arrow or Parquet; or a graph, as "
        "Turtle, N-Triples, RDF/XML or JSON-LD",
        "content": {
            media_type: {} for media_type in (*answer_formats.SOLUTIONS, *answer_formats.GRAPHS)
        },
    }
}
_BY_POST: Final[dict[str, Any]] = {
    "openapi_extra": {"parameters": parameters(), "requestBody": BODY}
}


def _by_get(*given: Any) -> dict[str, Any]:
    return {"openapi_extra": {"parameters": parameters(*given)}}


@routed(routes, "GET /sparql", "Query the cache or history", responses=_ANSWERS, **_by_get(False))
async def query_by_get(app: App, questions: ClientQuestions, request: Request) -> Response:
    """A SPARQL 1.1 query over the cache, over history, or over both.

    The default graph is the union of ``urn:sensorstream:static``, ``…:window`` and
    ``…:inferred``, which are also named graphs; with history, ``…:persistent`` too. Without a
    query the answer describes the service.
    """
    given = request.query_params
    if given.keys().isdisjoint(("query", "update", "at", "during", *_DATASET)):
        on = _place({name: given.getlist(name) for name in given})
        asked = AskedText("sparql", _GRAPHS, on, client_of(request))
        return await _asked(questions, request, asked, partial(_description, app, request))
    return await _asked(questions, request, of_get(request), partial(_answer, app, request))


@routed(routes, Operations.query, "Query the cache or history", responses=_ANSWERS, **_BY_POST)
async def query_by_post(app: App, questions: ClientQuestions, request: Request) -> Response:
    """A SPARQL 1.1 query, as a form or as it stands."""
    asked = await of_post(request)
    return await _asked(questions, request, asked, partial(_answer, app, request))


@routed(routes, "GET /sparql/plan", "How a query is answered", **_by_get(True))
async def plan_by_get(app: App, questions: ClientQuestions, request: Request) -> PlanBody:
    """Show the algebra, SQL and plan that ``/sparql`` has for the same parameters."""
    return await _asked(questions, request, of_get(request), partial(_plan, app))


@routed(routes, Operations.plan, "How a query is answered", **_BY_POST)
async def plan_by_post(app: App, questions: ClientQuestions, request: Request) -> PlanBody:
    """The same for a query in the body."""
    return await _asked(questions, request, await of_post(request), partial(_plan, app))


@routed(routes, "GET /graphs", "Read a graph", types=_RDF, **_by_get(None, ("graph", "default")))
async def read_graph(app: App, questions: ClientQuestions, request: Request) -> Response:
    """The graph with the name `graph`, or with `default` the default graph."""
    given = request.query_params
    names = given.getlist("graph")
    if len(names) + ("default" in given) != 1:
        raise HTTPException(400, "expected one of the parameters 'graph' and 'default', once")
    return await _graph(app, questions, request, names)


@routed(routes, "GET /graphs/{name}", "Read a graph of the system", types=_RDF, **_by_get(None, ()))
async def read_own_graph(
    app: App, questions: ClientQuestions, request: Request, name: str
) -> Response:
    """The graph ``urn:sensorstream:`` and the name: static, window, inferred or persistent."""
    return await _graph(app, questions, request, [RESERVED + name])


async def _graph(
    app: Application, questions: QuestionTurns, request: Request, names: Sequence[str]
) -> Response:
    given = {each: request.query_params.getlist(each) for each in ("on", "at", "during")}
    if GRAPH_PERSISTENT in names and not given["on"]:
        given["on"] = [HISTORY]
    asked = _read(request, {**given, "query": [_WHOLE], "default-graph-uri": [*map(iri, names)]})
    for name in names:
        of_messages = asked.on == CACHE and not name.startswith(RESERVED)
        if not of_messages and name not in OWN_GRAPHS[asked.on]:
            raise _no_graph(name, asked.on)
    return await _asked(questions, request, asked, partial(_whole, app, request))


def _no_graph(name: str, on: str) -> HTTPException:
    others = " or one of messages" if on == CACHE else ""
    own = ", ".join(OWN_GRAPHS[on])
    return HTTPException(404, f"there is no graph <{name}>: expected {own}{others}")


def _whole(app: Application, request: Request, asked: AskedText, stop: Stop) -> Response:
    """A graph; one of messages is there while it has a statement."""
    for name in asked.default_graphs:
        there = CacheQuestion("ASK { ?s ?p ?o }", _JSON, (name,))
        if name not in OWN_GRAPHS[asked.on] and not _of_json(app, there, stop)["boolean"]:
            raise _no_graph(name, asked.on)
    return _answer(app, request, asked, stop)


def _description(app: Application, request: Request, asked: AskedText, stop: Stop) -> Response:
    names, query = [], f"on={asked.on}"
    if asked.on == CACHE:
        found = _of_json(app, CacheQuestion(asked.text, _JSON), stop)
        names, query = [each["g"]["value"] for each in found["results"]["bindings"]], ""
    endpoint = str(request.url.replace(query=query))
    return answer_response(
        GraphAnswer(service_description(endpoint, asked.on, names)), accepted(request)
    )


def _of_json(app: Application, question: CacheQuestion, stop: Stop) -> Any:
    out = BytesIO()
    app.asking.cache(question, out, stop)
    return json.loads(out.getvalue())


async def _asked(
    questions: QuestionTurns,
    request: Request,
    asked: AskedText,
    work: Callable[[AskedText, Stop], _T],
) -> _T:
    """Work on a question when it is its turn; an update is refused as such."""

    def answer(stop: Stop) -> _T:
        try:
            return work(asked, stop)
        except QueryError:
            if _is_update(asked.text):
                raise QueryError(NO_UPDATE) from None
            raise

    return await questions.answer(request, asked, answer)


def _answer(app: Application, request: Request, asked: AskedText, stop: Stop) -> Response:
    answer = _of_cache if asked.on == CACHE else _of_history
    return answer(app, asked, accepted(request), stop)


def _is_update(text: str) -> bool:
    try:
        return bool(parse_update(text).operations)
    except QueryError:
        return False


def _plan(app: Application, asked: AskedText, stop: Stop) -> PlanBody:
    asking = app.asking
    if asked.on == CACHE:
        check_no_time(asked.at, asked.during, CACHE)
        found = asking.cache_plan(asked.text, asked.default_graphs, asked.named_graphs)
    elif asked.on == ARCHIVE:
        found = asking.archive_plan(_question(app, asked), stop)
    else:
        found = asking.history_plan(_question(app, asked), asked.on == ALL, stop)
    return body_of(PlanBody, found)


def _question(app: Application, asked: AskedText) -> CheckedQuestion:
    return read_question(
        asked.text,
        app.timeline,
        at=asked.at,
        during=asked.during,
        default_graphs=asked.default_graphs,
        named_graphs=asked.named_graphs,
    )


def _of_history(app: Application, asked: AskedText, accept: str, stop: Stop) -> Response:
    question = _question(app, asked)
    asking: AbstractContextManager[Answer]
    if asked.on == ARCHIVE:
        asking = app.asking.archive(question, stop)
    else:
        asking = app.asking.history(question, live=asked.on == ALL, stop=stop)
    with asking as answer:
        return answer_response(answer, accept)


def _of_cache(app: Application, asked: AskedText, accept: str, stop: Stop) -> Response:
    check_no_time(asked.at, asked.during, CACHE)

    def ask(wanted: Formats, out: IO[bytes]) -> Answered:
        question = CacheQuestion(asked.text, wanted, asked.default_graphs, asked.named_graphs)
        return app.asking.cache(question, out, stop)

    return cache_response(ask, accept)


sql_routes = APIRouter(tags=["history"])
_PLAIN: Final = "application/json"
_OFFERED: Final = (_PLAIN, *PIECES)
Place: TypeAlias = Literal["history", "archive"]


class SqlBody(AskedBody):
    """One SQL statement over the views of schema ``history``."""

    query: str = Field(
        min_length=1, examples=["select * from history.individuals order by time desc limit 10"]
    )


class TableBody(BaseModel):
    """The answer; ``truncated``: the row limit was reached and rows are missing."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


@routed(sql_routes, Operations.sql, "Query history", TableBody, types=PIECES.keys())
async def run_sql(
    app: App,
    questions: ClientQuestions,
    body: SqlBody,
    request: Request,
    on: Annotated[Place, Query()] = HISTORY,
) -> Response:
    """One read-only SQL statement over history, or over its archive in DuckDB's SQL.

    In JSON times come as ISO 8601 text, numbers as numbers, bytes as text where they are UTF-8
    and base64 where not; NaN and infinities as text. History's CSV and Arrow are streamed, all
    rows; an answer of the archive ends at the row limit.
    """
    media_type = chosen(accepted(request), _OFFERED)
    query = body.query
    asked = AskedText("sql", query, on, client_of(request))
    if on == ARCHIVE:
        return await questions.answer(
            request, asked, lambda stop: _of_archive(app, query, media_type, stop)
        )
    if media_type == _PLAIN:
        return await questions.answer(
            request, asked, lambda stop: _table(app.asking.sql(query, stop))
        )
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(questions.turn(request, asked))
        stream, pieces = await questions.in_thread(lambda: _begin(app, query, media_type, stop))
        return StreamingResponse(
            _stream(stack.pop_all(), stream, pieces, questions),
            media_type=media_type,
            headers={"Vary": "Accept"},
        )


def _of_archive(app: Application, query: str, media_type: str, stop: Stop) -> Response:
    table = app.asking.sql_archive(query, stop)
    if media_type == _PLAIN:
        return _table(table)
    if table.truncated:
        limit = app.settings.limits.question_rows
        raise Overrun(
            f"the answer has more than {limit} rows: ask for less, or add LIMIT "
            "(limits.question_rows)"
        )
    return Response(WHOLE[media_type](table), media_type=media_type, headers={"Vary": "Accept"})


def _table(table: SqlResult) -> Response:
    return JSONResponse(
        {
            "columns": list(table.columns),
            "rows": [[json_value(value) for value in row] for row in table.rows],
            "truncated": table.truncated,
        },
        headers={"Vary": "Accept"},
    )


def _begin(
    app: Application, query: str, media_type: str, stop: Stop
) -> tuple[ExitStack, Iterator[bytes]]:
    """Start the query, so that its errors are known before the answer begins."""
    with ExitStack() as stack:
        pieces = PIECES[media_type](stack.enter_context(app.asking.sql_stream(query, stop)))
        first = next(pieces)
        return stack.pop_all(), chain((first,), pieces)


async def _stream(
    turn: AsyncExitStack, stream: ExitStack, pieces: Iterator[bytes], questions: QuestionTurns
) -> AsyncIterator[bytes]:
    """The pieces, each made in a thread; a fault breaks the connection off before its end."""
    async with turn:
        try:
            while (piece := await questions.in_thread(lambda: next(pieces, None))) is not None:
                yield piece
        finally:
            with anyio.CancelScope(shield=True):
                await questions.in_thread(stream.close)
