"""The continuous queries that run, and a place to write new ones."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from nicegui import ui

from sensorstream.client.results import QueryReport
from sensorstream.console import page_addresses
from sensorstream.console.answer_views import columns_of, is_number, rows_of
from sensorstream.console.code_editor import (
    CompletionList,
    code_editor,
    keep_draft,
    mark_faults,
    press_on_ctrl_enter,
)
from sensorstream.console.drawings import LineChart, time_axis
from sensorstream.console.elements import (
    FactList,
    Listing,
    LiveTable,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    go,
    heading,
    keep_fresh,
    link,
    moments,
    stand_at,
    while_visible,
)
from sensorstream.console.ontology_page import terms_of
from sensorstream.console.operator_drawing import OperatorGraph, StepButtons
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import Piece, Value, label, number, state, when
from sensorstream.console.text_changes import DryRunPlace, VersionTable
from sensorstream.errors import RunsOnSpark, SensorStreamError, UnknownQuery
from sensorstream.installation import bundled
from sensorstream.model.frozen import frozen


@frozen
class Preset:
    """A query to begin with; ``about`` is the comment that it begins with, which may be empty."""

    name: str
    about: str
    text: str


def presets() -> list[Preset]:
    """The bundled queries, by the folders of their examples."""
    folder = bundled("examples")
    found: list[Preset] = []
    for path in sorted([*folder.glob("*/*.rq"), *folder.glob("*/*.dotr")]):
        text = path.read_text("utf-8")
        comment = takewhile(lambda line: line.startswith("#"), text.splitlines())
        about = " ".join(line.removeprefix("#").strip() for line in comment)
        found.append(Preset(path.relative_to(folder).as_posix(), about, text))
    return found


def _state(row: Row) -> Value:
    if row["stopped"] is not None:
        return Piece(f"{row['state']}: {row['stopped']}", look="bad")
    return state(row["state"], "good" if row["state"] == "running" else "warned")


_PAUSE: Final = 2.0
_COLUMNS: Final = (
    TableColumn("name", "Query", lambda row: page_addresses.query(str(row["name"]))),
    TableColumn("form", "Form"),
    TableColumn("reports", "Reports", is_number=True),
    moments("last_report", "Last at"),
    moments("next_report", "Next at"),
    TableColumn("state", "State", value=_state),
    TableColumn("anew", "Evaluated anew, because", value=lambda row: row["anew"] or ""),
)


async def build(visit: Visit) -> None:
    """Build the table of queries, and the editor below it."""
    table = LiveTable(_COLUMNS, visit.client.queries, _PAUSE, "/queries", "No query runs.")
    table.act("stop", "Stop", lambda row: visit.client.unregister(str(row["name"])))
    heading("A new query")
    _editor(visit, visit.asked.get("preset", ""))


def _editor(visit: Visit, asked: str) -> None:
    known = {each.name: each for each in presets()}
    about = ui.label()
    notice, trial = Notice(), DryRunPlace()

    def begin() -> None:
        chosen = known.get(str(preset.value))
        if chosen is not None:
            editor.set_value(chosen.text)
            about.set_text(f"{chosen.about} Its vocabulary is that of examples/{chosen.name}.")
            stand_at(page_addresses.preset(chosen.name))

    async def attempt() -> None:
        text = editor.value.encode()
        tried = await visit.client.try_put("queries", text, name.value or "trial")
        mark_faults(editor, tried["faults"])
        trial.show(tried)

    async def register() -> None:
        with notice.of(editor):
            text = editor.value
            if name.value:
                made = await visit.client.put("queries", text.encode(), name.value)
            else:
                made = await visit.client.register(text)
            go(page_addresses.query(str(made["name"])))

    with ui.element("div").classes("form"):
        preset = ui.select(list(known), label="Begin with", on_change=begin).classes("wide")
        name = ui.input("Name (if the text has none)")
        button = change_button("Try it on recent messages", attempt, notice)
        change_button("Register", register)
    editor = code_editor("Query", language="SPARQL")
    press_on_ctrl_enter(editor, button)
    completion = CompletionList(editor, " Ctrl+Enter tries it.")
    if asked in known:
        preset.set_value(asked)
    elif asked:
        about.set_text(f"There is no query '{asked}' to begin with.")

    async def fill() -> None:
        await keep_draft(editor, "query")
        with Notice().of():
            completion.terms = await terms_of(visit.client)

    ui.timer(0, fill, once=True)


_KEPT: Final = 300
"""Reports whose numbers the chart shows."""
_LINES: Final = 12
_TABS: Final = ("Results", "Operators", "Steps", "Text")


async def build_one(visit: Visit) -> None:
    """Build the page of ``asked["name"]``; on Spark ``asked["key"]`` is the engine's."""
    name, key = visit.asked.get("name", ""), visit.asked.get("key")
    client = visit.client
    now = await client.query_state(name)
    query = str(now["query"])
    facts = FactList()
    notice = Notice()

    async def stop() -> None:
        await client.unregister(name)
        go(page_addresses.address(page_addresses.QUERIES.path))

    with ui.tabs().props("no-caps align=left") as tabs:
        results, graph, steps, text = (ui.tab(each) for each in _TABS)
    chosen = visit.asked.get("tab", "")
    first = chosen if chosen in _TABS else _TABS[0]
    with ui.tab_panels(tabs, value=first, animated=False).classes("w-full panels"):
        with ui.tab_panel(results):
            live = _Results(visit, name, now["variables"], now["group_keys"])
        with ui.tab_panel(graph):
            operators = OperatorGraph(query)
            heading("Plan")
            plan = Listing("", "Plan")
        with ui.tab_panel(steps):
            single = StepButtons(
                client,
                name,
                query,
                lambda at, of: stand_at(
                    page_addresses.query(name, "Steps", at=at, operator=of, key=key)
                ),
                key,
            )
        with ui.tab_panel(text):
            Listing(query, "Query")
            versions = VersionTable(visit, "queries", name, lambda: query, live.put)
    await versions.read()

    async def read() -> None:
        now = await client.query_state(name)
        facts.show(_facts(now))
        if tabs.value == "Operators":
            found = await client.query_graph(name, key)
            operators.show(found)
            plan.show("\n".join(found["plan"]))
        elif tabs.value == "Results":
            await live.read()

    tabs.on_value_change(lambda event: stand_at(page_addresses.query(name, event.value, key=key)))
    keep_fresh(_PAUSE, read)
    with ui.element("div").classes("form"):
        change_button("Stop this query", stop, notice).props("flat")
        link("All queries", page_addresses.address(page_addresses.QUERIES.path))
    if "at" in visit.asked:
        await single.read(visit.asked["at"], visit.asked.get("operator"))


class _Results:
    """The whole result of now, and the numbers of the reports over time."""

    def __init__(
        self, visit: Visit, name: str, variables: Sequence[str], keys: Sequence[str]
    ) -> None:
        self._visit, self._name, self._variables, self._keys = visit, name, variables, keys
        self._key = visit.asked.get("key")
        self._reports: deque[QueryReport] = deque(maxlen=_KEPT)
        self._chart = LineChart("Numbers of the reports over time", {"type": "value"})
        self._place = ui.element("div").classes("table")
        self._table: ShownTable | None = None
        self._given: list[tuple[int, int, int]] | None = None
        self._latest = ui.label().props("role=status")
        self._task: asyncio.Task[None] | None = None
        self._after = ""
        while_visible(self._begin, self._end)

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._follow())

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def read(self) -> None:
        """Show the present state; the result is read again only if an operator gave something."""
        if self._variables and await self._has_changed():
            found = await self._visit.client.results(self._name, self._key)
            if self._table is None:
                columns = columns_of((f"?{each}" for each in found.columns), found.rows)
                path = f"/queries/{self._name}/results"
                with self._place:
                    self._table = ShownTable(columns, path, "There is no result now.", key="@row")
            self._table.show(rows_of(found.rows))
        lines = lines_of(self._reports, self._keys)
        if self._reports:
            last = self._reports[-1]
            self._chart.draw(named_lines(dict(list(lines.items())[:_LINES])), time_axis(last.time))
            more = f"; {_LINES} of {len(lines)} lines are drawn" if len(lines) > _LINES else ""
            self._latest.set_text(f"Last report at {last.time}: {_told(last)}{more}")

    async def _has_changed(self) -> bool:
        try:
            graph = await self._visit.client.query_graph(self._name, self._key)
        except RunsOnSpark:
            # Each key has operators of its own, but all have a result together.
            return True
        # The changes that each operator has given out: without new ones the result stays the same.
        before = self._given
        self._given = [(each["id"], each["added"], each["removed"]) for each in graph["nodes"]]
        return graph["anew"] is not None or before != self._given

    async def put(self, text: str, media_type: str) -> None:
        """Put another text in force."""
        await self._visit.client.put("queries", text.encode(), self._name)

    async def _follow(self) -> None:
        # When it begins again, it takes what has come meanwhile.
        while True:
            # The page itself says that the server is away, or that the query was removed. A server
            # that stops ends the connection without error: what is missed is read afterwards.
            try:
                async for report in self._visit.client.follow(self._name, self._after):
                    self._after = report.id
                    self._reports.append(report)
            except UnknownQuery:
                # A query that is registered anew counts its reports from the beginning.
                self._after = ""
            except SensorStreamError:
                pass
            await asyncio.sleep(_PAUSE)


def lines_of(
    reports: Sequence[QueryReport] | deque[QueryReport], keys: Sequence[str]
) -> dict[str, list[Any]]:
    """A line for each number that reports name: by its variable and the other values of its row.

    The values of ``keys`` tell lines apart, also if they are numbers.
    """
    lines: dict[str, list[Any]] = {}
    for report in reports:
        if report.results is None or report.operation == "-":
            continue
        for row in report.results:
            numbers = {
                name: value for name, value in row.items() if name not in keys and is_number(value)
            }
            others = [
                str(value)
                for name, value in row.items()
                if name not in numbers and value is not None
            ]
            for name, value in numbers.items():
                key = " ".join([f"?{name}", *others])
                lines.setdefault(key, []).append((report.time, float(value)))
    return lines


def named_lines(lines: Mapping[str, list[Any]]) -> Mapping[str, list[Any]]:
    """Lines with labels for the IRIs of their names, if these still tell them apart."""
    named = {" ".join(label(each) for each in name.split()): name for name in lines}
    short = {name: lines[whole] for name, whole in named.items()}
    return short if len(short) == len(lines) else lines


def _told(report: QueryReport) -> str:
    if report.answer is not None:
        return str(report.answer).lower()
    if report.graph is not None:
        return f"{report.operation} {len(report.graph.splitlines())} statements"
    rows = 0 if report.results is None else len(report.results)
    return f"{report.operation} {rows} rows"


def _facts(row: Row) -> dict[str, Value]:
    return {
        "State": _state(row),
        "Form": " ".join(each for each in (row["form"], row["relation"]) if each),
        "Evaluated anew": str(row["anew"] or ""),
        "Reports": number(row["reports"]),
        "Next report at": when(row["next_report"]),
        "Registered by": str(row["registered"]),
    }
