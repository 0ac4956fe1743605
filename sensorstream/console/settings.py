"""The settings that the server has read, and where each comes from."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console.pages import Visit
from sensorstream.console.tables import Column, Row, Table

_DEFAULT: Final = "default"
_COLUMNS: Final = (
    Column("name", "Setting"),
    Column("value", "Value"),
    Column("origin", "Where it comes from"),
)


async def build(visit: Visit) -> None:
    """All settings; those that somebody has set can be shown alone."""
    found = [_row(each) for each in await visit.client.settings()]
    alone = ui.switch("Only those that are set", value=True)
    name = ui.input("Name contains").props("clearable")
    table = Table(_COLUMNS, key="name", path="/settings", empty="There are none.", rows_a_page=50)

    def choose() -> None:
        said = (name.value or "").strip().lower()
        table.show(
            [
                each
                for each in found
                if said in each["name"] and not (alone.value and each["origin"] == _DEFAULT)
            ]
        )

    alone.on_value_change(choose)
    name.on_value_change(choose)
    choose()


def _row(setting: dict[str, Any]) -> Row:
    return {**setting, "value": _text(setting["value"])}


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
