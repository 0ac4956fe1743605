"""An engine's state as bytes, and back: compressed JSON, no code in it."""

from __future__ import annotations

import json
import zlib
from typing import Any

from sensorstream.engine.arrival import Arrived
from sensorstream.engine.engine import EngineState
from sensorstream.engine.notices import Notices
from sensorstream.engine.queries import Moved, QueriesState, Registration
from sensorstream.engine.reorder import Heard, ReorderState, Waiting
from sensorstream.engine.shedding import Entered, LoadState
from sensorstream.engine.synopsis import Summary
from sensorstream.mapping.plan import Mapped
from sensorstream.model.events import Event, Individual, Message, Provenance
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple, term
from sensorstream.rules.memory import RuleMemory
from sensorstream.streams.checkpoint import from_data, to_data
from sensorstream.window.spec import Partition
from sensorstream.window.state import Counters, PaneState, WindowState


def dump(state: EngineState) -> bytes:
    """The state as bytes; O(window)."""
    data = {
        "version": 2,
        "window": _window_data(state.window),
        "memory": state.memory.to_data(),
        "notices": state.notices.counts,
        "held": _held_data(state.held),
        "archived": state.archived,
        "load": _load_data(state.load),
        "degraded": state.degraded,
        "queries": None if state.queries is None else _queries_data(state.queries),
    }
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), level=1)


def load(content: bytes) -> EngineState:
    """The state that :func:`dump` wrote."""
    data = json.loads(zlib.decompress(content))
    return EngineState(
        _window(data["window"]) if "window" in data else _first_window(data),
        RuleMemory.of(data["memory"]),
        Notices.of(data["notices"]),
        _held(data["held"]) if "held" in data else ReorderState(),
        data.get("archived", 0),
        _load(data["load"]) if "load" in data else LoadState(),
        data.get("degraded", ""),
        _queries(data["queries"]) if data.get("queries") else None,
    )


def _queries_data(state: QueriesState) -> dict[str, Any]:
    return {
        "processor": to_data(state.processor),
        "registered": [[each.name, each.entry, each.reports] for each in state.registered],
        "moved": None if state.moved is None else [state.moved.time, state.moved.received],
    }


def _queries(data: dict[str, Any]) -> QueriesState:
    moved = data["moved"]
    return QueriesState(
        from_data(data["processor"]),
        tuple(Registration(*each) for each in data["registered"]),
        None if moved is None else Moved(*moved),
    )


def _load_data(state: LoadState) -> list[Any]:
    summaries = [[about, summary.to_data()] for about, summary in state.summaries.items()]
    entered = [sorted(name.n3 for name in state.entered.names), state.entered.ends]
    return [state.level, state.at, state.active, state.shed, summaries, state.ends, entered]


def _load(data: list[Any]) -> LoadState:
    level, at, active, shed, summaries, ends, *entered = data
    return LoadState(
        level,
        at,
        active,
        shed,
        {IRI(about): Summary.from_data(summary) for about, summary in summaries},
        ends,
        *(Entered({_subject(name) for name in names}, end) for names, end in entered),
    )


def _held_data(state: ReorderState[Arrived]) -> dict[str, Any]:
    return {
        "sources": [[name, heard.front, heard.at] for name, heard in state.sources.items()],
        "held": [[each.time, each.arrival, *_arrived_data(each.item)] for each in state.held],
        "numbers": [state.frontier, state.released, state.latest, state.now, state.arrivals],
    }


def _held(data: dict[str, Any]) -> ReorderState[Arrived]:
    return ReorderState(
        {name: Heard(front, at) for name, front, at in data["sources"]},
        [Waiting(time, arrival, _arrived(rest)) for time, arrival, *rest in data["held"]],
        *data["numbers"],
    )


def _arrived_data(arrived: Arrived) -> list[Any]:
    message, mapped = arrived.message, arrived.mapped
    return [
        [message.id, message.received, message.source],
        list(mapped.matched),
        [_event_data(each) for each in mapped.events],
        [name.n3 for name in mapped.individuals],
        list(mapped.warnings),
    ]


def _arrived(data: list[Any]) -> Arrived:
    (name, received, source), matched, events, individuals, warnings = data
    return Arrived(
        Message(name, b"", received, source),
        Mapped(
            tuple(matched),
            tuple(_event(each) for each in events),
            tuple(_subject(each) for each in individuals),
            warnings=tuple(warnings),
        ),
    )


def _window_data(state: WindowState) -> dict[str, Any]:
    partition = state.partition
    return {
        "counters": {name: getattr(state.counters, name) for name in Counters.__slots__},
        "individuals": [_individual_data(each) for each in state.individuals],
        "owners": [[node.n3, name.n3] for node, name in state.owners.items()],
        "panes": [
            [
                pane.key,
                pane.entered,
                pane.boundary,
                [name.n3 for name in pane.names],
                [_event_data(each) for each in pane.pending],
            ]
            for pane in state.panes
        ],
        "partition": None if partition is None else [partition.property],
        "ages": [[*_triple_data(triple), *age] for triple, age in state.ages.items()],
    }


def _window(data: dict[str, Any]) -> WindowState:
    partition = data["partition"]
    return WindowState(
        Counters(**data["counters"]),
        tuple(_individual(each) for each in data["individuals"]),
        {BlankNode(node): _subject(name) for node, name in data["owners"]},
        tuple(
            PaneState(
                key,
                entered,
                boundary,
                tuple(_subject(each) for each in names),
                tuple(_event(each) for each in pending),
            )
            for key, entered, boundary, names, pending in data["panes"]
        ),
        None if partition is None else Partition(*(p and IRI(p) for p in partition)),
        {_triple(each[:3]): (each[3], each[4]) for each in data["ages"]},
    )


def _first_window(data: dict[str, Any]) -> WindowState:
    """The window of a checkpoint of version 1: one pane, no ages, owners by their statements."""
    counters = data["counters"]
    entered, boundary = counters.pop("entered"), counters.pop("boundary")
    individuals = tuple(_individual(each) for each in data["individuals"])
    owners = {
        subject: each.name
        for each in individuals
        for subject, _, _ in each.statements
        if isinstance(subject, BlankNode) and subject != each.name
    }
    names = tuple(each.name for each in individuals)
    pending = tuple(_event(each) for each in data["pending"])
    pane = PaneState(None, entered, boundary, names, pending)
    return WindowState(Counters(**counters), individuals, owners, (pane,))


def _individual_data(each: Individual) -> list[Any]:
    statements = [
        [*_triple_data(triple), said.message, said.time] for triple, said in each.statements.items()
    ]
    return [
        each.name.n3,
        each.stay,
        each.entered,
        each.time,
        each.arrival,
        each.message,
        statements,
    ]


def _individual(data: list[Any]) -> Individual:
    name, stay, entered, time, arrival, message, statements = data
    return Individual(
        _subject(name),
        stay,
        entered,
        time,
        arrival,
        message,
        {_triple(each[:3]): Provenance(each[3], each[4]) for each in statements},
    )


def _event_data(each: Event) -> list[Any]:
    replaces = sorted([name.n3, predicate] for name, predicate in each.replaces)
    return [
        [_triple_data(t) for t in each.triples],
        each.time,
        each.message,
        replaces,
        each.source,
        each.stream,
        each.end,
    ]


def _event(data: list[Any]) -> Event:
    triples, time, message, replaces = data[:4]
    # These were not always there.
    source = data[4] if len(data) > 4 else ""
    stream, end = data[5:] if len(data) > 5 else (None, None)
    return Event(
        tuple(_triple(each) for each in triples),
        time,
        message,
        frozenset((_subject(name), IRI(predicate)) for name, predicate in replaces),
        source,
        None if stream is None else IRI(stream),
        end,
    )


def _triple_data(triple: Triple) -> list[str]:
    subject, predicate, value = triple
    return [subject.n3, predicate, value.n3]


def _triple(data: list[str]) -> Triple:
    return _subject(data[0]), IRI(data[1]), term(data[2])


def _subject(text: str) -> Subject:
    found = term(text)
    assert isinstance(found, IRI | BlankNode)
    return found
