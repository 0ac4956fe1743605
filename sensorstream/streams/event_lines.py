"""Event files: JSON Lines with a graph and its time in each line, in order of arrival.

``{"time": number or xsd:dateTime, "end": optional, "stream": optional IRI, "graph": text}``.
Numbers are seconds; the text is Turtle, of which N-Triples is a part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any, Final

from sensorstream.errors import EventError, Position, TermError
from sensorstream.kb.graph_text import GraphReader
from sensorstream.model import terms
from sensorstream.model.terms import Literal, Triple
from sensorstream.model.timeline import Instant, Timeline, seconds
from sensorstream.model.xsd import NUMERIC_TYPES
from sensorstream.streams.processor import StreamEvent

SECOND: Final = 1_000_000
"""The length of a second: event files use microseconds since 0, or since 1970 for dateTimes."""
_CALENDAR: Final[Timeline] = Timeline.DATETIME
_JSON: Final = json.JSONDecoder(parse_float=Decimal)
_KEYS: Final = ("time", "end", "stream", "graph")


@dataclass(slots=True)
class EventLines:
    """A reader of events; it remembers whether times are numbers, to print times alike."""

    file: str
    numbers: bool | None = None
    graphs: GraphReader = field(default_factory=GraphReader)

    def begin(self, lines: Iterable[str]) -> Iterator[str]:
        """Read the first event, to learn how times are written; return all lines."""
        source, seen = iter(lines), list[str]()
        for line in source:
            seen.append(line)
            if line.strip():
                with suppress(ValueError, TypeError, KeyError):
                    self.numbers = _is_number(_JSON.decode(line)["time"])
                break
        return chain(seen, source)

    @property
    def line(self) -> Timeline:
        """The time line on which queries and rules see the times of the file."""
        return Timeline.SECONDS if self.numbers else Timeline.DATETIME

    def read(self, lines: Iterable[str]) -> Iterator[StreamEvent]:
        """The events of the lines; empty lines are skipped.

        Raises EventError with the line and what was expected, if a line is not an event.
        """
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield self._event(line, Position(self.file, number, 1))

    def _event(self, line: str, where: Position) -> StreamEvent:
        try:
            data = _JSON.decode(line)
        except ValueError as error:
            raise EventError(f"not a JSON object: {error}", position=where) from None
        if not isinstance(data, dict):
            raise EventError('expected an object: {"time": …, "graph": …}', position=where)
        for key in data:
            if key not in _KEYS:
                raise EventError(
                    f"unknown key '{key}': expected {', '.join(_KEYS)}", position=where
                )
        for key in ("time", "graph"):
            if key not in data:
                raise EventError(f"'{key}' is missing", position=where)
        time = self._instant(data["time"], "time", where)
        end = time if data.get("end") is None else self._instant(data["end"], "end", where)
        if end < time:
            raise EventError("'end' is before 'time'", position=where)
        stream = data.get("stream")
        try:
            name = None if stream is None else terms.iri(str(stream))
        except TermError as error:
            raise EventError(f"'stream': {error.message}", position=where) from None
        return StreamEvent(time, self._graph(data["graph"], where), name, end)

    def _instant(self, given: Any, key: str, where: Position) -> Instant:
        number = _is_number(given)
        if not number and not isinstance(given, str):
            raise EventError(
                f"'{key}': expected a number of seconds or an xsd:dateTime", position=where
            )
        if self.numbers is None:
            self.numbers = number
        elif self.numbers is not number:
            expected = "a number" if self.numbers else "an xsd:dateTime"
            raise EventError(f"'{key}': expected {expected}, as before", position=where)
        try:
            if isinstance(given, str):
                return _CALENDAR.instant(given)
            return seconds(Decimal(given))
        except (TermError, InvalidOperation, OverflowError) as error:
            raise EventError(f"'{key}': {error}", position=where) from None

    def _graph(self, text: Any, where: Position) -> tuple[Triple, ...]:
        if not isinstance(text, str):
            raise EventError("'graph': expected Turtle or N-Triples as a text", position=where)
        try:
            return self.graphs.read(text, f"e{where.line}-")
        except (SyntaxError, TermError) as error:
            raise EventError(f"'graph': not Turtle: {error}", position=where) from None

    def write(self, event: StreamEvent) -> str:
        """An event as a line that :meth:`read` can read."""
        graph = "".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in event.triples)
        data: dict[str, Any] = {"time": self.format(event.time), "graph": graph}
        if event.end is not None and event.end != event.time:
            data["end"] = self.format(event.end)
        if event.stream is not None:
            data["stream"] = event.stream
        return json.dumps(data, ensure_ascii=False) + "\n"

    def format(self, time: Instant) -> int | float | str:
        """A time as the file writes its own."""
        if self.numbers is False:
            return _CALENDAR.format(time)
        whole, rest = divmod(time, SECOND)
        return time / SECOND if rest else whole


def _is_number(given: object) -> bool:
    return isinstance(given, int | Decimal) and not isinstance(given, bool)


def instant_of(literal: Literal) -> Instant:
    """The instant of a number of seconds or an ``xsd:dateTime``; raises TermError for others."""
    if literal.datatype in NUMERIC_TYPES:
        return seconds(Decimal(literal.lexical))
    return _CALENDAR.instant(literal.lexical)
