"""``/sparql``: queries over the cache and history (SPARQL 1.1 Protocol, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any, Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.running import Asked
from sensorstream.cache.protocol import Answered, CacheQuestion, Formats
from sensorstream.errors import QueryError
from sensorstream.history.asking import formats
from sensorstream.history.asking.answer import Answer
from sensorstream.history.asking.question import (
    ALL,
    ARCHIVE,
    CACHE,
    HISTORY,
    SPARK,
    check_no_time,
    read_question,
)
from sensorstream.history.asking.stopping import Stop
from sensorstream.server.negotiation import media_type_of
from sensorstream.server.questions import Questions, client_of
from sensorstream.server.results import answer_response, cache_response
from sensorstream.sparql.parser import parse_update

_FORM: Final = "application/x-www-form-urlencoded"
_QUERY: Final = "application/sparql-query"
_UPDATE: Final = "application/sparql-update"
_NO_UPDATE: Final = "updates are refused: the cache changes by messages and rules only"
_SERVED: Final = (CACHE, HISTORY, ALL, ARCHIVE)


@dataclass(frozen=True, slots=True)
class _Request:
    query: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    on: str
    at: str | None
    during: str | None


def router(application: Application, questions: Questions) -> APIRouter:
    """The SPARQL endpoint."""
    routes = APIRouter(tags=["sparql"])
    answers: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "Results, as JSON, XML, CSV, TSV, Arrow or Parquet; or a graph, as "
            "Turtle, N-Triples, RDF/XML or JSON-LD",
            "content": {media_type: {} for media_type in (*formats.SOLUTIONS, *formats.GRAPHS)},
        }
    }
    given: list[dict[str, Any]] = [
        {"name": name, "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
        for name in ("default-graph-uri", "named-graph-uri")
    ]
    given += (
        {"name": name, "in": "query", "description": told, "schema": {"type": "string", **more}}
        for name, told, more in (
            ("on", "What is asked.", {"enum": [*_SERVED], "default": CACHE}),
            ("at", "Of history: what held at a time of the time line.", {}),
            ("during", "Of history: what held at any time of start/end.", {}),
        )
    )

    async def answer(request: Request, asked: _Request) -> Response:
        accept = ",".join(request.headers.getlist("accept"))
        told = Asked("sparql", asked.query, asked.on, client_of(request), asked.at, asked.during)
        work = _of_cache if asked.on == CACHE else _of_history

        def respond(stop: Stop) -> Response:
            try:
                return work(application, asked, accept, stop)
            except QueryError:
                if _is_update(asked.query):
                    raise QueryError(_NO_UPDATE) from None
                raise

        return await questions.answer(request, told, respond)

    @routes.get(
        "/sparql",
        summary="Query the cache or history",
        responses=answers,
        openapi_extra={
            "parameters": [
                {"name": "query", "in": "query", "required": True, "schema": {"type": "string"}},
                *given,
            ]
        },
    )
    async def query_by_get(request: Request) -> Response:
        """A SPARQL 1.1 query over the cache, over history, or over both.

        The default graph is the union of ``urn:sensorstream:static``, ``…:window`` and
        ``…:inferred``, which are also named graphs; with history, ``…:persistent`` too.
        """
        parameters = request.query_params
        return await answer(request, _read({name: parameters.getlist(name) for name in parameters}))

    @routes.post(
        "/sparql",
        summary="Query the cache or history",
        responses=answers,
        openapi_extra={
            "parameters": given,
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
        """A SPARQL 1.1 query, as a form or as it stands."""
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
        others = {name: parameters.getlist(name) for name in parameters if name != "query"}
        return await answer(request, _read({**others, "query": [body]}))

    return routes


def _read(parameters: Mapping[str, Sequence[str]]) -> _Request:
    if "update" in parameters:
        raise HTTPException(400, _NO_UPDATE)
    queries = parameters.get("query", ())
    if len(queries) != 1:
        raise HTTPException(400, f"expected the parameter 'query' once, not {len(queries)} times")
    on = _once(parameters, "on") or CACHE
    if on not in _SERVED:
        told = f"on: expected {', '.join(_SERVED[:-1])} or {_SERVED[-1]}, not '{on}'"
        if on == SPARK:
            told += ": 'sensorstream query --on spark' starts Spark, the server does not"
        raise HTTPException(400, told)
    return _Request(
        queries[0],
        tuple(parameters.get("default-graph-uri", ())),
        tuple(parameters.get("named-graph-uri", ())),
        on,
        _once(parameters, "at"),
        _once(parameters, "during"),
    )


def _once(parameters: Mapping[str, Sequence[str]], name: str) -> str | None:
    given = parameters.get(name, ())
    if len(given) > 1:
        raise HTTPException(400, f"expected the parameter '{name}' once, not {len(given)} times")
    return given[0] if given else None


def _is_update(text: str) -> bool:
    try:
        return bool(parse_update(text).operations)
    except QueryError:
        return False


def _of_history(application: Application, asked: _Request, accept: str, stop: Stop) -> Response:
    question = read_question(
        asked.query,
        application.timeline,
        at=asked.at,
        during=asked.during,
        default_graphs=asked.default_graphs,
        named_graphs=asked.named_graphs,
    )
    asking: AbstractContextManager[Answer]
    if asked.on == ARCHIVE:
        asking = application.asking.archive(question, stop)
    else:
        asking = application.asking.history(question, live=asked.on == ALL, stop=stop)
    with asking as answer:
        return answer_response(answer, accept)


def _of_cache(application: Application, asked: _Request, accept: str, stop: Stop) -> Response:
    check_no_time(asked.at, asked.during, CACHE)

    def ask(wanted: Formats, out: IO[bytes]) -> Answered:
        question = CacheQuestion(asked.query, wanted, asked.default_graphs, asked.named_graphs)
        return application.asking.cache(question, out, stop)

    return cache_response(ask, accept)
