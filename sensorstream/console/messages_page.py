"""The latest messages, what became of them, and those that were not taken in."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.alerts_page import cause
from sensorstream.console.code_editor import code_editor, keep_draft
from sensorstream.console.elements import (
    FactList,
    FilterBar,
    Listing,
    LiveTable,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    choices,
    go,
    heading,
    keep_fresh,
    link,
    moments,
)
from sensorstream.console.page_addresses import local_name, text_of
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import moment
from sensorstream.errors import UnknownMessage

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
"""The statuses of messages, with the names that pages give them."""
_COLUMNS: Final = (
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
    moments("received_at", "Received"),
    TableColumn("source", "Source"),
    TableColumn("bytes", "Bytes", is_number=True),
    TableColumn("status", "Status"),
    TableColumn("reason", "Why"),
)


async def build(visit: Visit) -> None:
    """Build the list of messages by status and source, newest first, older ones by ``before``."""
    asked = visit.asked
    status, source = asked.get("status", ""), asked.get("source", "")
    before = int(asked["before"]) if asked.get("before", "").isdecimal() else None
    choices("Kinds of messages", {"": "all", **STATES}, status, lambda each: _here(each, "", None))

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
    shown: list[dict[str, Any]] = []

    def turn() -> None:
        if shown:
            go(_here(status, source, int(shown[-1]["seq"])))

    async def rows() -> list[Row] | None:
        if shown and not goes_on.value:
            return None
        found = await visit.client.messages(
            _MOST, before, status=status or None, source=source or None
        )
        shown[:] = found
        older.set_enabled(len(found) == _MOST)
        return [*found]

    LiveTable(_COLUMNS, rows, _PAUSE, path, key="seq", rows_a_page=_MOST)


def _here(status: str, source: str, before: int | None) -> str:
    return page_addresses.address(
        page_addresses.MESSAGES.path, status=status or None, source=source or None, before=before
    )


_PAUSE_OF_ONE: Final = 3.0
_MOST_BYTES: Final = 200_000
_ALERTS: Final = (
    TableColumn("severity", "Severity"),
    TableColumn("rule", "Rule", lambda row: page_addresses.alert(str(row["id"])), value=cause),
    TableColumn("text", "Text"),
)
_DELIVERIES: Final = (
    TableColumn("id", "Delivery", is_number=True),
    TableColumn(
        "webhook_id",
        "To",
        lambda row: page_addresses.address("/receivers", webhook=row["webhook_id"]),
    ),
    TableColumn("state", "State"),
    TableColumn("attempts", "Attempts that failed", is_number=True),
)


async def build_one(visit: Visit) -> None:
    """Build the page of ``asked["message_id"]``."""
    id_ = visit.asked["message_id"]
    facts = FactList()
    individuals = ui.element("p").classes("names")
    shown: list[str] = []
    heading("Alerts")
    alerts = ShownTable(_ALERTS, f"/messages/{id_}", "It raised none.", key="id")
    heading("Deliveries of its alerts")
    deliveries = ShownTable(_DELIVERIES, f"/messages/{id_}", "Nothing was to be delivered.")

    async def read() -> None:
        life = await visit.client.message(id_)
        facts.show(facts_of(life))
        alerts.show(life["alerts"])
        deliveries.show(life["deliveries"])
        if life["individuals"] != shown:
            shown[:] = life["individuals"]
            individuals.clear()
            with individuals:
                for iri in shown:
                    link(local_name(iri), page_addresses.individual(iri)).tooltip(iri)

    keep_fresh(_PAUSE_OF_ONE, read)
    heading("Content")
    try:
        content = await visit.client.message_content(id_)
    except UnknownMessage:
        ui.label("It is not kept any more.")
        return
    text = text_of(content[:_MOST_BYTES])
    Listing(text, "Content")
    if len(content) > _MOST_BYTES:
        ui.label(f"The first {_MOST_BYTES} of {len(content)} bytes.")
    with ui.element("div").classes("form"):
        link("Try rules on it", page_addresses.bench(id_))
        link("The whole content as it came", page_addresses.twin(f"/messages/{id_}/content"))


def facts_of(life: Row) -> dict[str, str]:
    """The life of a message, stage by stage."""
    left = life["left_at"]
    return {
        "Received": moment(life["received_at"]),
        "Source": str(life["source"] or ""),
        "Status": str(life["status"]),
        "Why": str(life["reason"] or ""),
        "Time": "" if life["time"] is None else str(life["time"]),
        "Mapping rules": ", ".join(life["matched"]),
        "Filtered": ", ".join(map(str, life["filtered"])),
        "Left out": ", ".join(map(str, life["shed"])),
        "Warnings": "\n".join(life["warnings"]),
        "In the window": _count(life["in_window"]),
        "In history": _count(life["in_history"]),
        "Left the window at": "" if left is None else str(left),
        "Taken in anew as": str(life["replay"] or ""),
        "Instead of": str(life["replay_of"] or ""),
        "Out of quarantine": moment(life["dismissed_at"]),
    }


def _count(number: dict[str, Any] | None) -> str:
    if number is None:
        return ""
    return f"{number['asserted']} statements, {number['inferred']} inferred because of it"


_PAUSE_OF_KEPT: Final = 3.0
_MOST_KEPT: Final = 200
KEPT: Final = ("unmatched", "rejected", "partial", "skipped")
"""The statuses of the messages on this page."""
_KEPT_STATES: Final = {"": "all", **{each: STATES[each] for each in KEPT}}
_KEPT_COLUMNS: Final = (
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
    TableColumn("status", "Status"),
    TableColumn("source", "Source"),
    moments("received_at", "Received"),
    TableColumn("reason", "Why"),
)


async def build_quarantine(visit: Visit) -> None:
    """Build the list of messages kept, by status; ``asked["message"]`` is to be edited."""
    client, status = visit.client, visit.asked.get("status", "")
    choices(
        "Kinds of messages",
        _KEPT_STATES,
        status,
        lambda each: page_addresses.address(page_addresses.QUARANTINE.path, status=each or None),
    )
    bar = FilterBar(page_addresses.QUARANTINE.path, visit.asked, lambda: table.read())
    bar.text("text", "Source or reason contains").classes("wide")
    actions = ui.element("div")
    outcome = ui.label().props("role=status")

    async def rows() -> list[Row]:
        said: Any = {"status": status} if status else {}
        names = [each.name for each in _KEPT_COLUMNS]  # not the content, which may be long
        found = await client.quarantine(_MOST_KEPT, **said)
        table.searched = len(found)
        return [
            {name: each[name] for name in names}
            for each in found
            if bar["text"].lower() in f"{each['source']} {each['reason']}".lower()
        ]

    async def replay(row: Row) -> None:
        outcome.set_text(_came(row, await client.replay(str(row["message_id"]))))

    async def dismiss(row: Row) -> None:
        await client.dismiss(str(row["message_id"]))
        outcome.set_text(f"{row['message_id']} is out of quarantine; the journal keeps it")

    async def edit(row: Row) -> None:
        go(page_addresses.address(page_addresses.QUARANTINE.path, message=row["message_id"]))

    path = f"/quarantine?{f'status={status}&' if status else ''}limit={_MOST_KEPT}"
    empty = "No message is in quarantine here."
    table = LiveTable(_KEPT_COLUMNS, rows, _PAUSE_OF_KEPT, path, empty, most=_MOST_KEPT)
    with actions:
        table.act_on_chosen(
            "message_id", {"Take chosen in anew": replay, "Take chosen out": dismiss}
        )
    table.add("edit", "Edit", edit)
    table.act("replay", "Take in anew", replay)
    table.act("dismiss", "Take out", dismiss)
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
        came = await visit.client.replay(message_id, editor.value.encode())
        outcome.set_text(_came({"message_id": message_id}, came))

    change_button("Take this in instead", send, notice)
    await keep_draft(editor, message_id)


def _came(row: Row, came: Row) -> str:
    return f"{row['message_id']} was taken in anew as {came['message_id']}: {came['status']}"
