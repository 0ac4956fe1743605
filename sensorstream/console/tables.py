"""Tables: rows with links, and the same rows as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console.places import twin

Row: TypeAlias = Mapping[str, Any]
_LINK: Final = "@link"
_CELL: Final = """
<q-td :props="props">
  <a v-if="props.row['{name}@link']" :href="props.row['{name}@link']">{{{{ props.value }}}}</a>
  <template v-else>{{{{ props.value }}}}</template>
</q-td>
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its values in a row, its heading, and where a value leads."""

    name: str
    heading: str
    link: Callable[[Row], str] | None = None
    """An address from a row; empty: this row has none."""
    is_number: bool = False


class Table:
    """A table that shows the latest rows it was given.

    ``key`` names the column whose values tell rows apart, ``path`` the operation of the HTTP
    interface that the rows come from, ``empty`` what is said where there are none.
    """

    def __init__(
        self, columns: Sequence[Column], *, key: str, path: str, empty: str, rows_a_page: int = 20
    ) -> None:
        self._links = {each.name: each.link for each in columns if each.link is not None}
        self._path = path
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
            ).props(f'flat dense wrap-cells no-data-label="{empty}"')
            self._twin = ui.link("as JSON", twin(path)).classes("twin")
        for name in self._links:
            self.table.add_slot(f"body-cell-{name}", _CELL.format(name=name))

    def show(self, rows: Sequence[Row], path: str | None = None) -> None:
        """Show these rows, which come from ``path`` if it is another one than before."""
        linked = [
            {**row, **{f"{name}{_LINK}": link(row) for name, link in self._links.items()}}
            for row in rows
        ]
        if linked != self.table.rows:
            self.table.rows = linked
        if path is not None and path != self._path:
            self._path = path
            self._twin.props(f"href={twin(path)}")
