"""The rule sets of the reasoner that come along: which are in force, to turn on and off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.listings import heading
from sensorstream.console.notices import Notice
from sensorstream.console.pages import Visit
from sensorstream.console.tables import Action, Column, Row, Table
from sensorstream.reasoning.rulesets.library import SUMMARIES, text_of

_END: Final = ".ru"
_ON: Final = "on"
_OTHERS: Final = (
    "The profile of the reasoner has no rule sets: reasoning.profile of the settings names the "
    'first ones, such as "rdfs" or "owl2rl", or files.'
)
_SETS: Final = (
    Column("name", "Rule set", lambda row: places.rule_file(f"{row['name']}{_END}")),
    Column("about", "What it is"),
    Column("state", ""),
)


class RuleSets:
    """The table of the sets; the files in force say which are on."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        heading("Rule sets")
        self._notice = Notice()
        self._others = ui.label().props("role=status")
        self._table = Table(_SETS, key="name", path="/rules", empty="")
        self._table.add(Action("on", "Turn on", self._turn_on, _is_off))
        self._table.add(Action("off", "Turn off", self._turn_off, _is_on))

    def show(self, files: Iterable[str]) -> None:
        """Show which sets are on; ``files`` are the names of the rule files in force."""
        rows = rows_of(files)
        self._others.set_text("" if rows else _OTHERS)
        self._table.show(rows)

    async def _turn_on(self, row: Row) -> None:
        with self._notice.of():
            name = str(row["name"])
            await self._visit.client.put_rule_file(f"{name}{_END}", text_of(name))
            await self._read()

    async def _turn_off(self, row: Row) -> None:
        with self._notice.of():
            await self._visit.client.delete_rule_file(f"{row['name']}{_END}")
            await self._read()

    async def _read(self) -> None:
        found = await self._visit.client.rule_files()
        self.show(each["name"] for each in found["files"])


def rows_of(files: Iterable[str]) -> list[Row]:
    """A row for each set that comes along; none if no file in force is a rule set."""
    sets = {each.removesuffix(_END) for each in files if each.endswith(_END)}
    rows: list[Row] = [
        {"name": name, "about": about, "state": _ON if name in sets else ""}
        for name, about in SUMMARIES.items()
    ]
    return rows if sets else []


def _is_on(row: Row) -> bool:
    return str(row["state"]) == _ON


def _is_off(row: Row) -> bool:
    return not _is_on(row)
