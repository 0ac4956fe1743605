"""Graphs of rdflib, from what an engine or a server knows and to what an engine takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sensorstream.client.results import QueryReport
from sensorstream.engine.engine import Engine
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.errors import TermError
from sensorstream.installation import require
from sensorstream.kb.graph_text import GraphReader
from sensorstream.kb.rdflib_terms import to_rdflib
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant

if TYPE_CHECKING:
    import rdflib


def to_graph(source: Engine | Event | EngineReport | QueryReport | str) -> rdflib.Graph:
    """A graph of rdflib.

    Args:
        source: an engine (all that it knows now), an event, a report of a CONSTRUCT query, or
            Turtle or N-Triples, as :meth:`.Client.construct` returns them.

    Raises:
        MissingExtra: the extra "notebook" is not installed.
    """
    require("notebook", "a graph of rdflib")
    match source:
        case Engine():
            triples: Iterable[Triple] = source.kb.index
        case QueryReport():
            triples = GraphReader().read(source.graph or "", "")
        case str():
            triples = GraphReader().read(source, "")
        case EngineReport():
            triples = source.report.triples or ()
        case _:
            triples = source.triples
    return to_rdflib(triples)


def from_graph(
    graph: rdflib.Graph,
    time: Instant,
    message: str,
    *,
    stream: str | None = None,
    end: Instant | None = None,
) -> Event:
    """An event that says what a graph of rdflib says.

    Args:
        graph: the statements; their order is that of their text.
        time: when it holds, in microseconds since 1970, or a number of the integer line.
        message: a name for the event, which must be unique.
        stream: the IRI of the stream that it comes in.
        end: the last time at which it holds; by default ``time``.

    Raises:
        TermError: a term is none of RDF 1.1, such as a relative IRI.
        ValueError: ``end`` is before ``time``.
    """
    text = "\n".join(sorted(graph.serialize(format="nt").split("\n")))
    try:
        triples = GraphReader().read(text, f"{message}-")
    except SyntaxError as error:
        raise TermError(f"a term of the graph is none of RDF 1.1: {error.msg}") from None
    return Event(triples, time, message, stream=None if stream is None else IRI(stream), end=end)
