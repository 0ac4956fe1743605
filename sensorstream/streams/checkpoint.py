"""The state of continuous queries as plain data for JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from sensorstream.kb.occurrences import StreamElement
from sensorstream.model.terms import IRI, BlankNode, Triple, term
from sensorstream.network.rows import Row
from sensorstream.streams.shape import Tick, WindowShape
from sensorstream.streams.state import ProcessorState, QueryState, StreamState


def to_data(state: ProcessorState) -> dict[str, Any]:
    """What :func:`from_data` reads; O(windows)."""
    return {
        "now": state.now,
        "counts": list(state.counts),
        "queries": [[name, text, _query_data(each)] for name, text, each in state.queries],
        "streams": [[list(astuple(tick)), _stream_data(each)] for tick, each in state.streams],
    }


def from_data(data: dict[str, Any]) -> ProcessorState:
    """The state that :func:`to_data` wrote."""
    events, triples, late = data["counts"]
    return ProcessorState(
        data["now"],
        (events, triples, late),
        tuple((name, text, _query(each)) for name, text, each in data["queries"]),
        tuple((_tick(tick), _stream(each)) for tick, each in data["streams"]),
    )


def _query_data(state: QueryState) -> dict[str, Any]:
    return {
        "due": state.due,
        "reports": state.reports,
        "last_report": state.last_report,
        "added": _rows_data(state.added),
        "removed": _rows_data(state.removed),
        "arrived": state.arrived,
        "computed": state.computed,
        "answer": state.answer,
        "pending": state.pending,
    }


def _query(data: dict[str, Any]) -> QueryState:
    rows = {"added": _rows(data["added"]), "removed": _rows(data["removed"])}
    return QueryState(**{**data, **rows})


def _rows_data(rows: Sequence[Row]) -> list[list[str | None]]:
    return [[None if each is None else each.n3 for each in row] for row in rows]


def _rows(data: list[list[str | None]]) -> tuple[Row, ...]:
    return tuple(tuple(None if each is None else term(each) for each in row) for row in data)


def _stream_data(state: StreamState) -> list[Any]:
    content, waiting = _elements_data(state.content), _elements_data(state.waiting)
    return [state.closes, state.computed, state.arrived, content, waiting]


def _stream(data: list[Any]) -> StreamState:
    closes, computed, arrived, content, waiting = data
    return StreamState(closes, computed, arrived, _elements(content), _elements(waiting))


def _tick(data: list[Any]) -> Tick:
    stream, step, by_time, origin, start, end, alone = data
    return Tick(
        None if stream is None else IRI(stream),
        step,
        by_time,
        origin,
        start,
        end,
        None if alone is None else _shape(alone),
    )


def _shape(data: list[Any]) -> WindowShape:
    stream, by_time, span, step, individuals, instances_of, origin, start, end = data
    return WindowShape(
        None if stream is None else IRI(stream),
        by_time,
        span,
        step,
        individuals,
        None if instances_of is None else IRI(instances_of),
        origin,
        start,
        end,
    )


def _elements_data(elements: Sequence[StreamElement]) -> list[Any]:
    return [
        [each.time, each.end, [[s.n3, p, o.n3] for s, p, o in each.triples]] for each in elements
    ]


def _elements(data: list[Any]) -> tuple[StreamElement, ...]:
    return tuple(
        StreamElement(time, end, tuple(map(_triple, triples))) for time, end, triples in data
    )


def _triple(data: list[str]) -> Triple:
    subject = term(data[0])
    assert isinstance(subject, IRI | BlankNode)
    return subject, IRI(data[1]), term(data[2])
