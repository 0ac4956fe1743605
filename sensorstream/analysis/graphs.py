"""FROM in a continuous query."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.sparql.algebra import Query


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``from-without-effect``: continuous queries read the knowledge base as one graph."""
    query = parsed.meaning
    if not known.continuous or not isinstance(query, Query):
        return
    for graph in query.dataset.default:
        yield Note(
            "from-without-effect",
            f"FROM <{graph}> changes nothing: outside WINDOW a continuous query reads the whole "
            "knowledge base, or the --static files of 'sensorstream run'",
            parsed.position(graph),
        )
