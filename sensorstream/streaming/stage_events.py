"""The events that go on from the engines of a stage to those of a later one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sensorstream.app.control.wiring import Stage
from sensorstream.engine.codec import encode
from sensorstream.engine.engine_queries import EngineReport, stream_of
from sensorstream.journal.key_routing import stage_name
from sensorstream.journal.records import Effects
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.streams.query_report import RowOperation


def passed_on(
    stages: Sequence[Stage], told: Sequence[tuple[str, Sequence[Effects]]]
) -> list[tuple[str, Instant, bytes]]:
    """The events of a batch that go on: the key of the engine that takes each, its time and its
    content. ``told`` are the effects that the engine of each key has made; their events go on in
    the order of the entries, however the keys are divided.
    """
    parts = [(key, effects) for key, of_key in told for effects in of_key]
    return [
        (f"{stage.name}={value}", part.time, json.dumps(encode(part, Event)).encode())
        for key, effects in sorted(parts, key=lambda part: (part[1].watermark, part[0]))
        for each in effects.reports
        for stage in stages
        if (stage_name(key), each.report.query) in stage.sources
        for event in _events(each)
        for value, part in _parts(event, stage.key)
    ]


def _events(told: EngineReport) -> Iterator[Event]:
    """The event that a report of a query is; rows, and triples that went, are none."""
    report = told.report
    if report.triples and report.operation is not RowOperation.REMOVED:
        time, end = report.intervals[0] if report.intervals else (report.time, None)
        name = report.query
        triples = tuple(dict.fromkeys(report.triples))
        yield Event(triples, time, "", source=name, stream=stream_of(name), end=end)


def _parts(event: Event, key: IRI | None) -> Iterator[tuple[str, Event]]:
    """The event by the values of a property; statements of whoever has no value go to all. Without
    any value the key is empty.
    """
    values: dict[Term, None] = dict.fromkeys(o for _, p, o in event.triples if p == key)
    if len(values) < 2:
        yield from ((_text(each), event) for each in values or (None,))
        return
    having = {(s, o) for s, p, o in event.triples if p == key}
    subjects = {s for s, _ in having}

    def concerns(triple: Triple, value: Term) -> bool:
        subject, predicate, told = triple
        if predicate == key:
            return told == value
        return subject not in subjects or (subject, value) in having

    for value in values:
        kept = tuple(each for each in event.triples if concerns(each, value))
        yield _text(value), event.part(kept, frozenset())


def _text(value: Term | None) -> str:
    text = "" if value is None else str(getattr(value, "lexical", value))
    # A query may make what PostgreSQL cannot store.
    return text.encode(errors="replace").decode().replace("\0", "?")
