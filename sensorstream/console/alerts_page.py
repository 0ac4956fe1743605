"""The alerts that somebody must see to, the silences, and the webhooks with their deliveries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.elements import (
    FactList,
    FilterBar,
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
    loading,
    moments,
    show,
)
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import (
    Piece,
    Value,
    moment,
    named,
    number,
    severity,
    state,
    when,
)
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
_MOST_SEARCHED: Final = 1000
"""The alerts among which some are chosen."""


def cause(row: Row) -> str:
    """The rule that raised an alert, or the kind of an alert without one."""
    return str(row["rule"] or row["kind"])


def cause_of(row: Row, files: Mapping[str, str]) -> Piece:
    """The cause, with a link to the rule's file (``files`` has them by rules) or to the query."""
    rule = cause(row)
    if row["kind"] == "query":
        return named(rule, page_addresses.query(rule))
    return Piece(rule, address=page_addresses.rule_file(files[rule]) if rule in files else "")


async def rule_places(visit: Visit) -> dict[str, str]:
    """The names of the files of rules, by the rules."""
    found = await visit.client.rules()
    return {
        each["name"]: each["position"]["file"].rsplit("/", 1)[-1]
        for each in found
        if each["position"] is not None
    }


def _notes(row: Row) -> str:
    notes = [name for name in ("silenced", "flapping", "escalated") if row[name]]
    if row["acknowledged_by"]:
        notes.append(f"acknowledged by {row['acknowledged_by']}")
    return ", ".join(notes)


def alert_columns(state: str, files: Mapping[str, str]) -> Sequence[TableColumn]:
    """The columns of alerts in a state; ``files`` as for :func:`cause_of`."""
    alert = (
        TableColumn("severity", "Severity", value=lambda row: severity(row["severity"])),
        TableColumn("text", "Alert", lambda row: page_addresses.alert(str(row["id"]))),
        TableColumn("cause", "Rule", value=lambda row: cause_of(row, files)),
        TableColumn("key", "Of", value=lambda row: named(row["key"])),
    )
    if state == _RAISED:
        return (*alert, moments("raised_at", "Raised"))
    return (
        *alert,
        TableColumn("count", "Times", is_number=True),
        moments("last_at", "Last"),
        TableColumn("assignee", "Assigned to"),
        TableColumn("notes", "Notes", value=_notes),
    )


_SILENCES: Final = (
    TableColumn("rule", "Rule"),
    TableColumn("key", "Of"),
    TableColumn("severity", "Severity", value=lambda row: severity(row["severity"] or "")),
    moments("ends_at", "Until"),
    TableColumn("by", "By"),
    TableColumn("comment", "Comment"),
)


async def build(visit: Visit) -> None:
    """Build the alerts in one state, chosen by rule, severity, text and time, and the silences."""
    client, asked = visit.client, visit.asked
    state = asked.get("state", "open")
    if state not in _STATES:
        state = "open"
    here = page_addresses.ALERTS.path
    kept = {name: each for name, each in asked.items() if name != "state"}
    choices(
        "States of alerts",
        _STATES,
        state,
        lambda each: page_addresses.address(here, state=each, **kept),
    )
    files = await rule_places(visit)
    bar = FilterBar(here, asked, lambda: table.read())
    bar.choice("severity", "Severity", _SEVERITIES)
    known = {"": "any", **{name: name for name in sorted(files)}}
    rule = bar.choice("rule", "Rule", known)
    bar.text("text", "Text contains").classes("wide")
    bar.time_range()
    actions = ui.element("div")
    of = "" if state == _RAISED else f"state={state}&"

    async def rows() -> list[Row]:
        most = _MOST_SEARCHED if bar.is_used() else _MOST
        raised = state == _RAISED
        found = await (client.alerts(most) if raised else client.alerts_in(state, most))
        table.most, table.searched = most, len(found)
        if new := {name: name for name in map(cause, found) if name not in known}:
            known.update(new)
            rule.set_options(known | {bar["rule"]: bar["rule"] or "any"})
        return [each for each in found if _fits(each, bar)]

    empty = "No alert fits." if bar.is_used() else "There are none."
    table = LiveTable(
        alert_columns(state, files),
        rows,
        _PAUSE,
        f"/alerts?{of}limit={_MOST}",
        empty,
        key="id",
        most=_MOST,
    )
    if state in ("open", "acknowledged"):
        deeds = {"Clear": lambda row: client.clear_alert(str(row["id"]))}
        if state == "open":
            deeds = {"Acknowledge": lambda row: client.acknowledge(str(row["id"])), **deeds}
        with actions:
            table.act_on_chosen("text", deeds)
    link("Receivers and deliveries", page_addresses.address("/receivers"))
    heading("Silences")
    table = LiveTable(_SILENCES, client.silences, _PAUSE, "/silences", key="id")
    table.act("end", "End this silence", lambda row: client.end_silence(int(row["id"])))
    silence_form(visit, table.notice, {}, table.read)


def _fits(row: Row, bar: FilterBar) -> bool:
    """Whether the fields above the table choose an alert."""
    said = f"{row['text']} {row['key']} {cause(row)}".lower()
    at = datetime.fromisoformat(row.get("last_at") or row["raised_at"])
    begin, end = bar.bounds(datetime.now(UTC))
    return (
        bar["severity"] in ("", row["severity"])
        and bar["rule"] in ("", cause(row))
        and bar["text"].lower() in said
        and (not isinstance(begin, datetime) or at >= begin)
        and (not isinstance(end, datetime) or at <= end)
    )


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
    TableColumn("change", "What", value=lambda row: state(row["change"])),
    TableColumn("by", "By"),
    TableColumn("text", "Text"),
)
_MESSAGES: Final = (
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
    TableColumn(
        "source",
        "Source",
        lambda row: page_addresses.address(page_addresses.MESSAGES.path, source=row["source"]),
    ),
    moments("received_at", "Received"),
    TableColumn("kept", "", value=lambda row: "not kept any more" if row["dropped"] else ""),
)


async def build_one(visit: Visit) -> None:
    """Build the page of ``asked["alert_id"]``."""
    id_ = visit.asked["alert_id"]
    first = await visit.client.alert(id_)
    files = await rule_places(visit)
    with ui.element("p").classes("lead"):
        show([severity(str(first["severity"])), str(first["text"])])
    notice = Notice()
    with ui.element("div").classes("form") as actions:
        pass
    with ui.element("div").classes("bench"):
        with ui.element("section"):
            facts = FactList()
            with ui.expansion("Silence alerts like this").classes("w-full"):
                silence_form(visit, Notice(), first, lambda: read())
        with ui.element("section"):
            heading("What became of it")
            path = f"/alerts/{id_}/history"
            changes = ShownTable(_CHANGES, path, "Nothing has happened yet.", key="seq")
    heading("Why")
    reason = ui.element("div")
    heading("Messages behind it")
    messages = ShownTable(_MESSAGES, f"/alerts/{id_}/messages", "No message is known.")

    async def read() -> None:
        alert = await visit.client.alert(id_)
        facts.show(_facts(alert, files))
        changes.show((await visit.client.alert_history(id_, 1000))["changes"])
        buttons["Acknowledge"].set_enabled(alert["state"] == "open")
        buttons["Clear"].set_enabled(alert["state"] != "cleared")

    with actions:
        buttons = _actions(visit, id_, notice, read)
    messages.show((await visit.client.alert_messages(id_, 100))["messages"])
    keep_fresh(_PAUSE, read)
    with loading():
        why = await visit.client.why(id_)
    with reason:
        show_alert(why)


_STATE_LOOKS: Final = {"open": "warned", "cleared": "good"}


def _facts(alert: Row, files: Mapping[str, str]) -> dict[str, Value]:
    times = "once" if alert["count"] == 1 else f"{number(alert['count'])} times"
    return {
        "State": state(str(alert["state"]), _STATE_LOOKS.get(str(alert["state"]), "")),
        "Rule": cause_of(alert, files),
        "Of": named(str(alert["key"])),
        "First raised": when(alert["first_at"]),
        "Raised": (f"{times}, last", when(alert["last_at"])),
        "Acknowledged by": str(alert["acknowledged_by"] or ""),
        "Assigned to": str(alert["assignee"] or ""),
        "Cleared": when(alert["cleared_at"]),
    }


def _actions(
    visit: Visit, id_: str, notice: Notice, read: Callable[[], Awaitable[None]]
) -> dict[str, ui.button]:
    text = ui.input("Text").classes("wide")
    client = visit.client

    def button(name: str, do: Callable[[str], Awaitable[Any]]) -> ui.button:
        async def act() -> None:
            await do(text.value)
            text.set_value("")
            await read()

        made = change_button(name, act, notice)
        return made if name == "Acknowledge" else made.props("outline")

    deeds: dict[str, Callable[[str], Awaitable[Any]]] = {
        "Acknowledge": lambda said: client.acknowledge(id_, said),
        "Comment": lambda said: client.comment(id_, said),
        "Assign to (text)": lambda said: client.assign(id_, said),
        "Clear": lambda said: client.clear_alert(id_, said),
    }
    return {name: button(name, do) for name, do in deeds.items()}


_PAUSE_OF_RECEIVERS: Final = 3.0
_MOST_DELIVERIES: Final = 100
_DELIVERY_STATES: Final = {
    "": "all",
    "pending": "waiting",
    "delivered": "delivered",
    "dead": "given up",
}


def _state(row: Row) -> Piece:
    if not row["enabled"]:
        return state(f"disabled since {moment(row['disabled_at'])}", "bad")
    if row["failing_since"]:
        return state(f"failing since {moment(row['failing_since'])}", "warned")
    return state("enabled", "good")


_LOOKS: Final = {"delivered": "good", "pending": "", "dead": "bad"}
"""The looks of the states of a delivery."""


def _last(row: Row) -> Piece:
    last = row["last_delivery"]
    if last is None:
        return Piece("")
    return state(f"{last['state']} {moment(last['attempted_at'])}", _LOOKS.get(last["state"], ""))


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
    TableColumn(
        "state", "State", value=lambda row: state(row["state"], _LOOKS.get(row["state"], ""))
    ),
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
