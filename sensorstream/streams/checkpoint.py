"""The state of continuous queries as plain data for JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from sensorstream.model.terms import IRI, BlankNode, Triple, term
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row
from sensorstream.streams.state import ProcessorState, QueryState, WindowState
from sensorstream.streams.window import WindowShape


def to_data(state: ProcessorState) -> dict[str, Any]:
    """What :func:`from_data` reads; O(windows)."""
    return {
        "now": state.now,
        "counts": list(state.counts),
        "queries": [[name, text, _query_data(each)] for name, text, each in state.queries],
        "windows": [[list(astuple(shape)), _window_data(each)] for shape, each in state.windows],
    }


def from_data(data: dict[str, Any]) -> ProcessorState:
    """The state that :func:`to_data` wrote."""
    events, triples, late = data["counts"]
    return ProcessorState(
        data["now"],
        (events, triples, late),
        tuple((name, text, _query(each)) for name, text, each in data["queries"]),
        tuple((_shape(shape), _window(each)) for shape, each in data["windows"]),
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
        "waits": state.waits,
    }


def _query(data: dict[str, Any]) -> QueryState:
    rows = {"added": _rows(data["added"]), "removed": _rows(data["removed"])}
    return QueryState(**{**data, **rows})


def _rows_data(rows: Sequence[Row]) -> list[list[str | None]]:
    return [[None if each is None else each.n3 for each in row] for row in rows]


def _rows(data: list[list[str | None]]) -> tuple[Row, ...]:
    return tuple(tuple(None if each is None else term(each) for each in row) for row in data)


def _window_data(state: WindowState) -> list[Any]:
    content, waiting = _events_data(state.content), _events_data(state.waiting)
    return [state.closes, state.computed, state.arrived, content, waiting]


def _window(data: list[Any]) -> WindowState:
    closes, computed, arrived, content, waiting = data
    return WindowState(closes, computed, arrived, _events(content), _events(waiting))


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


def _events_data(events: Sequence[tuple[Instant, Sequence[Triple]]]) -> list[Any]:
    return [[time, [[s.n3, p, o.n3] for s, p, o in triples]] for time, triples in events]


def _events(data: list[Any]) -> tuple[tuple[Instant, tuple[Triple, ...]], ...]:
    return tuple((time, tuple(map(_triple, triples))) for time, triples in data)


def _triple(data: list[str]) -> Triple:
    subject = term(data[0])
    assert isinstance(subject, IRI | BlankNode)
    return subject, IRI(data[1]), term(data[2])
