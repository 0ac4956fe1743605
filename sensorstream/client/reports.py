"""Server-sent events: reports of continuous queries, and alerts, as they arrive.

Source: WHATWG HTML, section 9.2.6 (interpreting an event stream).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sensorstream.client.results import Results


@dataclass(frozen=True, slots=True)
class QueryReport:
    """The report of a continuous query at one time.

    ``operation`` is ``+`` for added rows, ``-`` for removed rows, ``=`` for the whole result.
    ``results`` are the rows of a SELECT query, ``graph`` the N-Triples of a CONSTRUCT, ``answer``
    that of an ASK. ``missed`` is how many earlier reports are not kept any more. To continue after
    a lost connection, pass ``id``.
    """

    id: str
    query: str
    time: int | float | str
    operation: str
    results: Results | None = None
    graph: str | None = None
    answer: bool | None = None
    missed: int = 0


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event of a stream; ``data`` is its JSON object."""

    kind: str
    id: str
    data: dict[str, Any]


@dataclass(slots=True)
class EventReader:
    """Assembles events from the lines of a stream."""

    _kind: str = ""
    _id: str = ""
    _data: list[str] = field(default_factory=list)

    def line(self, line: str) -> SentEvent | None:
        """The event that this line completes; None if it completes no event."""
        if not line:
            kind, data, self._kind, self._data = self._kind, self._data, "", []
            return SentEvent(kind, self._id, json.loads("\n".join(data))) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "id":
            self._id = value
        elif name == "data":
            self._data.append(value)
        return None


@dataclass(slots=True)
class ReportReader:
    """Turns the events of a query into reports; ``variables`` are its columns."""

    variables: Sequence[str]
    ended: bool = False
    _missed: int = 0

    def report(self, event: SentEvent) -> QueryReport | None:
        """The report of an event; None for events of other kinds."""
        data = event.data
        if event.kind == "end":
            self.ended = True
        elif event.kind == "missed":
            self._missed += data["missed"]
        elif event.kind == "report":
            missed, self._missed = self._missed, 0
            rows = data.get("bindings")
            return QueryReport(
                data["id"],
                data["query"],
                data["time"],
                data["op"],
                None if rows is None else Results.of_bindings(self.variables, rows),
                data.get("graph"),
                data.get("boolean"),
                missed,
            )
        return None
