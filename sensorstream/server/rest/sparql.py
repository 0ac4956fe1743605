"""``/sparql``: queries over the cache (SPARQL 1.1 Protocol, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.errors import QueryError
from sensorstream.server.negotiation import media_type_of
from sensorstream.server.results import GRAPHS, SOLUTIONS, results_response
from sensorstream.sparql.parser import parse_update

_FORM: Final = "application/x-www-form-urlencoded"
_QUERY: Final = "application/sparql-query"
_UPDATE: Final = "application/sparql-update"
_NO_UPDATE: Final = "updates are refused: the cache changes by messages and rules only"
_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class _Request:
    query: str
    default_graphs: Sequence[str]
    named_graphs: Sequence[str]


def router(application: Application) -> APIRouter:
    """The SPARQL endpoint; queries run in worker threads, a few at once."""
    routes = APIRouter(tags=["sparql"])
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    answers: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "Results, as JSON, XML, CSV or TSV; or a graph, as Turtle, N-Triples,"
            " RDF/XML or JSON-LD",
            "content": {media_type: {} for media_type in (*SOLUTIONS, *GRAPHS)},
        }
    }
    graphs = [
        {"name": name, "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
        for name in ("default-graph-uri", "named-graph-uri")
    ]

    async def answer(request: Request, asked: _Request) -> Response:
        accept = ",".join(request.headers.getlist("accept"))
        return await run_sync(_answer, application, asked, accept, limiter=limiter)

    @routes.get(
        "/sparql",
        summary="Query the cache",
        responses=answers,
        openapi_extra={
            "parameters": [
                {"name": "query", "in": "query", "required": True, "schema": {"type": "string"}},
                *graphs,
            ]
        },
    )
    async def query_by_get(request: Request) -> Response:
        """A SPARQL 1.1 query over the cache.

        The default graph is the union of ``urn:sensorstream:static``, ``…:window`` and
        ``…:inferred``, which are also named graphs.
        """
        parameters = request.query_params
        return await answer(request, _read({name: parameters.getlist(name) for name in parameters}))

    @routes.post(
        "/sparql",
        summary="Query the cache",
        responses=answers,
        openapi_extra={
            "parameters": graphs,
            "requestBody": {
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
            },
        },
    )
    async def query_by_post(request: Request) -> Response:
        """A SPARQL 1.1 query over the cache, as a form or as it stands."""
        media_type = media_type_of(request.headers.get("content-type", ""))
        if media_type == _UPDATE:
            raise HTTPException(415, _NO_UPDATE)
        if media_type not in (_FORM, _QUERY):
            raise HTTPException(415, f"expected {_QUERY} or {_FORM}, not '{media_type}'")
        try:
            body = (await request.body()).decode()
        except UnicodeDecodeError as error:
            raise HTTPException(400, f"the query is not UTF-8: {error}") from None
        if media_type == _FORM:
            return await answer(request, _read(parse_qs(body, keep_blank_values=True)))
        parameters = request.query_params
        given = {name: parameters.getlist(name) for name in parameters if name != "query"}
        return await answer(request, _read({**given, "query": [body]}))

    return routes


def _read(parameters: Mapping[str, Sequence[str]]) -> _Request:
    if "update" in parameters:
        raise HTTPException(400, _NO_UPDATE)
    queries = parameters.get("query", ())
    if len(queries) != 1:
        raise HTTPException(400, f"expected the parameter 'query' once, not {len(queries)} times")
    return _Request(
        queries[0],
        tuple(parameters.get("default-graph-uri", ())),
        tuple(parameters.get("named-graph-uri", ())),
    )


def _is_update(text: str) -> bool:
    try:
        return bool(parse_update(text).operations)
    except QueryError:
        return False


def _answer(application: Application, asked: _Request, accept: str) -> Response:
    """Run and write out in one thread: Oxigraph's answers may not change threads.

    Not even to be freed, so no exception that leaves may hold one in its frames.
    """
    try:
        found = application.query(asked.query, asked.default_graphs, asked.named_graphs)
    except QueryError:
        if _is_update(asked.query):
            raise QueryError(_NO_UPDATE) from None
        raise
    try:
        return results_response(found, accept)
    finally:
        del found
