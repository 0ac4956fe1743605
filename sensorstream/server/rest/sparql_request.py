"""A request of the SPARQL 1.1 Protocol (section 2.1): its query, its graphs, what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from fastapi import Request
from starlette.exceptions import HTTPException

from sensorstream.app.running import Asked
from sensorstream.history.asking.question import ALL, ARCHIVE, CACHE, HISTORY, SPARK
from sensorstream.server.negotiation import media_type_of
from sensorstream.server.questions import client_of

NO_UPDATE: Final = "updates are refused: the cache changes by messages and rules only"
_FORM: Final = "application/x-www-form-urlencoded"
_QUERY: Final = "application/sparql-query"
_UPDATE: Final = "application/sparql-update"
_SERVED: Final = (CACHE, HISTORY, ALL, ARCHIVE)


@dataclass(frozen=True, slots=True)
class SparqlRequest:
    """A query and what it is asked of; ``at`` and ``during`` are its valid time."""

    query: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    on: str
    at: str | None
    during: str | None

    def asked(self, request: Request) -> Asked:
        """How the list of questions that run names it."""
        return Asked("sparql", self.query, self.on, client_of(request), self.at, self.during)


def parameters(*, of_post: bool) -> list[dict[str, Any]]:
    """The parameters in OpenAPI's form; a GET needs ``query`` too."""
    text = {"type": "string"}
    found: list[dict[str, Any]] = []
    if not of_post:
        found.append({"name": "query", "in": "query", "required": True, "schema": text})
    found += (
        {"name": name, "in": "query", "schema": {"type": "array", "items": text}}
        for name in ("default-graph-uri", "named-graph-uri")
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


def of_get(request: Request) -> SparqlRequest:
    """The query of a GET.

    Raises:
        HTTPException: 400, the parameters are not those of a query.
    """
    given = request.query_params
    return _read({name: given.getlist(name) for name in given})


async def of_post(request: Request) -> SparqlRequest:
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
        return _read(parse_qs(body, keep_blank_values=True))
    given = request.query_params
    others = {name: given.getlist(name) for name in given if name != "query"}
    return _read({**others, "query": [body]})


def _read(given: Mapping[str, Sequence[str]]) -> SparqlRequest:
    if "update" in given:
        raise HTTPException(400, NO_UPDATE)
    queries = given.get("query", ())
    if len(queries) != 1:
        raise HTTPException(400, f"expected the parameter 'query' once, not {len(queries)} times")
    on = _once(given, "on") or CACHE
    if on not in _SERVED:
        told = f"on: expected {', '.join(_SERVED[:-1])} or {_SERVED[-1]}, not '{on}'"
        if on == SPARK:
            told += ": 'sensorstream query --on spark' starts Spark, the server does not"
        raise HTTPException(400, told)
    return SparqlRequest(
        queries[0],
        tuple(given.get("default-graph-uri", ())),
        tuple(given.get("named-graph-uri", ())),
        on,
        _once(given, "at"),
        _once(given, "during"),
    )


def _once(given: Mapping[str, Sequence[str]], name: str) -> str | None:
    found = given.get(name, ())
    if len(found) > 1:
        raise HTTPException(400, f"expected the parameter '{name}' once, not {len(found)} times")
    return found[0] if found else None
