"""The plan of a continuous query over windows and graphs."""

from __future__ import annotations

from collections.abc import Mapping

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import plan, sources_read
from sensorstream.network.query_sources import (
    DEFAULT,
    EarlierContent,
    Sources,
    TripleSource,
    merged,
)
from sensorstream.sparql.algebra import Describe, Graph, Query, Variable
from sensorstream.sparql.query_printer import part_text, valid_time_text
from sensorstream.sparql.text_places import give_place
from sensorstream.sparql.walk import nodes
from sensorstream.streams.query_shape import WindowShape


def planned(query: Query, sources: Sources, *, graphs: bool) -> Plan:
    """The plan of a query over windows; ``graphs``: whether it may name graphs.

    Raises UnsupportedQuery if no stream can answer a part of it.
    """
    _check_form(query, graphs=graphs)
    return plan(query.form.pattern, sources, query.base)


def check_graphs(query: Query, named: Mapping[IRI, TripleIndex] | None) -> None:
    """Check that the graphs of a query exist.

    Raises QueryError if GRAPH names a graph that is not in ``named``, or there is none for its
    variable.
    """
    if named is None:
        return
    for each in nodes(query.form.pattern):
        if not isinstance(each, Graph):
            continue
        there = named if isinstance(each.name, Variable) else each.name in named
        if not there:
            known = ", ".join(f"<{name}>" for name in named)
            told = f"the query has {known}" if named else "name a file with --static"
            what = f"GRAPH {part_text(each.name)}: no such graph; {told}"
            raise give_place(QueryError(what, part=each), query.places)


def sources_of(
    query: Query, shapes: Mapping[IRI, WindowShape], named: Mapping[IRI, TripleIndex]
) -> Sources:
    """The sources that the names of a query mean; equal windows are one source."""
    windows = {name: _window(name, shape) for name, shape in shapes.items()}
    inside = dict.fromkeys(windows[e.name] for e in query.dataset.windows if e.in_default)
    return Sources(
        merged(DEFAULT, *inside),
        {name: TripleSource(id(index), f"graph <{name}>") for name, index in named.items()},
        windows,
    )


def windows_read(plan: Plan, sources: Sources) -> dict[TripleSource, WindowShape]:
    """The windows that a query needs, by their sources in its plan.

    A window that the plan does not read is included, because the query reports at its steps; it is
    left out if the plan reads the same window without its delay, whose steps are the same.
    """
    read = set(sources_read(plan))
    needed: dict[TripleSource, WindowShape] = {}
    for source in sources.windows.values():
        present = None if source.past is None else source.past.source
        if present in read:
            needed[present] = _shape(present)
        if source in read or present not in read:
            needed[source] = _shape(source)
    return needed


def _window(name: IRI, shape: WindowShape) -> TripleSource:
    present, text = shape.undelayed, f"window <{name}>"
    if present is None:
        return TripleSource(shape, text)
    return TripleSource(
        shape,
        text,
        past=EarlierContent(TripleSource(present, f"{text} without its delay"), shape.delay),
    )


def _shape(source: TripleSource) -> WindowShape:
    assert isinstance(source.key, WindowShape)
    return source.key


def _check_form(query: Query, *, graphs: bool) -> None:
    if isinstance(query.form, Describe):
        raise UnsupportedQuery(
            "DESCRIBE: it does not say which triples are to be kept in step; write CONSTRUCT with "
            "those that describe a thing, such as CONSTRUCT WHERE { ?thing ?property ?value }",
            part=query.form,
        )
    if query.valid_time is not None:
        raise UnsupportedQuery(
            f"{valid_time_text(query.valid_time)}: a continuous query follows the present; ask "
            "history once, with 'sensorstream query --on history'",
            part=query.valid_time,
        )
    if graphs:
        return
    for each in (*query.dataset.default, *query.dataset.named):
        raise UnsupportedQuery(
            f"FROM <{each}>: a continuous query reads the knowledge base as one graph, and its "
            "windows: leave the clause out",
            part=each,
        )
    for graph in nodes(query.form.pattern):
        if isinstance(graph, Graph):
            raise UnsupportedQuery(
                "GRAPH: a continuous query reads the knowledge base as one graph: "
                "leave GRAPH and its braces out",
                part=graph,
            )
