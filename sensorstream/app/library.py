"""Functions that a program which uses SensorStream as a library needs beside the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sensorstream.app.recorded import recorded_events
from sensorstream.client.results import Results
from sensorstream.engine.arrival import Arrived, Mapper, Unmapped
from sensorstream.engine.engine import Engine
from sensorstream.errors import UnknownQuery
from sensorstream.mapping.document import encoded
from sensorstream.mapping.plan import MappingPlan
from sensorstream.model.events import Event, Message
from sensorstream.model.timeline import Instant
from sensorstream.streams.event_lines import EventLines
from sensorstream.streams.report_data import bindings


def map_message(
    mapping: MappingPlan,
    message: bytes | str,
    *,
    id: str = "m1",
    received: Instant = 0,
    source: str = "",
) -> Arrived | Unmapped:
    """The events that mapping rules make of an XML message, for :meth:`.Engine.take`.

    Args:
        mapping: a result of :func:`.parse_mapping`.
        message: the document.
        id: names the message in outcomes and in new names that rules make; must be unique.
        received: the time of the message if it does not contain a time.
        source: the stream it belongs to.

    Returns:
        The events; or an :class:`.Unmapped` with the reason why no rule matched.
    """
    content = encoded(message) if isinstance(message, str) else message
    return Mapper(mapping).map(Message(id, content, received, source))


def read_events(file: str | Path) -> Iterator[Event]:
    """The events of a file of JSON Lines, in its order.

    Raises:
        EventError: a line is not an event.
    """
    with Path(file).open(encoding="utf-8") as lines:
        yield from recorded_events(EventLines(str(file)), lines)


def result_of(engine: Engine, name: str) -> Results:
    """The whole result of a SELECT query as it is now.

    Raises:
        UnknownQuery: the engine has no query of that name.
    """
    running = engine.queries.processor.queries.get(name)
    if running is None:
        raise UnknownQuery(f"there is no query '{name}'")
    rows = [bindings(running.variables, row) for row in running.result()]
    return Results.of_bindings(running.variables, rows)
