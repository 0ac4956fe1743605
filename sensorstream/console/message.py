"""One message: what it says, and its life from arrival to the receivers of its alerts."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.alerts import cause
from sensorstream.console.contents import text_of
from sensorstream.console.facts import Facts
from sensorstream.console.links import link
from sensorstream.console.listings import Listing, heading
from sensorstream.console.names import local_name
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Column, Row, Table
from sensorstream.console.times import moment
from sensorstream.errors import UnknownMessage

_PAUSE: Final = 3.0
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


async def build(visit: Visit) -> None:
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

    keep_fresh(_PAUSE, read)
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
