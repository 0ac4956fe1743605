"""The alerts that somebody must see to, and the silences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.buttons import change_button
from sensorstream.console.links import choices, link
from sensorstream.console.listings import heading
from sensorstream.console.notices import Notice
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Action, Column, Row, Table
from sensorstream.console.times import moment

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
