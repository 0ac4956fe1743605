"""``POST /sql``: SQL over history, read-only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Annotated, Any, Final, Literal, TypeAlias

import anyio
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.running import Asked
from sensorstream.client.operations import Operations
from sensorstream.errors import Overrun
from sensorstream.history.asking.question import ARCHIVE, HISTORY
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.history.sql_formats import PIECES, WHOLE, json_value
from sensorstream.processes.stopping import Stop
from sensorstream.server.known import App, AskedBody, routed
from sensorstream.server.negotiation import choose
from sensorstream.server.questions import Asking, Questions, client_of

routes = APIRouter(tags=["history"])
_JSON: Final = "application/json"
_OFFERED: Final = (_JSON, *PIECES)
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


@routed(routes, Operations.sql, "Query history", TableBody, types=PIECES.keys())
async def run_sql(
    app: App,
    questions: Asking,
    body: SqlBody,
    request: Request,
    on: Annotated[Place, Query()] = HISTORY,
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
    query = body.query
    asked = Asked("sql", query, on, client_of(request))
    if on == ARCHIVE:
        return await questions.answer(
            request, asked, lambda stop: _of_archive(app, query, media_type, stop)
        )
    if media_type == _JSON:
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
    if media_type == _JSON:
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
    """Start the query, so that its faults are told before the answer begins."""
    with ExitStack() as stack:
        pieces = PIECES[media_type](stack.enter_context(app.asking.sql_stream(query, stop)))
        first = next(pieces)
        return stack.pop_all(), _all(first, pieces)


def _all(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


async def _stream(
    turn: AsyncExitStack, stream: ExitStack, pieces: Iterator[bytes], questions: Questions
) -> AsyncIterator[bytes]:
    """The pieces, each made in a thread; a fault breaks the connection off before its end."""
    async with turn:
        try:
            while (piece := await questions.in_thread(lambda: next(pieces, None))) is not None:
                yield piece
        finally:
            with anyio.CancelScope(shield=True):
                await questions.in_thread(stream.close)
