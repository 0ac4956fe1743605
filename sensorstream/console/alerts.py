"""The alerts that somebody must see to, and the silences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.elements import (
    Action,
    Column,
    Facts,
    Notice,
    Row,
    Table,
    change_button,
    choices,
    heading,
    keep_fresh,
    link,
)
from sensorstream.console.pages import Visit
from sensorstream.console.texts import moment
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
    return places.alert(str(row["id"]))


_INCIDENTS: Final[tuple[Column, ...]] = (
    Column("severity", "Severity"),
    Column("cause", "Rule", _open_it),
    Column("key", "Of"),
    Column("text", "Text"),
    Column("count", "Times", is_number=True),
    Column("last_at", "Last"),
    Column("assignee", "Assigned to"),
    Column("notes", ""),
)
_ALERTS: Final[tuple[Column, ...]] = (
    Column("severity", "Severity"),
    Column("cause", "Rule", _open_it),
    Column("text", "Text"),
    Column("raised_at", "Raised"),
)
_SILENCES: Final = (
    Column("rule", "Rule"),
    Column("key", "Of"),
    Column("severity", "Severity"),
    Column("ends_at", "Until"),
    Column("by", "By"),
    Column("comment", "Comment"),
)


async def build(visit: Visit) -> None:
    """The alerts in one state, and below them the silences."""
    state = visit.asked.get("state", "open")
    if state not in _STATES:
        state = "open"
    there = {
        each: (name, places.address(places.ALERTS.path, state=each))
        for each, name in _STATES.items()
    }
    choices("States of alerts", there, state)
    _list(visit, state)
    link("Receivers and deliveries", places.address("/receivers"))
    heading("Silences")
    _silences(visit)


def _list(visit: Visit, state: str) -> None:
    of = "" if state == _RAISED else f"state={state}&"
    columns = _ALERTS if state == _RAISED else _INCIDENTS
    table = Table(
        columns, key="id", path=f"/alerts?{of}limit={_MOST}", empty="There are none.", most=_MOST
    )

    async def read() -> None:
        if state == _RAISED:
            found = await visit.client.alerts(_MOST)
            table.show([_raised(each) for each in found])
        else:
            table.show([_incident(each) for each in await visit.client.alerts_in(state, _MOST)])

    keep_fresh(_PAUSE, read)


def cause(row: Row) -> str:
    """The rule that raised an alert; of one that no rule raised, its kind."""
    return str(row["rule"] or row["kind"])


def _raised(row: Row) -> Row:
    return {**row, "cause": cause(row), "raised_at": moment(row["raised_at"])}


def _incident(row: Row) -> Row:
    notes = [name for name in ("silenced", "flapping", "escalated") if row[name]]
    if row["acknowledged_by"]:
        notes.append(f"acknowledged by {row['acknowledged_by']}")
    last = moment(row["last_at"])
    return {**row, "cause": cause(row), "last_at": last, "notes": ", ".join(notes)}


def _silences(visit: Visit) -> None:
    notice = Notice()
    table = Table(_SILENCES, key="id", path="/silences", empty="There are none.")

    async def read() -> None:
        found = await visit.client.silences()
        table.show([{**each, "ends_at": moment(each["ends_at"])} for each in found])

    async def end(row: Row) -> None:
        with notice.of():
            await visit.client.end_silence(int(row["id"]))
            await read()

    table.add(Action("end", "End this silence", end))
    silence_form(visit, notice, {}, read)
    keep_fresh(_PAUSE, read)


def silence_form(
    visit: Visit, notice: Notice, filled: Row, then: Callable[[], Awaitable[None]]
) -> None:
    """What is to be silent, and for how long; ``filled`` is what stands there at first."""
    with ui.element("div").classes("form"):
        rule = ui.input("Rule (* for any signs)", value=str(filled.get("rule", "")))
        key = ui.input("Of (* for any signs)", value=str(filled.get("key", "")))
        severity = ui.select(_SEVERITIES, label="Severity", value="")
        hours = ui.number("Hours", value=1, min=0.1, step=1)
        comment = ui.input("Comment")

        async def make() -> None:
            with notice.of():
                await visit.client.silence(
                    datetime.now(UTC) + timedelta(hours=float(hours.value or 1)),
                    rule=rule.value or None,
                    key=key.value or None,
                    severity=severity.value or None,
                    comment=comment.value,
                )
                await then()

        change_button("Silence", make)


_CHANGES: Final = (
    Column("at", "When"),
    Column("change", "What"),
    Column("by", "By"),
    Column("text", "Text"),
)
_MESSAGES: Final = (
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
    Column("source", "Source"),
    Column("received_at", "Received"),
    Column("kept", ""),
)


async def build_one(visit: Visit) -> None:
    """The page of ``asked["alert_id"]``."""
    id_ = visit.asked["alert_id"]
    first = await visit.client.alert(id_)
    notice = Notice()
    facts = Facts()
    with ui.element("div").classes("form") as actions:
        pass
    with ui.expansion("Silence alerts like this").classes("w-full"):
        silence_form(visit, Notice(), first, lambda: read())
    heading("Why")
    reason = ui.element("div")
    heading("What became of it")
    changes = Table(
        _CHANGES, key="seq", path=f"/alerts/{id_}/history", empty="Nothing has happened yet."
    )
    heading("Messages behind it")
    messages = Table(
        _MESSAGES, key="message_id", path=f"/alerts/{id_}/messages", empty="No message is known."
    )

    async def read() -> None:
        facts.show(_facts(await visit.client.alert(id_)))
        found = await visit.client.alert_history(id_, 1000)
        changes.show([{**each, "at": moment(each["at"])} for each in found["changes"]])

    with actions:
        _actions(visit, id_, notice, read)
    behind = await visit.client.alert_messages(id_, 100)
    messages.show([_message(each) for each in behind["messages"]])
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


def _message(row: Row) -> Row:
    kept = "not kept any more" if row["dropped"] else ""
    return {**row, "received_at": moment(row["received_at"]), "kept": kept}


def _actions(visit: Visit, id_: str, notice: Notice, read: Callable[[], Awaitable[None]]) -> None:
    text = ui.input("Text").classes("wide")
    client = visit.client

    def button(name: str, do: Callable[[str], Awaitable[Any]]) -> None:
        async def act() -> None:
            with notice.of():
                await do(text.value)
                text.set_value("")
                await read()

        change_button(name, act)

    button("Acknowledge", lambda said: client.acknowledge(id_, said))
    button("Comment", lambda said: client.comment(id_, said))
    button("Assign to (text)", lambda said: client.assign(id_, said))
    button("Clear", lambda said: client.clear_alert(id_, said))
