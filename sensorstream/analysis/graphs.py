"""FROM in a continuous query."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import GRAPHS


def notes(parsed: AnyParsed, _: Known) -> Iterator[Note]:
    """``from-without-effect``: a graph that is none of the knowledge base's."""
    query = parsed.meaning
    if not isinstance(query, Query):
        return
    for graph in query.dataset.default:
        if graph not in GRAPHS:
            yield Note(
                "from-without-effect",
                f"FROM <{graph}> changes nothing: outside WINDOW the query reads the knowledge "
                "base, or the --static files of 'sensorstream run'",
                parsed.position(graph),
            )
