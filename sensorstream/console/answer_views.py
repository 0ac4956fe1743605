"""The rows of an answer, as a table, as a chart and on a map."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from nicegui import ui

from sensorstream.client.results import Results
from sensorstream.console import page_addresses
from sensorstream.console.drawings import DrawnShape, LineChart, Map, coordinates, point, shape_of
from sensorstream.console.elements import Listing, Row, ShownTable, TableColumn
from sensorstream.console.page_addresses import local_name

_MOST: Final = 5000
"""Rows that a page shows; a download has all."""
_LINES: Final = 8


def show_answer(results: Results, path: str) -> None:
    """Show an answer in the place of the call; ``path`` is the address of its JSON."""
    count = len(results.rows)
    told = f"{count} rows" + (", and the server left out more" if results.truncated else "")
    ui.label(told if count <= _MOST else f"{told}; the first {_MOST} are shown")
    ui.button(
        "Download as CSV",
        on_click=lambda: ui.download.content(csv_of(results).encode(), "answer.csv"),
    ).props("no-caps flat")
    rows = results.rows[:_MOST]
    table = ShownTable(columns_of(results.columns), path, "The answer has no rows.", key="@row")
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
    ui.label(f"{len(lines)} statements")
    ui.button("Download", on_click=lambda: ui.download.content(text, "graph.nt")).props(
        "no-caps flat"
    )
    Listing("\n".join(lines[:_MOST]), "Graph")


def columns_of(headings: Iterable[str]) -> list[TableColumn]:
    """The columns of a table for :func:`rows_of`: told apart by their places, whatever they say."""
    return [TableColumn(str(at), each, _page_of(str(at))) for at, each in enumerate(headings)]


def rows_of(rows: Sequence[Sequence[object]]) -> list[Row]:
    """The rows of a table; those of IRIs have the IRI beside their short name."""
    return [
        {
            "@row": number,
            **{
                key: value
                for at, cell in enumerate(row)
                for key, value in ((str(at), _text(cell)), (f"{at}@iri", _iri(cell)))
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


def _page_of(name: str) -> Callable[[Row], str]:
    def address(row: Row) -> str:
        iri = str(row[f"{name}@iri"])
        return page_addresses.individual(iri) if iri else ""

    return address


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
        if all(row[at] is None or is_number(row[at]) for row in rows)
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
        named = next((each for each in others if _iri(each)), next(iter(others), None))
        there = page_addresses.individual(str(named)) if _iri(named) else ""
        told = [each for each in shapes if each is not None]
        if not told and pair is not None:
            east, north = (row[columns.index(each)] for each in pair[:2])
            if is_number(east) and is_number(north):
                told = [point(pair[2], float(east), float(north))]  # type: ignore[arg-type]
        found.extend(replace(each, name=_text(named), there=there) for each in told)
    return found
