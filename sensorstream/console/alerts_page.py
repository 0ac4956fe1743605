"""The alerts that somebody must see to, the silences, and the webhooks with their deliveries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.elements import (
    FactList,
    LiveTable,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    choices,
    heading,
    keep_fresh,
    link,
    moments,
)
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import moment, named, severity
from sensorstream.console.why_tree import show_alert

_PAUSE: Final = 2.0
_MOST: Final = 200
_RAISED: Final = "raised"
_STATES: Final = {
    "open": "open",
    "acknowledged": "acknowledged",
    "cleared": "cleared",
    _RAISED: "each as it was raised",
}
_SEVERITIES: Final = {"": "any", "info": "info", "warning": "warning", "critical": "critical"}


def _open_it(row: Row) -> str:
    return page_addresses.alert(str(row["id"]))


def cause(row: Row) -> str:
    """The rule that raised an alert, or the kind of an alert without one."""
    return str(row["rule"] or row["kind"])


def _notes(row: Row) -> str:
    notes = [name for name in ("silenced", "flapping", "escalated") if row[name]]
    if row["acknowledged_by"]:
        notes.append(f"acknowledged by {row['acknowledged_by']}")
    return ", ".join(notes)


_INCIDENTS: Final[tuple[TableColumn, ...]] = (
    TableColumn("severity", "Severity", value=lambda row: severity(row["severity"])),
    TableColumn("cause", "Rule", _open_it, value=cause),
    TableColumn("key", "Of", value=lambda row: named(row["key"])),
    TableColumn("text", "Text"),
    TableColumn("count", "Times", is_number=True),
    moments("last_at", "Last"),
    TableColumn("assignee", "Assigned to"),
    TableColumn("notes", "", value=_notes),
)
_ALERTS: Final[tuple[TableColumn, ...]] = (
    TableColumn("severity", "Severity"),
    TableColumn("cause", "Rule", _open_it, value=cause),
    TableColumn("text", "Text"),
    moments("raised_at", "Raised"),
)
_SILENCES: Final = (
    TableColumn("rule", "Rule"),
    TableColumn("key", "Of"),
    TableColumn("severity", "Severity"),
    moments("ends_at", "Until"),
    TableColumn("by", "By"),
    TableColumn("comment", "Comment"),
)


async def build(visit: Visit) -> None:
    """Build the alerts in one state, and below them the silences."""
    state = visit.asked.get("state", "open")
    if state not in _STATES:
        state = "open"
    choices(
        "States of alerts",
        _STATES,
        state,
        lambda each: page_addresses.address(page_addresses.ALERTS.path, state=each),
    )
    of = "" if state == _RAISED else f"state={state}&"
    client = visit.client
    columns, rows = (
        (_ALERTS, partial(client.alerts, _MOST))
        if state == _RAISED
        else (_INCIDENTS, partial(client.alerts_in, state, _MOST))
    )
    LiveTable(columns, rows, _PAUSE, f"/alerts?{of}limit={_MOST}", key="id", most=_MOST)
    link("Receivers and deliveries", page_addresses.address("/receivers"))
    heading("Silences")
    table = LiveTable(_SILENCES, client.silences, _PAUSE, "/silences", key="id")
    table.act("end", "End this silence", lambda row: client.end_silence(int(row["id"])))
    silence_form(visit, table.notice, {}, table.read)


def silence_form(
    visit: Visit, notice: Notice, filled: Row, then: Callable[[], Awaitable[None]]
) -> None:
    """The form of a silence: which alerts, and for how long; ``filled`` has the first values."""
    with ui.element("div").classes("form"):
        rule = ui.input("Rule (* for any signs)", value=str(filled.get("rule", "")))
        key = ui.input("Of (* for any signs)", value=str(filled.get("key", "")))
        severity = ui.select(_SEVERITIES, label="Severity", value="")
        hours = ui.number("Hours", value=1, min=0.1, step=1)
        comment = ui.input("Comment")

        async def make() -> None:
            await visit.client.silence(
                datetime.now(UTC) + timedelta(hours=float(hours.value or 1)),
                rule=rule.value or None,
                key=key.value or None,
                severity=severity.value or None,
                comment=comment.value,
            )
            await then()

        change_button("Silence", make, notice)


_CHANGES: Final = (
    moments("at", "When"),
    TableColumn("change", "What"),
    TableColumn("by", "By"),
    TableColumn("text", "Text"),
)
_MESSAGES: Final = (
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
    TableColumn("source", "Source"),
    moments("received_at", "Received"),
    TableColumn("kept", "", value=lambda row: "not kept any more" if row["dropped"] else ""),
)


async def build_one(visit: Visit) -> None:
    """Build the page of ``asked["alert_id"]``."""
    id_ = visit.asked["alert_id"]
    first = await visit.client.alert(id_)
    notice = Notice()
    facts = FactList()
    with ui.element("div").classes("form") as actions:
        pass
    with ui.expansion("Silence alerts like this").classes("w-full"):
        silence_form(visit, Notice(), first, lambda: read())
    heading("Why")
    reason = ui.element("div")
    heading("What became of it")
    changes = ShownTable(_CHANGES, f"/alerts/{id_}/history", "Nothing has happened yet.", key="seq")
    heading("Messages behind it")
    messages = ShownTable(_MESSAGES, f"/alerts/{id_}/messages", "No message is known.")

    async def read() -> None:
        facts.show(_facts(await visit.client.alert(id_)))
        changes.show((await visit.client.alert_history(id_, 1000))["changes"])

    with actions:
        _actions(visit, id_, notice, read)
    messages.show((await visit.client.alert_messages(id_, 100))["messages"])
    keep_fresh(_PAUSE, read)
    why = await visit.client.why(id_)
    with reason:
        show_alert(why)


def _facts(alert: Row) -> dict[str, str]:
    raised = f"{alert['count']} times, last {moment(alert['last_at'])}"
    return {
        "Rule": cause(alert),
        "Of": str(alert["key"]),
        "Severity": str(alert["severity"]),
        "Text": str(alert["text"]),
        "State": str(alert["state"]),
        "First raised": moment(alert["first_at"]),
        "Raised": raised,
        "Acknowledged by": str(alert["acknowledged_by"] or ""),
        "Assigned to": str(alert["assignee"] or ""),
        "Cleared": moment(alert["cleared_at"]),
    }


def _actions(visit: Visit, id_: str, notice: Notice, read: Callable[[], Awaitable[None]]) -> None:
    text = ui.input("Text").classes("wide")
    client = visit.client

    def button(name: str, do: Callable[[str], Awaitable[Any]]) -> None:
        async def act() -> None:
            await do(text.value)
            text.set_value("")
            await read()

        change_button(name, act, notice)

    button("Acknowledge", lambda said: client.acknowledge(id_, said))
    button("Comment", lambda said: client.comment(id_, said))
    button("Assign to (text)", lambda said: client.assign(id_, said))
    button("Clear", lambda said: client.clear_alert(id_, said))


_PAUSE_OF_RECEIVERS: Final = 3.0
_MOST_DELIVERIES: Final = 100
_DELIVERY_STATES: Final = {
    "": "all",
    "pending": "waiting",
    "delivered": "delivered",
    "dead": "given up",
}


def _state(row: Row) -> str:
    if not row["enabled"]:
        return f"disabled since {moment(row['disabled_at'])}"
    return f"failing since {moment(row['failing_since'])}" if row["failing_since"] else "enabled"


def _last(row: Row) -> str:
    last = row["last_delivery"]
    return "" if last is None else f"{last['state']} {moment(last['attempted_at'])}"


_WEBHOOKS: Final = (
    TableColumn(
        "url", "Address", lambda row: page_addresses.address("/receivers", webhook=row["id"])
    ),
    TableColumn("format", "Format"),
    TableColumn("queries", "Queries", value=lambda row: ", ".join(row["queries"])),
    TableColumn("state", "State", value=_state),
    TableColumn("last", "Last delivery", value=_last),
)
_DELIVERIES: Final = (
    TableColumn("id", "Delivery", is_number=True),
    TableColumn(
        "event_id",
        "Event",
        lambda row: page_addresses.alert(str(row["event_id"])) if row["query"] is None else "",
    ),
    TableColumn("state", "State"),
    TableColumn("attempts", "Attempts that failed", is_number=True),
    moments("attempted_at", "Last attempt"),
    TableColumn("status", "Status", is_number=True),
    TableColumn("error", "Error"),
)


async def build_receivers(visit: Visit) -> None:
    """Build the table of webhooks; ``asked["webhook"]`` adds the deliveries of one."""
    client = visit.client

    async def test(row: Row) -> None:
        came = await client.test_webhook(str(row["id"]))
        outcome.set_text(f"{row['url']}: {_came(came)}")

    empty = "No webhook is registered."
    table = LiveTable(_WEBHOOKS, client.webhooks, _PAUSE_OF_RECEIVERS, "/webhooks", empty, key="id")
    table.act("test", "Send a test event", test)
    table.act(
        "enable",
        "Deliver again",
        lambda row: client.enable_webhook(str(row["id"])),
        lambda row: not row["enabled"],
    )
    outcome = ui.label().props("role=status")
    webhook_id = visit.asked.get("webhook")
    if webhook_id is not None:
        await _deliveries(visit, webhook_id)


async def _deliveries(visit: Visit, webhook_id: str) -> None:
    client = visit.client
    webhook = await client.webhook(webhook_id)
    heading("Deliveries")
    ui.label(str(webhook["url"]))
    state = visit.asked.get("state", "")
    choices(
        "States of deliveries",
        _DELIVERY_STATES,
        state,
        lambda each: page_addresses.address("/receivers", webhook=webhook_id, state=each or None),
    )

    rows = partial(client.deliveries, webhook_id, state or None, _MOST_DELIVERIES)
    chosen = f"&state={state}" if state else ""
    path = f"/webhooks/{webhook_id}/deliveries?limit={_MOST_DELIVERIES}{chosen}"
    table = LiveTable(_DELIVERIES, rows, _PAUSE_OF_RECEIVERS, path, most=_MOST_DELIVERIES)
    table.act("resend", "Send again", lambda row: client.resend(int(row["id"])))
    with ui.element("div").classes("form"):
        hours = ui.number("Hours back", value=24, min=0.1)
        outcome = ui.label().props("role=status")

        async def recover() -> None:
            since = datetime.now(UTC) - timedelta(hours=float(hours.value or 24))
            number = await client.recover(webhook_id, since)
            outcome.set_text(f"{number} deliveries are sent again")
            await table.read()

        change_button("Send again all that were given up", recover, table.notice)


def _came(came: Row) -> str:
    said = "delivered" if came["delivered"] else "not delivered"
    status = "" if came["status"] is None else f", status {came['status']}"
    error = f": {came['error']}" if came["error"] else ""
    return f"{said} in {came['seconds']:.2f} s{status}{error}"
