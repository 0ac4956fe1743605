"""The texts that something has had: differences, and the way back."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from sensorstream.client.deployment import Kind
from sensorstream.console.elements import Action, Column, Listing, Notice, Row, Table
from sensorstream.console.pages import Visit
from sensorstream.console.texts import moment

_COLUMNS: Final = (
    Column("change", "Change"),
    Column("at", "When"),
    Column("by", "By"),
    Column("what", ""),
)


class Versions:
    """A table of versions; ``put_again`` is given the text of the one to go back to."""

    def __init__(
        self,
        visit: Visit,
        kind: Kind,
        name: str,
        in_force: Callable[[], str],
        put_again: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._visit, self._kind, self._name = visit, kind, name
        path = f"/{kind}/{name}/versions" if name else f"/{kind}/versions"
        self._notice = Notice()
        self._table = Table(
            _COLUMNS, key="change", path=path, empty="It was never changed on this server."
        )
        self._difference = Listing("", "Difference")

        async def compare(row: Row) -> None:
            with self._notice.of():
                text = (await visit.client.version(kind, row["change"], name))[0]
                told = difference(text.decode(), in_force(), row["change"])
                self._difference.show(told or "There is no difference.")

        async def go_back(row: Row) -> None:
            with self._notice.of():
                text, media_type = await visit.client.version(kind, row["change"], name)
                await put_again(text.decode(), media_type)

        def has_text(row: Row) -> bool:
            return row["digest"] is not None

        self._table.add(Action("compare", "Difference to the one in force", compare, has_text))
        self._table.add(Action("again", "Put it in force again", go_back, has_text))

    async def read(self) -> None:
        """Show what the server has now."""
        found = await self._visit.client.versions(self._kind, self._name)
        self._table.show([_version(each) for each in reversed(found)])


def _version(row: dict[str, Any]) -> Row:
    what = "taken out of force" if row["digest"] is None else ""
    return {**row, "at": moment(row["at"]), "what": what}


def difference(old: str, new: str, change: str) -> str:
    """From an old text to the one in force, as a unified diff; "" if they are the same."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), change, "in force", lineterm="", n=3
    )
    return "\n".join(lines)
