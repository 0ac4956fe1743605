"""The messages that were not taken in: why, what they say, and another try."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.code_editor import code_editor, keep_draft
from sensorstream.console.elements import (
    Action,
    Column,
    Notice,
    Row,
    Table,
    change_button,
    choices,
    go,
    heading,
    keep_fresh,
)
from sensorstream.console.messages import STATES
from sensorstream.console.pages import Visit
from sensorstream.console.texts import moment

_PAUSE: Final = 3.0
_MOST: Final = 200
KEPT: Final = ("unmatched", "rejected", "partial", "skipped")
"""What became of the messages that stand here."""
_STATES: Final = {"": "all", **{each: STATES[each] for each in KEPT}}
_COLUMNS: Final = (
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
    Column("status", "Status"),
    Column("source", "Source"),
    Column("received_at", "Received"),
    Column("reason", "Why"),
)


async def build(visit: Visit) -> None:
    """Those of a status; with ``asked["message"]`` one of them, to be edited."""
    status = visit.asked.get("status", "")
    there = {
        each: (name, places.address(places.QUARANTINE.path, status=each or None))
        for each, name in _STATES.items()
    }
    choices("Kinds of messages", there, status)
    chosen = f"status={status}&" if status else ""
    path = f"/quarantine?{chosen}limit={_MOST}"
    notice = Notice()
    outcome = ui.label().props("role=status")
    table = Table(_COLUMNS, key="message_id", path=path, empty="There are none.", most=_MOST)

    async def read() -> None:
        said: Any = {"status": status} if status else {}
        found = await visit.client.quarantine(_MOST, **said)
        table.show([{**_shown(each)} for each in found])

    async def replay(row: Row) -> None:
        with notice.of():
            came = await visit.client.replay(str(row["message_id"]))
            outcome.set_text(_came(row, came))
            await read()

    async def dismiss(row: Row) -> None:
        with notice.of():
            await visit.client.dismiss(str(row["message_id"]))
            outcome.set_text(f"{row['message_id']} is out of quarantine; the journal keeps it")
            await read()

    async def edit(row: Row) -> None:
        go(places.address(places.QUARANTINE.path, message=row["message_id"]))

    table.add(Action("edit", "Edit", edit))
    table.add(Action("replay", "Take in anew", replay))
    table.add(Action("dismiss", "Take out", dismiss))
    keep_fresh(_PAUSE, read)
    message_id = visit.asked.get("message")
    if message_id is not None:
        await _edit(visit, message_id)


async def _edit(visit: Visit, message_id: str) -> None:
    content = await visit.client.message_content(message_id)
    heading("Edit and take in anew")
    ui.label(message_id)
    text = content.decode("utf-8", "replace")
    editor = code_editor(f"Content of {message_id}", text, "XML")
    notice = Notice()
    outcome = ui.label().props("role=status")

    async def send() -> None:
        with notice.of():
            came = await visit.client.replay(message_id, editor.value.encode())
            outcome.set_text(_came({"message_id": message_id}, came))

    change_button("Take this in instead", send)
    await keep_draft(editor, message_id)


def _shown(row: Row) -> Row:
    return {
        "message_id": row["message_id"],
        "status": row["status"],
        "source": row["source"],
        "received_at": moment(row["received_at"]),
        "reason": row["reason"],
    }


def _came(row: Row, came: Row) -> str:
    return f"{row['message_id']} was taken in anew as {came['message_id']}: {came['status']}"
