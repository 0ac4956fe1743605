"""The settings that the server has read, and where each comes from."""

from __future__ import annotations

from typing import Final

from sensorstream.console import page_addresses
from sensorstream.console.elements import FilterBar, Row, ShownTable, TableColumn
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import Piece

_DEFAULT: Final = "default"
_SHOWN: Final = {"": "those that are set", "yes": "all"}


def _origin(row: Row) -> Piece:
    """The file's name and line, or the variable: the whole path is its tooltip."""
    origin = str(row["origin"])
    return Piece(origin.rsplit("/", 1)[-1], origin)


_COLUMNS: Final = (
    TableColumn("name", "Setting"),
    TableColumn("value", "Value", value=lambda row: _text(row["value"])),
    TableColumn("origin", "Where it comes from", value=_origin),
)


async def build(visit: Visit) -> None:
    """Build the table of settings; those that somebody has set can be shown alone."""
    found = await visit.client.settings()

    async def choose() -> None:
        said = bar["name"].lower()
        table.show(
            [
                each
                for each in found
                if said in each["name"] and (bar["all"] or each["origin"] != _DEFAULT)
            ]
        )

    bar = FilterBar(page_addresses.SETTINGS.path, visit.asked, choose)
    bar.choice("all", "Settings", _SHOWN)
    bar.text("name", "Name contains")
    table = ShownTable(_COLUMNS, "/settings", "No setting has this name.", rows_a_page=50)
    await choose()


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
