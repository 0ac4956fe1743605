"""The webhooks, and what became of their deliveries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.elements import (
    Action,
    Column,
    Notice,
    Row,
    Table,
    change_button,
    choices,
    heading,
    keep_fresh,
)
from sensorstream.console.pages import Visit
from sensorstream.console.texts import moment

_PAUSE: Final = 3.0
_MOST: Final = 100
_STATES: Final = {"": "all", "pending": "waiting", "delivered": "delivered", "dead": "given up"}
_WEBHOOKS: Final = (
    Column("url", "Address", lambda row: places.address("/receivers", webhook=row["id"])),
    Column("format", "Format"),
    Column("queries", "Queries"),
    Column("state", "State"),
    Column("last", "Last delivery"),
)
_DELIVERIES: Final = (
    Column("id", "Delivery", is_number=True),
    Column("event_id", "Event", lambda row: _event(row)),
    Column("state", "State"),
    Column("attempts", "Attempts that failed", is_number=True),
    Column("attempted_at", "Last attempt"),
    Column("status", "Status", is_number=True),
    Column("error", "Error"),
)


def _event(row: Row) -> str:
    return places.alert(str(row["event_id"])) if row["query"] is None else ""


async def build(visit: Visit) -> None:
    """All webhooks; with ``asked["webhook"]`` what became of the deliveries of one."""
    notice = Notice()
    table = Table(_WEBHOOKS, key="id", path="/webhooks", empty="No webhook is registered.")
    outcome = ui.label().props("role=status")

    async def read() -> None:
        table.show([_webhook(each) for each in await visit.client.webhooks()])

    async def test(row: Row) -> None:
        with notice.of():
            came = await visit.client.test_webhook(str(row["id"]))
            told = f"{row['url']}: {_came(came)}"
            outcome.set_text(told)

    async def enable(row: Row) -> None:
        with notice.of():
            await visit.client.enable_webhook(str(row["id"]))
            await read()

    table.add(Action("test", "Send a test event", test))
    table.add(Action("enable", "Deliver again", enable, lambda row: not row["enabled"]))
    keep_fresh(_PAUSE, read)
    webhook_id = visit.asked.get("webhook")
    if webhook_id is not None:
        await _deliveries(visit, webhook_id)


async def _deliveries(visit: Visit, webhook_id: str) -> None:
    webhook = await visit.client.webhook(webhook_id)
    heading("Deliveries")
    ui.label(str(webhook["url"]))
    state = visit.asked.get("state", "")
    there = {
        each: (name, places.address("/receivers", webhook=webhook_id, state=each or None))
        for each, name in _STATES.items()
    }
    choices("States of deliveries", there, state)
    notice = Notice()
    chosen = f"&state={state}" if state else ""
    path = f"/webhooks/{webhook_id}/deliveries?limit={_MOST}{chosen}"
    table = Table(_DELIVERIES, key="id", path=path, empty="There are none.", most=_MOST)

    async def read() -> None:
        found = await visit.client.deliveries(webhook_id, state or None, _MOST)
        table.show([{**each, "attempted_at": moment(each["attempted_at"])} for each in found])

    async def resend(row: Row) -> None:
        with notice.of():
            await visit.client.resend(int(row["id"]))
            await read()

    table.add(Action("resend", "Send again", resend))
    with ui.element("div").classes("form"):
        hours = ui.number("Hours back", value=24, min=0.1)
        outcome = ui.label().props("role=status")

        async def recover() -> None:
            with notice.of():
                since = datetime.now(UTC) - timedelta(hours=float(hours.value or 24))
                number = await visit.client.recover(webhook_id, since)
                outcome.set_text(f"{number} deliveries are sent again")
                await read()

        change_button("Send again all that were given up", recover)
    keep_fresh(_PAUSE, read)


def _webhook(row: Row) -> Row:
    last = row["last_delivery"]
    if not row["enabled"]:
        state = f"disabled since {moment(row['disabled_at'])}"
    elif row["failing_since"]:
        state = f"failing since {moment(row['failing_since'])}"
    else:
        state = "enabled"
    told = "" if last is None else f"{last['state']} {moment(last['attempted_at'])}"
    return {**row, "queries": ", ".join(row["queries"]), "state": state, "last": told}


def _came(came: Row) -> str:
    said = "delivered" if came["delivered"] else "not delivered"
    status = "" if came["status"] is None else f", status {came['status']}"
    error = f": {came['error']}" if came["error"] else ""
    return f"{said} in {came['seconds']:.2f} s{status}{error}"
