"""SPARQL results in the format that the client prefers."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from anyio.to_thread import run_sync
from fastapi import Response
from fastapi.responses import StreamingResponse
from pyoxigraph import (
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Triple,
    serialize,
)
from starlette.exceptions import HTTPException

from sensorstream.errors import QueryError
from sensorstream.history.asking import formats
from sensorstream.history.asking.answer import Answer
from sensorstream.server.negotiation import choose

_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_IN_MEMORY: Final = 4 * 1024 * 1024
_MOST_KEPT: Final = 1024 * 1024 * 1024
_PIECE: Final = 64 * 1024

# By preference. The later names of a format are for clients with a general Accept header.
BOOLEANS: Final[Mapping[str, QueryResultsFormat]] = {
    "application/sparql-results+json": QueryResultsFormat.JSON,
    "application/sparql-results+xml": QueryResultsFormat.XML,
    "application/json": QueryResultsFormat.JSON,
    "application/xml": QueryResultsFormat.XML,
    "text/xml": QueryResultsFormat.XML,
}
SOLUTIONS: Final[Mapping[str, QueryResultsFormat]] = {
    "application/sparql-results+json": QueryResultsFormat.JSON,
    "application/sparql-results+xml": QueryResultsFormat.XML,
    "text/csv": QueryResultsFormat.CSV,
    "text/tab-separated-values": QueryResultsFormat.TSV,
    **BOOLEANS,
}
GRAPHS: Final[Mapping[str, RdfFormat]] = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "application/ld+json": RdfFormat.JSON_LD,
    "application/xml": RdfFormat.RDF_XML,
}


class _Kept(SpooledTemporaryFile[bytes]):
    """A buffer for an answer of history, with a size limit."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > _MOST_KEPT:
            raise QueryError(
                f"the answer is larger than {_MOST_KEPT} bytes: ask for less, or add LIMIT"
            )
        return super().write(data)


class _Bounded(io.BytesIO):
    """A buffer with the size limit of an answer."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > _MAX_ANSWER_BYTES:
            raise QueryError(
                f"the answer is larger than {_MAX_ANSWER_BYTES} bytes: ask for less, or add LIMIT"
            )
        return super().write(data)


def results_response(
    found: QuerySolutions | QueryBoolean | QueryTriples | list[Triple], accept: str
) -> Response:
    """The answer to a query, in a format of ``accept``.

    Raises:
        QueryError: the answer cannot be computed, or is too large.
        HTTPException: 406, no format suits.
    """
    written = _Bounded()
    try:
        if isinstance(found, QuerySolutions):
            media_type = _chosen(accept, SOLUTIONS)
            found.serialize(written, format=SOLUTIONS[media_type])
        elif isinstance(found, QueryBoolean):
            media_type = _chosen(accept, BOOLEANS)
            found.serialize(written, format=BOOLEANS[media_type])
        else:
            media_type = _chosen(accept, GRAPHS)
            serialize(found, written, format=GRAPHS[media_type])
    except (OSError, RuntimeError, ValueError) as error:
        raise QueryError(f"the query cannot be answered: {error}") from None
    finally:
        del found
    return Response(written.getvalue(), media_type=media_type, headers={"Vary": "Accept"})


def answer_response(answer: Answer, accept: str) -> Response:
    """The answer of history, in a format of ``accept``; it is read to its end here.

    It is kept in memory while it is small, else in a file without a name. So a fault at its end
    is still told, and a slow client keeps no transaction open.

    Raises:
        QueryError: the answer cannot be computed, or is too large.
        HTTPException: 406, no format suits.
    """
    writers = formats.writers(answer)
    media_type = _chosen(accept, writers)
    kept = _Kept(max_size=_IN_MEMORY)
    try:
        writers[media_type](answer, kept)
        size = kept.tell()
        kept.seek(0)
    except BaseException:
        kept.close()
        raise
    vary = {"Vary": "Accept"}
    if size <= _IN_MEMORY:
        with kept:
            return Response(kept.read(), media_type=media_type, headers=vary)
    return StreamingResponse(_pieces(kept), media_type=media_type, headers=vary)


async def _pieces(kept: IO[bytes]) -> AsyncIterator[bytes]:
    # Asynchronous, so that it is closed when the client leaves half-way.
    with kept:
        while piece := await run_sync(kept.read, _PIECE):
            yield piece


def _chosen(accept: str, offered: Mapping[str, object]) -> str:
    media_type = choose(accept, list(offered))
    if media_type is None:
        raise HTTPException(406, f"'{accept}' matches none of {', '.join(offered)}")
    return media_type
