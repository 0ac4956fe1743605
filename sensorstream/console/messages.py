"""The latest messages, and what became of them."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.links import choices, go
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Column, Row, Table
from sensorstream.console.times import moment

_PAUSE: Final = 2.0
_MOST: Final = 100
STATES: Final = {
    "accepted": "taken in",
    "partial": "taken in partly",
    "held": "held",
    "late": "late",
    "unmatched": "no rule matched",
    "rejected": "rejected",
    "skipped": "skipped",
}
"""What may have become of a message, with the names that pages give it."""
_COLUMNS: Final = (
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
    Column("received_at", "Received"),
    Column("source", "Source"),
    Column("bytes", "Bytes", is_number=True),
    Column("status", "Status"),
    Column("reason", "Why"),
)


async def build(visit: Visit) -> None:
    """Those of a status and a source, newest first; ``asked["before"]`` turns the page."""
    asked = visit.asked
    status, source = asked.get("status", ""), asked.get("source", "")
    before = int(asked["before"]) if asked.get("before", "").isdecimal() else None
    there = {
        each: (name, places.address(places.MESSAGES.path, status=each or None))
        for each, name in {"": "all", **STATES}.items()
    }
    choices("Kinds of messages", there, status)

    def choose() -> None:
        go(_here(status, name.value or "", None))

    with ui.element("div").classes("form"):
        name = ui.input("Source", value=source).on("keydown.enter", choose)
        ui.button("Show", on_click=choose).props("no-caps flat")
        goes_on = ui.switch("Goes on", value=before is None)
        older = ui.button("Older", on_click=lambda: turn()).props("no-caps flat")
    said = {"status": status, "source": source, "before": before}
    chosen = "".join(f"&{key}={value}" for key, value in said.items() if value)
    path = f"/messages?limit={_MOST}{chosen}"
    table = Table(_COLUMNS, key="seq", path=path, empty="There are none.", rows_a_page=_MOST)
    shown: list[dict[str, Any]] = []

    def turn() -> None:
        if shown:
            go(_here(status, source, int(shown[-1]["seq"])))

    async def read() -> None:
        if shown and not goes_on.value:
            return
        found = await visit.client.messages(
            _MOST, before, status=status or None, source=source or None
        )
        shown[:] = found
        older.set_enabled(len(found) == _MOST)
        table.show([_row(each) for each in found])

    keep_fresh(_PAUSE, read)


def _here(status: str, source: str, before: int | None) -> str:
    return places.address(
        places.MESSAGES.path, status=status or None, source=source or None, before=before
    )


def _row(row: dict[str, Any]) -> Row:
    return {**row, "received_at": moment(row["received_at"])}
