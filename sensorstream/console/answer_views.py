"""The rows of an answer, as a table, as a chart and on a map."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from nicegui import ui

from sensorstream.client.results import Results
from sensorstream.console.drawings import DrawnShape, LineChart, Map, coordinates, point, shape_of
from sensorstream.console.elements import Listing, Row, ShownTable, TableColumn
from sensorstream.console.shown_values import label, named, number, when

_MOST: Final = 5000
"""Rows that a page shows; a download has all."""
_LINES: Final = 8


def show_answer(results: Results, path: str, seconds: float | None = None) -> None:
    """Show an answer in the place of the call; ``path`` is the address of its JSON, ``seconds`` the
    time that it took.
    """
    count = len(results.rows)
    told = f"{number(count)} rows" + (", and the server left out more" if results.truncated else "")
    told += "" if count <= _MOST else f"; the first {number(_MOST)} are shown"
    with ui.element("div").classes("form"):
        ui.label(told if seconds is None else f"{told}, in {number(seconds, 's')}")
        ui.button(
            "Download as CSV",
            icon="download",
            on_click=lambda: ui.download.content(csv_of(results).encode(), "answer.csv"),
        ).props("no-caps flat dense")
    rows = results.rows[:_MOST]
    table = ShownTable(
        columns_of(results.columns, rows), path, "The answer has no rows.", key="@row"
    )
    table.show(rows_of(rows))
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
    ui.label(f"{number(len(lines))} statements")
    ui.button("Download", on_click=lambda: ui.download.content(text, "graph.nt")).props(
        "no-caps flat"
    )
    Listing("\n".join(lines[:_MOST]), "Graph")


def columns_of(headings: Iterable[str], rows: Sequence[Sequence[object]] = ()) -> list[TableColumn]:
    """The columns of a table for :func:`rows_of`: told apart by their places, whatever they say."""
    return [
        TableColumn(str(at), each, is_number=is_of_numbers([row[at] for row in rows]))
        for at, each in enumerate(headings)
    ]


def rows_of(rows: Sequence[Sequence[object]]) -> list[Row]:
    """Rows with labels that lead to individuals, and times in the viewer's clock."""
    return [
        {"@row": place, **{str(at): _cell(cell) for at, cell in enumerate(row)}}
        for place, row in enumerate(rows)
    ]


def _cell(cell: object) -> object:
    if isinstance(cell, datetime):
        return when(cell.isoformat())
    if isinstance(cell, str) and _is_iri(cell):
        return named(cell)
    if is_number(cell):
        return cell if isinstance(cell, int) else float(cell)  # type: ignore[arg-type]
    return _text(cell)


def _text(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    text = "" if cell is None else str(cell)
    return label(text) if _is_iri(text) else text


def _is_iri(text: str) -> bool:
    return text.startswith(("http://", "https://", "urn:")) and " " not in text


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
    numbers = [at for at, _ in enumerate(columns) if is_of_numbers([row[at] for row in rows])]
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


def is_of_numbers(cells: Sequence[object]) -> bool:
    """Whether the cells of a column are numbers, or unbound, but not all of them."""
    there = [each for each in cells if each is not None]
    return bool(there) and all(map(is_number, there))


def is_number(cell: object) -> bool:
    """Whether a value of an answer is a number."""
    return hasattr(cell, "__float__") and not isinstance(cell, bool | str)


def places_of(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[DrawnShape]:
    """The places that rows name: by geometries, or by two columns of coordinates."""
    pair = coordinates(list(columns))
    found: list[DrawnShape] = []
    for row in rows:
        shapes = [shape_of(cell) if isinstance(cell, str) else None for cell in row]
        others = [cell for cell, shape in zip(row, shapes, strict=True) if shape is None]
        iris = (each for each in others if isinstance(each, str) and _is_iri(each))
        of = next(iris, next(iter(others), None))
        there = named(of).address if isinstance(of, str) and _is_iri(of) else ""
        told = [each for each in shapes if each is not None]
        if not told and pair is not None:
            east, north = (row[columns.index(each)] for each in pair[:2])
            if is_number(east) and is_number(north):
                told = [point(pair[2], float(east), float(north))]  # type: ignore[arg-type]
        found.extend(replace(each, name=_text(of), there=there) for each in told)
    return found
