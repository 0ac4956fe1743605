"""Tables: rows with links, and the same rows as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console.buttons import ONCE
from sensorstream.console.links import link
from sensorstream.console.places import twin

Row: TypeAlias = Mapping[str, Any]
_LINK: Final = "@link"
_OFFERED: Final = "@offered"
_CELL: Final = """
<q-td :props="props">
  <a v-if="props.row[props.col.name + '@link']"
    :href="props.row[props.col.name + '@link']">{{ props.value }}</a>
  <template v-else>{{ props.value }}</template>
</q-td>
"""
_BUTTON: Final = (
    """
<q-td :props="props">
  <q-btn v-if="props.row[props.col.name + '@offered']" flat dense no-caps color="primary"
    :label="props.col.title" @click="(event) => { if ("""
    + ONCE
    + """) $parent.$emit(props.col.name, props.row) }" />
</q-td>
"""
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its values in a row, its heading, and where a value leads."""

    name: str
    heading: str
    link: Callable[[Row], str] | None = None
    """An address from a row; empty: this row has none."""
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """A button in each row for which it is offered: its name, what it says, and what it does."""

    name: str
    title: str
    do: Callable[[Row], Awaitable[None]]
    is_offered: Callable[[Row], bool] = lambda row: True


class Table:
    """A table that shows the latest rows it was given.

    ``key`` names the column whose values tell rows apart, ``path`` the operation of the HTTP
    interface that the rows come from ("": they cannot be read by GET), ``empty`` what is said
    where there are none. If there are ``most``, the table says that there may be more.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        key: str,
        path: str,
        empty: str,
        rows_a_page: int = 20,
        most: int | None = None,
    ) -> None:
        self._most = most
        self._links = {each.name: each.link for each in columns if each.link is not None}
        self._actions: list[Action] = []
        self._path = path
        self._rows_a_page = rows_a_page
        drawn = [
            {
                "name": each.name,
                "label": each.heading,
                "field": each.name,
                "align": "right" if each.is_number else "left",
                "sortable": True,
            }
            for each in columns
        ]
        with ui.element("div").classes("table"):
            self.table = ui.table(
                rows=[], columns=drawn, row_key=key, pagination=rows_a_page
            ).props("flat dense wrap-cells hide-pagination")
            self._twin = link("as JSON", twin(path)).classes("twin")
            self._twin.set_visibility(bool(path))
            self._more = ui.label(f"The first {most} are shown; there may be more.").classes("hint")
            self._more.set_visibility(False)
        with self.table.add_slot("no-data"):
            ui.label(empty)
        for name in self._links:
            self.table.add_slot(f"body-cell-{name}", _CELL)

    def add(self, action: Action) -> None:
        """Offer an action in a column of its own."""
        self._actions.append(action)
        column = {"name": action.name, "label": "", "field": action.name, "align": "left"}
        self.table.columns = [*self.table.columns, {**column, "title": action.title}]
        self.table.add_slot(f"body-cell-{action.name}", _BUTTON)
        self.table.on(action.name, lambda event: action.do(event.args))

    def show(self, rows: Sequence[Row], path: str | None = None) -> None:
        """Show these rows, which come from ``path`` if it is another one than before."""
        linked = [{**row, **self._extras(row)} for row in rows]
        if linked != self.table.rows:
            self.table.rows = linked
            if len(linked) > self._rows_a_page:
                self.table.props(remove="hide-pagination")
        self._more.set_visibility(len(linked) == self._most)
        if path is not None and path != self._path:
            self._path = path
            self._twin.props["href"] = twin(path)

    def _extras(self, row: Row) -> dict[str, object]:
        links = {f"{name}{_LINK}": link(row) for name, link in self._links.items()}
        offers = {f"{each.name}{_OFFERED}": each.is_offered(row) for each in self._actions}
        return {**links, **offers}
