"""The operators of a query, drawn from left to right, with what flows between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import shorten, wrap
from typing import Any, Final, TypeAlias

from nicegui import ui
from nicegui.events import GenericEventArguments

from sensorstream.client.clients import AsyncClient
from sensorstream.console.elements import FactList, Notice, change_button, heading
from sensorstream.console.page_addresses import short
from sensorstream.console.page_scripts import run
from sensorstream.console.page_visits import TOGETHER

_WIDTH: Final = 180
_HEIGHT: Final = 62
_GAP: Final = 70
"""Between columns; rows have a third of it."""
_LETTERS: Final = 28
Counts: TypeAlias = tuple[int, int]
"""The numbers of solutions that an operator has added and removed."""
Rates: TypeAlias = tuple[float, float]
"""The same for a second."""
_BOX: Final = "(event) => page.tellBox(event, emit)"


@dataclass(frozen=True, slots=True)
class GridSpot:
    """The place of an operator or a window: its column and its row, from 0."""

    key: str
    column: int
    row: int


def layout(graph: Mapping[str, Any]) -> list[GridSpot]:
    """A spot for each window and operator: each to the right of all that feed it."""
    feeds: dict[int, list[int]] = {node["id"]: [] for node in graph["nodes"]}
    for edge in graph["edges"]:
        feeds[edge["to"]].append(edge["from"])
    # Windows stand in the first column, if there are some.
    left = 0 if graph["windows"] else -1
    columns: dict[int, int] = {}
    # Nodes come by their depth, so the feeders of a node stand before it.
    for node in graph["nodes"]:
        columns[node["id"]] = 1 + max((columns[each] for each in feeds[node["id"]]), default=left)
    rows: dict[int, int] = {}
    spots = []
    keyed = [(f"w{number}", 0) for number in range(len(graph["windows"]))]
    keyed.extend((str(number), column) for number, column in columns.items())
    for key, column in keyed:
        row = rows.get(column, 0)
        rows[column] = row + 1
        spots.append(GridSpot(key, column, row))
    return spots


class OperatorGraph:
    """The picture of one query; below it, the details of the box that was clicked."""

    def __init__(self) -> None:
        self._before: tuple[float, dict[int, Counts]] | None = None
        self._graph: Mapping[str, Any] | None = None
        self._chosen = ""
        self._drawing = ui.html("").classes("operators")
        self._drawing.on("click", self._choose, js_handler=_BOX)
        self._drawing.on("keydown.enter", self._choose, js_handler=_BOX)
        self._details = FactList()

    def _choose(self, event: GenericEventArguments) -> None:
        self._chosen = str(event.args)
        self._detail()

    def _detail(self) -> None:
        if self._graph is not None and self._chosen:
            self._details.show(details(self._graph, self._chosen))

    def show(self, graph: Mapping[str, Any]) -> None:
        """Draw a graph, with what flows since the last one was drawn."""
        now = time.monotonic()
        given = {each["id"]: (each["added"], each["removed"]) for each in graph["nodes"]}
        rates: dict[int, Rates] = {}
        # If more time has passed, it is unknown when in it they flowed.
        if self._before is not None and 0 < now - self._before[0] <= TOGETHER:
            at, counts = self._before
            for key, (added, removed) in given.items():
                before = counts.get(key, (added, removed))
                passed = now - at
                rates[key] = (added - before[0]) / passed, (removed - before[1]) / passed
        self._before = now, given
        self._draw(graph, drawing(graph, rates))

    def show_step(self, graph: Mapping[str, Any], active: Sequence[int]) -> None:
        """Draw a graph in which ``active`` operators stand out, and can be seen."""
        self._draw(graph, drawing(graph, {}, active))
        run("showActive", self._drawing.id)

    def _draw(self, graph: Mapping[str, Any], picture: str) -> None:
        self._graph = graph
        self._drawing.set_content(picture)
        self._detail()


def drawing(
    graph: Mapping[str, Any], rates: Mapping[int, Rates], active: Sequence[int] = ()
) -> str:
    """A graph as SVG; ``rates`` are what operators give out a second."""
    spots = {each.key: each for each in layout(graph)}
    columns = 1 + max((each.column for each in spots.values()), default=0)
    rows = 1 + max((each.row for each in spots.values()), default=0)
    width, height = columns * (_WIDTH + _GAP), rows * (_HEIGHT + _GAP // 3)
    parts = [
        _edge(spots[str(each["from"])], spots[str(each["to"])], _told(rates.get(each["from"])))
        for each in graph["edges"]
    ]
    for number, window in enumerate(graph["windows"]):
        held = (f"{window['triples']} held", "")
        parts.extend(_edge(spots[f"w{number}"], spots[str(each)], held) for each in window["feeds"])
    for number, window in enumerate(graph["windows"]):
        said = f"{window['triples']} triples"
        parts.append(_box(spots[f"w{number}"], str(window["window"]), said, "window"))
    for node in graph["nodes"]:
        said = f"+{node['added']} -{node['removed']}"
        if node["memory"]:
            said += f", {node['memory']} rows kept"
        kind = "operator active" if node["id"] in active else "operator"
        parts.append(_box(spots[str(node["id"])], short(node["operator"]), said, kind))
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="group" '
        f'aria-label="Operators of the query">{"".join(parts)}</svg>'
    )


def details(graph: Mapping[str, Any], key: str) -> dict[str, str]:
    """The facts on the box with a key, an operator or a window; empty if it is gone."""
    for number, window in enumerate(graph["windows"]):
        if key == f"w{number}":
            moves = {} if window["moves"] is None else {"Moves at": str(window["moves"])}
            return {
                "Window": window["window"],
                "Triples": f"{window['triples']:,}",
                **moves,
                "Feeds": _numbers(window["feeds"]),
            }
    for node in graph["nodes"]:
        if key == str(node["id"]):
            edges = graph["edges"]
            return {
                f"Operator {node['id']}": node["operator"],
                "Variables": " ".join(f"?{each}" for each in node["variables"]),
                "Gave out": f"{node['added']:,} added, {node['removed']:,} removed",
                "Keeps": f"{node['memory']:,} rows",
                "Is fed by": _numbers(each["from"] for each in edges if each["to"] == node["id"]),
                "Feeds": _numbers(each["to"] for each in edges if each["from"] == node["id"]),
                "Number of its users": str(node["users"]),
            }
    return {}


def _numbers(operators: Iterable[int]) -> str:
    return ", ".join(f"operator {each}" for each in operators) or "none"


def _corner(spot: GridSpot) -> tuple[int, int]:
    return spot.column * (_WIDTH + _GAP) + 4, spot.row * (_HEIGHT + _GAP // 3) + 4


def _box(spot: GridSpot, text: str, said: str, kind: str) -> str:
    x, y = _corner(spot)
    lines = wrap(shorten(text, 2 * _LETTERS, placeholder=" …"), _LETTERS)[:2]
    written = "".join(
        f'<text x="{x + 8}" y="{y + 17 + 16 * number}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<g class="{kind}" data-key="{spot.key}" tabindex="0" role="button" '
        f'aria-label="{escape(text)}"><title>{escape(text)}</title>'
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT - 8}" rx="6"/>{written}'
        f'<text class="count" x="{x + 8}" y="{y + 49}">{escape(said)}</text></g>'
    )


def _told(rates: Rates | None) -> tuple[str, str]:
    return ("", "") if rates is None else (f"+{rates[0]:.1f}/s", f"-{rates[1]:.1f}/s")


def _edge(start: GridSpot, end: GridSpot, told: tuple[str, str]) -> str:
    x1, y1 = _corner(start)
    x2, y2 = _corner(end)
    x1, y1, y2 = x1 + _WIDTH, y1 + _HEIGHT // 2 - 4, y2 + _HEIGHT // 2 - 4
    middle = (x1 + x2) // 2
    above, below = told
    return (
        f'<path d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2 - 6} {y2}"/>'
        f'<path class="head" d="M{x2} {y2} l-8 -4 v8 z"/>'
        f'<text class="rate" x="{x1 + 6}" y="{y1 - 5}">{escape(above)}</text>'
        f'<text class="rate gone" x="{x1 + 6}" y="{y1 + 13}">{escape(below)}</text>'
    )


_INSTANTS: Final = 20
_PAUSE: Final = 1.2
_GONE: Final = "The step of the address is not recorded any more."
_MOST: Final = 30
"""Rows of each change that a step shows."""


@dataclass(frozen=True, slots=True)
class ShownChange:
    """The insertions and deletions that travelled, and how many are left out."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class ShownStep:
    """An operator at one instant, or the statements that came (``operator`` is None).

    ``came`` is what each of the operators that feed it gave, ``out`` what it gave out itself.
    """

    time: object
    operator: int | None
    title: str
    came: tuple[ShownChange, ...]
    out: ShownChange


def steps_of(instants: Sequence[Mapping[str, Any]]) -> list[ShownStep]:
    """The steps of the instants, in the order in which changes travelled."""
    found: list[ShownStep] = []
    for instant in instants:
        for graph in instant["graphs"]:
            title = f"Statements {graph['graph']}"
            found.append(ShownStep(instant["time"], None, title, (), _change(graph, short)))
        for step in instant["steps"]:
            title = short(step["operator"])
            came = tuple(_change(each, _solution) for each in step["in"])
            out = _change(step["out"], _solution)
            found.append(ShownStep(instant["time"], step["id"], title, came, out))
    return found


def _change(change: Mapping[str, Any], written: Any) -> ShownChange:
    added, removed = (tuple(map(written, change[key])) for key in ("added", "removed"))
    left = change["added_count"] + change["removed_count"] - len(added) - len(removed)
    return ShownChange(added[:_MOST], removed[:_MOST], left)


def _solution(row: Mapping[str, Mapping[str, str]]) -> str:
    return ", ".join(
        f"?{name} = {short(term['value'] if term['type'] != 'uri' else '<' + term['value'] + '>')}"
        for name, term in row.items()
    )


def step_at(steps: Sequence[ShownStep], time: str | None, operator: str | None) -> int | None:
    """The number of the step with a time and an operator, as an address writes them."""
    asked = (time, operator)
    for number, step in enumerate(steps):
        of = None if step.operator is None else str(step.operator)
        if (str(step.time), of) == asked:
            return number
    return None


class StepButtons:
    """Buttons to go through the steps; the operator of the step stands out in the picture."""

    def __init__(
        self, client: AsyncClient, name: str, at_step: Callable[[object, int | None], None]
    ) -> None:
        """``at_step`` is told the time and the operator of the step that is shown."""
        self._client, self._name, self._at_step = client, name, at_step
        self._steps: list[ShownStep] = []
        self._at = 0
        self._graph_data: Mapping[str, Any] | None = None
        ui.label(
            "The first reading begins a record of the query's instants, which costs a little "
            "at each; it ends with the button below."
        )
        self._notice = Notice()
        with ui.element("div").classes("form"):
            ui.button("Read the last instants", on_click=lambda: self.read()).props("no-caps")
            self._button("first_page", "First", lambda: self._go(0))
            self._button("chevron_left", "Previous", lambda: self._go(self._at - 1))
            self._button("chevron_right", "Next", lambda: self._go(self._at + 1))
            self._button("last_page", "Last", lambda: self._go(len(self._steps) - 1))
            self._timer = ui.timer(_PAUSE, self._advance, active=False)
            ui.switch("Animate", on_change=lambda event: self._animate(event.value))
            change_button("End the record", self._end, self._notice).props("flat")
        self._where = ui.label().props("role=status")
        self._graph = OperatorGraph()
        self._changes = ui.element("div")

    def _button(self, icon: str, name: str, do: Any) -> None:
        button = ui.button(icon=icon, on_click=do).props("flat dense").tooltip(name)
        button.props["aria-label"] = name

    def _animate(self, is_on: bool) -> None:
        self._timer.active = is_on

    def _advance(self) -> None:
        self._go(0 if self._at + 1 >= len(self._steps) else self._at + 1)

    async def read(self, time: str | None = None, operator: str | None = None) -> None:
        """Read the last instants, and show the step with a time and an operator, or the first."""
        with self._notice.of():
            self._graph_data = await self._client.query_graph(self._name)
            self._steps = steps_of(await self._client.steps(self._name, _INSTANTS))
            found = step_at(self._steps, time, operator)
            self._go(found or 0)
            if time is not None and found is None:
                self._where.set_text(f"{_GONE} {self._where.text}")

    async def _end(self) -> None:
        await self._client.end_steps(self._name)
        self._where.set_text("The record has ended.")

    def _go(self, at: int) -> None:
        if not self._steps:
            self._where.set_text("Nothing has happened since the record began.")
            return
        self._at = min(max(at, 0), len(self._steps) - 1)
        step = self._steps[self._at]
        self._at_step(step.time, step.operator)
        told = f"Step {self._at + 1} of {len(self._steps)}, at {step.time}: {step.title}"
        self._where.set_text(told)
        if self._graph_data is not None:
            active = () if step.operator is None else (step.operator,)
            self._graph.show_step(self._graph_data, active)
        self._changes.clear()
        with self._changes:
            for number, change in enumerate(step.came, 1):
                of = f" of {len(step.came)}" if len(step.came) > 1 else ""
                _show(f"Came in{of and f', input {number}{of}'}", change)
            _show("Went out" if step.operator is not None else "Came", step.out)


def _show(title: str, change: ShownChange) -> None:
    heading(title)
    for sign, kind, rows in (("+", "added", change.added), ("-", "removed", change.removed)):
        for row in rows:
            ui.label(f"{sign} {row}").classes(kind)
    if change.left_out > 0:
        ui.label(f"and {change.left_out} more")
    if not (change.added or change.removed):
        ui.label("Nothing.")
