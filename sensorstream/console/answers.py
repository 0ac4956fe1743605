"""The rows of an answer, as a table, as a chart and on a map."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from sensorstream.client.results import Results
from sensorstream.console import places
from sensorstream.console.charts import LineChart
from sensorstream.console.listings import Listing
from sensorstream.console.maps import Map, Place, coordinates, point_of
from sensorstream.console.names import local_name
from sensorstream.console.tables import Column, Row, Table

_MOST: Final = 5000
"""Rows that a page shows; a download has all."""
_LINES: Final = 8


def show_answer(results: Results, path: str) -> None:
    """Show an answer in the place where this is called; ``path`` is where its JSON is."""
    count = len(results.rows)
    told = f"{count} rows" + (", and the server left out more" if results.truncated else "")
    ui.label(told if count <= _MOST else f"{told}; the first {_MOST} are shown")
    ui.button("Download as CSV", on_click=lambda: _download(results)).props("no-caps flat")
    rows = results.rows[:_MOST]
    columns = [Column(name, name, _page_of(name)) for name in results.columns]
    table = Table(columns, key="@row", path=path, empty="The answer has no rows.")
    table.show(rows_of(results.columns, rows))
    lines = lines_of(results.columns, rows)
    with ui.element("div").classes("charts"):
        if lines:
            LineChart("Numbers", {"type": "category"}).draw(lines)
        found = places_of(results.columns, rows)
        if found:
            Map("Where").draw(found)


def show_graph(text: str) -> None:
    """Show a graph in N-Triples."""
    lines = text.splitlines()
    ui.label(f"{len(lines)} statements")
    ui.button("Download", on_click=lambda: ui.download.content(text, "graph.nt")).props(
        "no-caps flat"
    )
    Listing("\n".join(lines[:_MOST]), "Graph")


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Row]:
    """The rows of a table; those of IRIs have the IRI beside their short name."""
    return [
        {
            "@row": number,
            **{
                key: value
                for name, cell in zip(columns, row, strict=True)
                for key, value in ((name, _text(cell)), (f"{name}@iri", _iri(cell)))
            },
        }
        for number, row in enumerate(rows)
    ]


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return local_name(str(cell)) if _iri(cell) else str(cell)


def _iri(cell: object) -> str:
    is_iri = isinstance(cell, str) and cell.startswith(("http://", "https://", "urn:"))
    return str(cell) if is_iri and " " not in str(cell) else ""


def _page_of(name: str) -> Any:
    def address(row: Row) -> str:
        iri = str(row[f"{name}@iri"])
        return places.individual(iri) if iri else ""

    return address


def _download(results: Results) -> None:
    ui.download.content(csv_of(results).encode(), "answer.csv")


def csv_of(results: Results) -> str:
    """An answer as CSV (RFC 4180)."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(results.columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in results.rows)
    return written.getvalue()


def lines_of(
    columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> Mapping[str, list[tuple[Any, float]]]:
    """A line for each column of numbers, over the first of the other columns."""
    if len(rows) < 2:
        return {}
    numbers = [
        at
        for at, _ in enumerate(columns)
        if all(row[at] is None or _is_number(row[at]) for row in rows)
        and any(row[at] is not None for row in rows)
    ]
    others = [at for at, _ in enumerate(columns) if at not in numbers]
    if not others and len(numbers) > 1:
        others = [numbers.pop(0)]
    if not others:
        return {}
    over = others[0]
    return {
        columns[at]: [
            (_text(row[over]), float(row[at]))  # type: ignore[arg-type]
            for row in rows
            if row[at] is not None
        ]
        for at in numbers[:_LINES]
    }


def _is_number(cell: object) -> bool:
    return hasattr(cell, "__float__") and not isinstance(cell, bool | str)


def places_of(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[tuple[str, Place]]:
    """The places that rows name: by points in WKT, or by two columns of coordinates."""
    pair = coordinates(list(columns))
    found: list[tuple[str, Place]] = []
    for row in rows:
        cells = dict(zip(columns, row, strict=True))
        name = _text(row[0])
        point = next((at for cell in row if isinstance(cell, str) and (at := point_of(cell))), None)
        if point is None and pair is not None:
            east, north = (cells[each] for each in pair)
            if _is_number(east) and _is_number(north):
                point = float(east), float(north)  # type: ignore[arg-type]
        if point is not None:
            found.append((name, point))
    return found
