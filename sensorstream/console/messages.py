"""The latest messages, and what became of them."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.alerts import cause
from sensorstream.console.elements import (
    Column,
    Facts,
    Listing,
    Row,
    Table,
    choices,
    go,
    heading,
    keep_fresh,
    link,
)
from sensorstream.console.pages import Visit
from sensorstream.console.texts import local_name, moment, text_of
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


_PAUSE_OF_ONE: Final = 3.0
_MOST_BYTES: Final = 200_000
_ALERTS: Final = (
    Column("severity", "Severity"),
    Column("rule", "Rule", lambda row: places.alert(str(row["id"]))),
    Column("text", "Text"),
)
_DELIVERIES: Final = (
    Column("id", "Delivery", is_number=True),
    Column("webhook_id", "To", lambda row: places.address("/receivers", webhook=row["webhook_id"])),
    Column("state", "State"),
    Column("attempts", "Attempts that failed", is_number=True),
)


async def build_one(visit: Visit) -> None:
    """The page of ``asked["message_id"]``."""
    id_ = visit.asked["message_id"]
    facts = Facts()
    individuals = ui.element("p").classes("names")
    shown: list[str] = []
    heading("Alerts")
    alerts = Table(_ALERTS, key="id", path=f"/messages/{id_}", empty="It raised none.")
    heading("Deliveries of its alerts")
    deliveries = Table(
        _DELIVERIES, key="id", path=f"/messages/{id_}", empty="Nothing was to be delivered."
    )

    async def read() -> None:
        life = await visit.client.message(id_)
        facts.show(facts_of(life))
        alerts.show([{**each, "rule": cause(each)} for each in life["alerts"]])
        deliveries.show(life["deliveries"])
        if life["individuals"] != shown:
            shown[:] = life["individuals"]
            individuals.clear()
            with individuals:
                for iri in shown:
                    link(local_name(iri), places.individual(iri)).tooltip(iri)

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
        link("Try rules on it", places.bench(id_))
        link("The whole content as it came", places.twin(f"/messages/{id_}/content"))


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
