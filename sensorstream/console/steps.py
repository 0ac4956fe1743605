"""Single steps through the last instants of a query: what came into each operator and went out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nicegui import ui

from sensorstream.client.asynchronous import AsyncClient
from sensorstream.console.buttons import change_button
from sensorstream.console.listings import heading
from sensorstream.console.names import short
from sensorstream.console.notices import Notice
from sensorstream.console.operator_graph import OperatorGraph

_INSTANTS: Final = 20
_PAUSE: Final = 1.2
_GONE: Final = "The step of the address is not recorded any more."
_MOST: Final = 30
"""Rows of each change that a step shows."""


@dataclass(frozen=True, slots=True)
class Change:
    """What travelled: insertions and deletions, and how many are left out."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Step:
    """One operator at one instant, or the statements that came (``operator`` is None).

    ``came`` is what each of the operators that feed it gave, ``out`` what it gave out itself.
    """

    time: object
    operator: int | None
    title: str
    came: tuple[Change, ...]
    out: Change


def steps_of(instants: Sequence[Mapping[str, Any]]) -> list[Step]:
    """The steps of the instants, in the order in which changes travelled."""
    found: list[Step] = []
    for instant in instants:
        for graph in instant["graphs"]:
            title = f"Statements {graph['graph']}"
            found.append(Step(instant["time"], None, title, (), _change(graph, _statement)))
        for step in instant["steps"]:
            title = short(step["operator"])
            came = tuple(_change(each, _solution) for each in step["in"])
            out = _change(step["out"], _solution)
            found.append(Step(instant["time"], step["id"], title, came, out))
    return found


def _change(change: Mapping[str, Any], written: Any) -> Change:
    added, removed = (tuple(map(written, change[key])) for key in ("added", "removed"))
    left = change["added_count"] + change["removed_count"] - len(added) - len(removed)
    return Change(added[:_MOST], removed[:_MOST], left)


def _statement(statement: str) -> str:
    return short(statement)


def _solution(row: Mapping[str, Mapping[str, str]]) -> str:
    return ", ".join(
        f"?{name} = {short(term['value'] if term['type'] != 'uri' else '<' + term['value'] + '>')}"
        for name, term in row.items()
    )


def step_at(steps: Sequence[Step], time: str | None, operator: str | None) -> int | None:
    """The number of the step with a time and an operator, as an address writes them."""
    asked = (time, operator)
    for number, step in enumerate(steps):
        of = None if step.operator is None else str(step.operator)
        if (str(step.time), of) == asked:
            return number
    return None


class Steps:
    """Buttons to go through the steps; the operator of the step stands out in the picture."""

    def __init__(
        self, client: AsyncClient, name: str, at_step: Callable[[object, int | None], None]
    ) -> None:
        """``at_step`` is told the time and the operator of the step that is shown."""
        self._client, self._name, self._at_step = client, name, at_step
        self._steps: list[Step] = []
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
            change_button("End the record", self._end).props("flat")
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
        with self._notice.of():
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


def _show(title: str, change: Change) -> None:
    heading(title)
    for sign, kind, rows in (("+", "added", change.added), ("-", "removed", change.removed)):
        for row in rows:
            ui.label(f"{sign} {row}").classes(kind)
    if change.left_out > 0:
        ui.label(f"and {change.left_out} more")
    if not (change.added or change.removed):
        ui.label("Nothing.")
