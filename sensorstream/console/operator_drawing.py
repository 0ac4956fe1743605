"""The operators of a query, drawn from left to right, with what flows between them."""

from __future__ import annotations

import re
import time
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import count, pairwise
from textwrap import shorten, wrap
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from nicegui import ui
from nicegui.events import GenericEventArguments

from sensorstream.client.clients import AsyncClient
from sensorstream.console.code_editor import PREFIX
from sensorstream.console.elements import FactList, Notice, change_button, heading
from sensorstream.console.page_addresses import TYPE, local_name, short
from sensorstream.console.page_scripts import run
from sensorstream.console.page_visits import TOGETHER
from sensorstream.console.shown_values import number as shown
from sensorstream.model.frozen import frozen

_WIDTH: Final = 270
_LINE: Final = 15
_LETTERS: Final = 37
_LINES: Final = 3
"""Lines of the query's words in a box, at most."""
_BESIDE: Final = 24
"""Between boxes side by side."""
_BETWEEN: Final = 44
"""Between a box and the one that it feeds."""
_LANES: Final = 40
"""The width for the ways beside a list of boxes."""
_MOST_ACROSS: Final = 4
"""Columns that fit a page; more of them stand below each other."""
_HEATS: Final = (0.05, 0.2, 0.4, 0.6)
"""Shares of the query's time at which a box gets the next colour."""
Counts: TypeAlias = tuple[int, int, float]
"""The numbers of solutions that an operator has added and removed, and its seconds of work."""
Rates: TypeAlias = tuple[float, float, float]
"""The same for a second."""
_BOX: Final = "(event) => page.tellBox(event, emit)"


@frozen
class GridSpot:
    """The place of an operator or a window: its column and its row, from 0."""

    key: str
    column: int
    row: int


def layout(graph: Mapping[str, Any]) -> list[GridSpot]:
    """A spot for each window and operator: to the right of all that feed it, beside the first."""
    feeds: dict[str, list[str]] = {str(node["id"]): [] for node in graph["nodes"]}
    for number, window in enumerate(graph["windows"]):
        for each in window.get("feeds", ()):
            feeds.setdefault(str(each), []).append(f"w{number}")
    for edge in graph["edges"]:
        feeds[str(edge["to"])].append(str(edge["from"]))
    keys = [f"w{number}" for number in range(len(graph["windows"]))]
    spots = {key: GridSpot(key, 0, row) for row, key in enumerate(keys)}
    first = 1 if spots else 0
    taken = {(each.column, each.row) for each in spots.values()}
    # Nodes come by their depth, so the feeders of a node stand before it.
    for key in (str(node["id"]) for node in graph["nodes"]):
        before = [spots[each] for each in feeds[key]]
        column = max((each.column + 1 for each in before), default=first)
        row = min((each.row for each in before), default=0)
        row = next(each for each in count(row) if (column, each) not in taken)
        taken.add((column, row))
        spots[key] = GridSpot(key, column, row)
    return list(spots.values())


class OperatorGraph:
    """The picture of one query; below it, the details of the box that was clicked."""

    def __init__(self, query: str = "") -> None:
        """``query`` is its text, whose prefixes shorten names."""
        self._prefixes = {iri: prefix for prefix, iri in PREFIX.findall(query)}
        self._before: tuple[float, dict[int, Counts]] | None = None
        self._rates: dict[int, Rates] = {}
        self._graph: Mapping[str, Any] | None = None
        self._chosen = ""
        self._drawings = [ui.html("").classes(f"operators {each}") for each in ("wide", "narrow")]
        for each in self._drawings:
            each.on("click", self._choose, js_handler=_BOX)
            each.on("keydown.enter", self._choose, js_handler=_BOX)
        with ui.element("div").classes("operators legend hint"):
            ui.label("Share of the query's time:")
            for heat, (least, most) in enumerate(pairwise((0.0, *_HEATS, 1.0))):
                ui.label(f"{least:.0%} - {most:.0%}").classes(f"heat-{heat}")
            ui.label("A click on a box shows more.")
        with ui.element("div").classes("beside"):
            self._details = FactList()

    def _choose(self, event: GenericEventArguments) -> None:
        self._chosen = str(event.args)
        self._detail()

    def _detail(self) -> None:
        if self._graph is not None and self._chosen:
            self._details.show(details(self._graph, self._chosen, self._rates))

    def show(self, graph: Mapping[str, Any]) -> None:
        """Draw a graph, with what flows since the last one was drawn."""
        now = time.monotonic()
        given = {
            each["id"]: (each["added"], each["removed"], each["seconds"]) for each in graph["nodes"]
        }
        self._rates = {}
        # If more time has passed, it is unknown when in it they flowed.
        if self._before is not None and 0 < now - self._before[0] <= TOGETHER:
            at, counts = self._before
            for key, after in given.items():
                changes = zip(after, counts.get(key, after), strict=True)
                added, removed, seconds = ((new - old) / (now - at) for new, old in changes)
                self._rates[key] = added, removed, seconds
        self._before = now, given
        self._draw(graph)

    def show_step(self, graph: Mapping[str, Any], active: Sequence[int]) -> None:
        """Draw a graph in which ``active`` operators stand out, and can be seen."""
        self._draw(graph, active)
        for each in self._drawings:
            run("showActive", each.id)

    def _draw(self, graph: Mapping[str, Any], active: Sequence[int] = ()) -> None:
        self._graph = graph
        for each, narrow in zip(self._drawings, (False, True), strict=True):
            each.set_content(
                drawing(graph, self._rates, active, prefixes=self._prefixes, narrow=narrow)
            )
        self._detail()


_HEADS: Final = {
    "Stream pattern": "Pattern",
    "Match": "Pattern",
    "Filter": "FILTER",
    "Thresholds": "FILTER",
    "LeftJoin": "OPTIONAL",
    "Extend": "BIND",
    "Group by": "GROUP BY",
    "Group": "GROUP",
    "Project": "SELECT",
    "Values": "VALUES",
    "Slice": "LIMIT",
    "Distinct": "DISTINCT",
    "Union": "UNION",
}
"""The words of a query that operators do, by those of their plans."""
_HEAD: Final = re.compile(r"(Stream pattern|Group by|\w+)[\s:]*")
_HIDDEN: Final = re.compile(r"(\?\.\w+) = (.+?)(?=, \?|$)")
_NUMBER: Final = re.compile(r'"([-+\d.eE]+)"\^\^<[^<>\s]*>')
_IRI: Final = re.compile(r"<([^<>\s]*)>")


def words(operator: str, prefixes: Mapping[str, str], hidden: Mapping[str, str]) -> tuple[str, str]:
    """The word of the query that an operator does, and the rest of its text.

    ``prefixes`` are those of the query, by their IRIs; ``hidden`` are the expressions of variables
    which the query does not name.
    """
    found = _HEAD.match(operator)
    if found is None or found[1] not in _HEADS:
        # What the query has no word for is told as it is.
        return (
            (operator, "") if len(operator) < _LETTERS else (operator.split()[0], short(operator))
        )
    head, rest = _HEADS[found[1]], operator[found.end() :]
    rest = _NUMBER.sub(r"\1", rest.partition(" -> ")[0])
    for name, expression in hidden.items():
        rest = rest.replace(f"{name} = ", "").replace(name, expression)

    def named(iri: re.Match[str]) -> str:
        fits = [each for each in prefixes if iri[1].startswith(each) and iri[1] != TYPE]
        longest = max(fits, key=len, default=None)
        if longest is None:
            return local_name(iri[1])
        return f"{prefixes[longest]}:{iri[1].removeprefix(longest)}"

    return head, short(_IRI.sub(named, rest))


class _DrawnBox(NamedTuple):
    """The texts of a box, and its look."""

    number: str
    head: str
    rest: str
    whole: str
    given: str
    rate: str
    share: str
    look: str


def _boxes(
    graph: Mapping[str, Any],
    rates: Mapping[int, Rates],
    active: Sequence[int],
    prefixes: Mapping[str, str],
) -> dict[str, _DrawnBox]:
    """The boxes by their keys."""
    hidden = {name: of for node in graph["nodes"] for name, of in _HIDDEN.findall(node["operator"])}
    total = sum(node["seconds"] for node in graph["nodes"])
    boxes = {}
    for place, window in enumerate(graph["windows"]):
        of, held = window["window"], f"{shown(window['triples'])} triples"
        boxes[f"w{place}"] = _DrawnBox("", "Window", of, of, held, "", "", "window")
    for place, node in enumerate(graph["nodes"], 1):
        key, given = node["id"], f"+{shown(node['added'])} -{shown(node['removed'])}"
        if node["memory"]:
            given += f", keeps {shown(node['memory'])}"
        signed = zip("+-", rates.get(key, ()), strict=False)
        rate = " ".join(f"{sign}{shown(each, '/s')}" for sign, each in signed if each)
        share = node["seconds"] / total if total else 0.0
        look = f"operator heat-{bisect(_HEATS, share)}{' active' * (key in active)}"
        head, rest = words(node["operator"], prefixes, hidden)
        told, part = short(node["operator"]), f"{share:.0%}" if total else ""
        boxes[str(key)] = _DrawnBox(str(place), head, rest, told, given, rate, part, look)
    return boxes


def _wrapped(text: str) -> list[str]:
    lines = wrap(text, _LETTERS)
    return [
        *lines[: _LINES - 1],
        shorten(" ".join(lines[_LINES - 1 :]), _LETTERS, placeholder=" …"),
    ]


def drawing(
    graph: Mapping[str, Any],
    rates: Mapping[int, Rates],
    active: Sequence[int] = (),
    *,
    prefixes: Mapping[str, str] = MappingProxyType({}),
    narrow: bool = False,
) -> str:
    """A graph as SVG; ``rates`` are what operators give out a second, and their seconds of work.

    It runs from left to right or, with more columns than a page has room for, from top to bottom;
    if ``narrow``, the boxes are a list.
    """
    boxes = _boxes(graph, rates, active, prefixes)
    lines = {key: _wrapped(box.rest) for key, box in boxes.items()}
    high = 58 + _LINE * max(map(len, lines.values()), default=1)
    spots = layout(graph)
    is_across = max((each.column for each in spots), default=0) < _MOST_ACROSS and not narrow
    between = _BETWEEN // 2 if narrow else _BETWEEN
    corners: dict[str, tuple[int, int]] = {}
    for place, spot in enumerate(spots):
        if narrow:
            at = _LANES, place * (high + between)
        elif is_across:
            at = spot.column * (_WIDTH + _BETWEEN), spot.row * (high + _BESIDE)
        else:
            at = spot.row * (_WIDTH + _BESIDE), spot.column * (high + between)
        corners[spot.key] = at[0] + 2, at[1] + 2
    edges = [(str(each["from"]), str(each["to"])) for each in graph["edges"]]
    for place, window in enumerate(graph["windows"]):
        edges.extend((f"w{place}", str(each)) for each in window["feeds"])
    parts = []
    for start, end in edges:
        (x1, y1), (x2, y2) = corners[start], corners[end]
        if is_across or (narrow and y2 - y1 > high + between):
            y1, y2 = y1 + high // 2, y2 + high // 2
            # In a list beside the boxes between them: the longer the way, the farther from them.
            lane = round(x1 - 8 - (_LANES - 10) * min(1.0, (y2 - y1) / (6 * high)))
            x1, middle = (x1 + _WIDTH, x2 - _BETWEEN // 2) if is_across else (x1, lane)
            way = f"H{x2 - _BETWEEN}" if is_across else ""
            way += f" C{middle} {y1} {middle} {y2} {x2 - 6} {y2}"
            head = "-8 -4 v8"
        else:
            # In its own lane as far as the box before the one that it feeds.
            x1, x2, y1 = x1 + _WIDTH // 2, x2 + _WIDTH // 2, y1 + high
            middle, begin = y2 - between // 2, y2 - between
            way = f"V{begin} C{x1} {middle} {x2} {middle} {x2} {y2 - 6}"
            head = "-4 -8 h8"
        parts.append(f'<path d="M{x1} {y1} {way}"/>')
        parts.append(f'<path class="head" d="M{x2} {y2} l{head} z"/>')
    parts += [_box(boxes[key], lines[key], key, *at, high) for key, at in corners.items()]
    width = max((x for x, _ in corners.values()), default=0) + _WIDTH + 2
    height = max((y for _, y in corners.values()), default=0) + high + 2
    return (
        f'<svg viewBox="0 0 {width} {height}" style="max-width: {width}px" role="group" '
        f'aria-label="Operators of the query">{"".join(parts)}</svg>'
    )


def _box(box: _DrawnBox, lines: Sequence[str], key: str, x: int, y: int, high: int) -> str:
    right, low = x + _WIDTH - 10, y + high - 11
    texts = [
        *(("words", x + 10, y + 42 + _LINE * at, line) for at, line in enumerate(lines)),
        ("name", x + (34 if box.number else 10), y + 22, box.head),
        ("number", x + 18, y + 21, box.number),
        ("share", right, y + 22, box.share),
        ("count", x + 10, low, box.given),
        ("rate", right, low, box.rate),
    ]
    written = "".join(
        f'<text class="{kind}" x="{at}" y="{down}">{escape(text)}</text>'
        for kind, at, down, text in texts
        if text
    )
    badge = f'<circle cx="{x + 18}" cy="{y + 17}" r="10"/>' if box.number else ""
    return (
        f'<g class="{box.look}" data-key="{key}" tabindex="0" role="button" '
        f'aria-label="{escape(box.whole)}"><title>{escape(box.whole)}</title>'
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{high}" rx="8"/>{badge}{written}</g>'
    )


def details(
    graph: Mapping[str, Any], key: str, rates: Mapping[int, Rates] = MappingProxyType({})
) -> dict[str, str]:
    """The facts on the box with a key, an operator or a window; empty if it is gone."""
    places = {node["id"]: place for place, node in enumerate(graph["nodes"], 1)}

    def told(ids: Iterable[int]) -> str:
        return ", ".join(f"operator {places.get(each, each)}" for each in ids) or "none"

    for place, window in enumerate(graph["windows"]):
        if key == f"w{place}":
            moves = {} if window["moves"] is None else {"Moves at": str(window["moves"])}
            return {
                "Window": window["window"],
                "Triples": shown(window["triples"]),
                **moves,
                "Feeds": told(window["feeds"]),
            }
    total = sum(node["seconds"] for node in graph["nodes"]) or 1.0
    for node in graph["nodes"]:
        if key == str(node["id"]):
            edges, spent = graph["edges"], node["seconds"]
            busy = f", now {rates[node['id']][2]:.2%} of the time" if node["id"] in rates else ""
            return {
                f"Operator {places[node['id']]}": node["operator"],
                "Variables": " ".join(f"?{each}" for each in node["variables"]),
                "Gave out": f"{shown(node['added'])} added, {shown(node['removed'])} removed",
                "Busy": f"{shown(spent, 's')}, {spent / total:.0%} of the query's{busy}",
                "Keeps": f"{shown(node['memory'])} rows",
                "Is fed by": told(each["from"] for each in edges if each["to"] == node["id"]),
                "Feeds": told(each["to"] for each in edges if each["from"] == node["id"]),
                "Number of its users": str(node["users"]),
            }
    return {}


_INSTANTS: Final = 20
_PAUSE: Final = 1.2
_GONE: Final = "The step of the address is not recorded any more."
_MOST: Final = 30
"""Rows of each change that a step shows."""


@frozen
class ShownChange:
    """The insertions and deletions that travelled, and how many are left out."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    left_out: int


@frozen
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
        self,
        client: AsyncClient,
        name: str,
        query: str,
        at_step: Callable[[object, int | None], None],
        key: str | None = None,
    ) -> None:
        """``query`` is the text of the query; ``at_step`` is told the time and the operator of the
        step that is shown. ``key`` is that of an engine on Spark.
        """
        self._client, self._name, self._at_step = client, name, at_step
        self._key = key
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
            self._timer = ui.timer(
                _PAUSE,
                lambda: self._go(0 if self._at + 1 >= len(self._steps) else self._at + 1),
                active=False,
            )
            ui.switch("Animate", on_change=lambda event: self._animate(event.value))
            change_button("End the record", self._end, self._notice).props("flat")
        self._where = ui.label().props("role=status")
        self._graph = OperatorGraph(query)
        self._changes = ui.element("div")

    def _button(self, icon: str, name: str, do: Any) -> None:
        button = ui.button(icon=icon, on_click=do).props("flat dense").tooltip(name)
        button.props["aria-label"] = name

    def _animate(self, is_on: bool) -> None:
        self._timer.active = is_on

    async def read(self, time: str | None = None, operator: str | None = None) -> None:
        """Read the last instants, and show the step with a time and an operator, or the first."""
        with self._notice.of():
            self._graph_data = await self._client.query_graph(self._name, self._key)
            self._steps = steps_of(await self._client.steps(self._name, _INSTANTS, self._key))
            found = step_at(self._steps, time, operator)
            self._go(found or 0)
            if time is not None and found is None:
                self._where.set_text(f"{_GONE} {self._where.text}")

    async def _end(self) -> None:
        await self._client.end_steps(self._name, self._key)
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
