"""``POST /sql``: SQL over history, read-only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import Annotated, Any, Final, Literal, TypeAlias

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.errors import QueryError
from sensorstream.history.asking.question import ARCHIVE, HISTORY
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.history.sql_formats import PIECES, WHOLE, json_value
from sensorstream.server.negotiation import choose

_JSON: Final = "application/json"
_OFFERED: Final = (_JSON, *PIECES)
_AT_ONCE: Final = 2
Place: TypeAlias = Literal["history", "archive"]


class SqlBody(BaseModel):
    """One SQL statement over the views of schema ``history``."""

    query: str = Field(
        min_length=1, examples=["select * from history.individuals order by time desc limit 10"]
    )


class TableBody(BaseModel):
    """The answer; ``truncated``: the row limit was reached and rows are missing."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


def router(application: Application) -> APIRouter:
    """The SQL resource."""
    routes = APIRouter(tags=["history"])
    # Each question to the archive may take the memory that archive.memory allows.
    of_archive = anyio.CapacityLimiter(_AT_ONCE)

    @routes.post(
        "/sql",
        summary="Query history",
        responses={200: {"model": TableBody, "content": {each: {} for each in PIECES}}},
    )
    async def run_sql(
        body: SqlBody, request: Request, on: Annotated[Place, Query()] = HISTORY
    ) -> Response:
        """One read-only SQL statement over history, or over its archive in DuckDB's SQL.

        In JSON times come as ISO 8601 text, numbers as numbers, bytes as text where they are UTF-8
        and base64 where not; NaN and infinities as text. History's CSV and Arrow are streamed, all
        rows; an answer of the archive ends at the row limit.
        """
        accept = ",".join(request.headers.getlist("accept"))
        media_type = choose(accept, _OFFERED)
        if media_type is None:
            raise HTTPException(406, f"'{accept}' matches none of {', '.join(_OFFERED)}")
        if on == ARCHIVE:
            return await run_sync(
                _of_archive, application, body.query, media_type, limiter=of_archive
            )
        if media_type == _JSON:
            return await run_sync(_table, application.sql, body.query)
        stack, pieces = await run_sync(_begin, application, body.query, media_type)
        return StreamingResponse(
            _stream(stack, pieces), media_type=media_type, headers={"Vary": "Accept"}
        )

    return routes


def _of_archive(application: Application, query: str, media_type: str) -> Response:
    if media_type == _JSON:
        return _table(application.sql_archive, query)
    table = application.sql_archive(query)
    if table.truncated:
        limit = application.settings.history.row_limit
        raise QueryError(
            f"the answer has more than {limit} rows: ask for less, or add LIMIT (history.row_limit)"
        )
    return Response(WHOLE[media_type](table), media_type=media_type, headers={"Vary": "Accept"})


def _table(ask: Callable[[str], SqlResult], query: str) -> Response:
    table = ask(query)
    return JSONResponse(
        {
            "columns": list(table.columns),
            "rows": [[json_value(value) for value in row] for row in table.rows],
            "truncated": table.truncated,
        },
        headers={"Vary": "Accept"},
    )


def _begin(
    application: Application, query: str, media_type: str
) -> tuple[ExitStack, Iterator[bytes]]:
    """Start the query, so that its faults are told before the answer begins."""
    with ExitStack() as stack:
        pieces = PIECES[media_type](stack.enter_context(application.sql_stream(query)))
        first = next(pieces)
        return stack.pop_all(), _all(first, pieces)


def _all(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


async def _stream(stack: ExitStack, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, each made in a thread; a fault breaks the connection off before its end."""
    try:
        while (piece := await run_sync(next, pieces, None)) is not None:
            yield piece
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(stack.close)
