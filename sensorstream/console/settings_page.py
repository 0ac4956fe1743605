"""The settings that the server has read, and where each comes from."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.elements import ShownTable, TableColumn, stand_at
from sensorstream.console.page_visits import Visit

_DEFAULT: Final = "default"
_COLUMNS: Final = (
    TableColumn("name", "Setting"),
    TableColumn("value", "Value", value=lambda row: _text(row["value"])),
    TableColumn("origin", "Where it comes from"),
)


async def build(visit: Visit) -> None:
    """Build the table of settings; those that somebody has set can be shown alone."""
    found = await visit.client.settings()
    asked = visit.asked
    alone = ui.switch("Only those that are set", value="all" not in asked)
    name = ui.input("Name contains", value=asked.get("name", "")).props("clearable")
    table = ShownTable(_COLUMNS, "/settings", rows_a_page=50)

    def choose() -> None:
        said = (name.value or "").strip().lower()
        table.show(
            [
                each
                for each in found
                if said in each["name"] and not (alone.value and each["origin"] == _DEFAULT)
            ]
        )

    def turn() -> None:
        everything = None if alone.value else "yes"
        stand_at(
            page_addresses.address(
                page_addresses.SETTINGS.path, all=everything, name=name.value or None
            )
        )
        choose()

    alone.on_value_change(turn)
    name.on_value_change(turn)
    choose()


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
