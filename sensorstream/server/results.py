"""SPARQL results in the format that the client prefers."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Response
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
from sensorstream.server.negotiation import choose

_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024

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


def _chosen(accept: str, offered: Mapping[str, object]) -> str:
    media_type = choose(accept, list(offered))
    if media_type is None:
        raise HTTPException(406, f"'{accept}' matches none of {', '.join(offered)}")
    return media_type
