"""Answers as Python values, tables, frames and HTML; reports and alerts as they arrive.

Source: WHATWG HTML, section 9.2.6 (interpreting an event stream).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sensorstream.installation import require
from sensorstream.model import xsd
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.html_tables import html_lines, html_table
from sensorstream.model.xsd import INTEGER_TYPES

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import pyarrow


@frozen
class Results:
    """Rows of values: int, float, Decimal, bool, datetime or text; None if a variable is unbound.
    IRIs and blank nodes are text. ``truncated``: the server left out further rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False

    @classmethod
    def of_bindings(
        cls, columns: Sequence[str], bindings: Sequence[Mapping[str, Mapping[str, str]]]
    ) -> Results:
        """Solutions in the SPARQL 1.1 Query Results JSON Format (section 3.2)."""
        rows = (
            tuple(None if name not in row else value_of(row[name]) for name in columns)
            for row in bindings
        )
        return cls(tuple(columns), tuple(rows))

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Results:
        """An answer to SELECT in the SPARQL 1.1 Query Results JSON Format."""
        return cls.of_bindings(document["head"].get("vars", ()), document["results"]["bindings"])

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows, "the server left out more" * self.truncated)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow stream that polars, DuckDB and others read: ``polars.DataFrame(results)``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table; a column whose values are of several kinds becomes numbers or text.

        Raises:
            MissingExtra: the extra "frames" is not installed.
        """
        require("frames", "a data frame or an Arrow table")
        import pyarrow as pa

        arrays = [_array([row[at] for row in self.rows]) for at in range(len(self.columns))]
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame, made of the Arrow table; raises as :meth:`to_arrow`."""
        return self.to_arrow().to_pandas()


class QueryPlan(dict[str, Any]):
    """The plan of a query, as lines of its ``algebra``, ``sql`` and ``plan``."""

    def _repr_html_(self) -> str:
        parts = (f"<b>{name}</b>{html_lines(_lines(told))}" for name, told in self.items() if told)
        return "".join(parts)


class QueryGraph(dict[str, Any]):
    """The operators of a continuous query, with their counters, as the API has them."""

    def _repr_html_(self) -> str:
        feeds: dict[int, list[str]] = {}
        for each in self["edges"]:
            feeds.setdefault(each["to"], []).append(str(each["from"]))
        columns = ("", "operator", "reads", "added", "removed", "rows kept")
        rows = [
            (
                *(each["id"], each["operator"], ", ".join(feeds.get(each["id"], ()))),
                *(each["added"], each["removed"], each["memory"]),
            )
            for each in self["nodes"]
        ]
        return html_lines([f"{self['query']}: {self['report']}"]) + html_table(columns, rows)


def _lines(told: object) -> list[str]:
    return [str(each) for each in told] if isinstance(told, list) else str(told).splitlines()


def value_of(term: Mapping[str, str]) -> Any:
    """The Python value of a term; its text if there is no such value, or the text is invalid."""
    text, datatype = term["value"], term.get("datatype", "")
    try:
        if datatype in INTEGER_TYPES:
            return int(text)
        if datatype in (xsd.DOUBLE, xsd.FLOAT):
            return float(text)
        if datatype == xsd.DECIMAL:
            return Decimal(text)
        if datatype == xsd.BOOLEAN:
            return {"true": True, "1": True, "false": False, "0": False}.get(text, text)
        if datatype == xsd.DATE_TIME:
            return datetime.fromisoformat(text)
    except (ValueError, ArithmeticError):
        pass
    return text


def _array(values: list[Any]) -> Any:
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        if kinds <= {int, float, Decimal}:
            values = [None if value is None else float(value) for value in values]
        else:
            values = [None if value is None else str(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # More digits than a column of numbers holds, or times with and without a zone.
        return pa.array([None if value is None else str(value) for value in values])


@frozen
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

    def _repr_html_(self) -> str:
        if self.results is not None:
            return html_table(self.results.columns, self.results.rows, self._told())
        return html_lines([self._told(), *(self.graph or str(self.answer)).splitlines()])

    def _told(self) -> str:
        return f"{self.operation} at {self.time}: {self.query}"


@frozen
class SentEvent:
    """An event of a stream; ``data`` is its JSON object."""

    kind: str
    id: str
    data: dict[str, Any]


@mutable
class EventReader:
    """A reader that assembles events from the lines of a stream."""

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


@mutable
class ReportReader:
    """A reader that makes reports of the events of a query; ``variables`` are its columns."""

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
