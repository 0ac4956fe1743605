"""One alert: what it says, why, what became of it, and what somebody can do with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.alerts import cause, silence_form
from sensorstream.console.buttons import change_button
from sensorstream.console.facts import Facts
from sensorstream.console.listings import heading
from sensorstream.console.notices import Notice
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Column, Row, Table
from sensorstream.console.times import moment
from sensorstream.console.why_tree import show_alert

_PAUSE: Final = 2.0
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


async def build(visit: Visit) -> None:
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
