"""The latest messages, what became of them, and those that were not taken in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from nicegui import ui

from sensorstream.client.operation import given
from sensorstream.clock import SystemClock
from sensorstream.console import page_addresses
from sensorstream.console.alerts_page import cause
from sensorstream.console.code_editor import code_editor, keep_draft
from sensorstream.console.drawings import Histogram
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
    show,
)
from sensorstream.console.page_addresses import seconds, text_of
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
_LOOKS: Final = {
    "accepted": "good",
    **dict.fromkeys(("partial", "held", "late", "unmatched"), "warned"),
    **dict.fromkeys(("rejected", "skipped"), "bad"),
}
_COLOURS: Final = {
    "accepted": "#3d8bbd",
    "journalled": "#90a4ae",
    "held": "#b39ddb",
    "partial": "#f0b429",
    "late": "#c98a1b",
    "unmatched": "#e07b39",
    "rejected": "#b3261e",
    "skipped": "#7f1d1d",
}


def _status(row: Row) -> Piece:
    return state(str(row["status"]), _LOOKS.get(row["status"], ""))


_COLUMNS: Final = (
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
    moments("received_at", "Received"),
    TableColumn("source", "Source"),
    TableColumn("bytes", "Size", is_number=True, unit="B"),
    TableColumn("status", "Status", value=_status),
    TableColumn("reason", "Why"),
)
_PARTS: Final = 60
_RARELY: Final = 5
"""Readings of the list for one of the counts, and for one search."""
_FEW: Final = 10_000
"""Fewer messages are counted with each reading."""


class _List:
    """The messages that are chosen, newest first, and their numbers over time."""

    def __init__(self, visit: Visit) -> None:
        self._client = visit.client
        asked = dict(visit.asked)
        before = asked.pop("before", "")
        self._before = int(before) if before.isdecimal() else None
        self._turns = count()
        self._rest: str | None = None
        self._total = 0
        self._bar = FilterBar(page_addresses.MESSAGES.path, asked, self._change)
        self._bar.text("text", "Search in messages").classes("wide").props("type=search")
        self._bar.choice("status", "Status", {"": "any", **STATES})
        self._bar.text("source", "Source")
        self._bar.time_range()
        with ui.element("div").classes("form"):
            self._told = ui.label().classes("hint").props("role=status")
            ui.space()
            self._live = ui.switch("Goes on", value=self._before is None)
        self._histogram = Histogram("messages", _COLOURS, self._narrow)
        self._table = LiveTable(
            _COLUMNS,
            self._rows,
            _PAUSE,
            "/messages",
            "There is no such message.",
            key="seq",
            rows_a_page=_MOST,
        )
        self._older = ui.button("Older", on_click=self._turn).props("no-caps flat")

    def _chosen(self) -> dict[str, Any]:
        since, until = self._bar.bounds(SystemClock().now())
        said = {each: self._bar[each] or None for each in ("text", "status", "source")}
        return {**said, "since": since, "until": until}

    async def _change(self) -> None:
        self._turns, self._before = count(), None
        await self._table.read()

    async def _rows(self) -> list[Row] | None:
        turn, chosen = next(self._turns), self._chosen()
        if turn and (not self._live.value or (chosen["text"] and turn % _RARELY)):
            return None
        self._table.name_twin(f"/messages?{urlencode(given(limit=_MOST, **chosen))}")
        found = await self._client.messages_page(_MOST, self._before, **chosen)
        self._rest = found["next"]
        self._older.set_enabled(self._rest is not None)
        if turn % _RARELY == 0 or self._total < _FEW:
            self._count(await self._client.message_counts(_PARTS, **chosen), chosen)
        rows: list[Row] = found["messages"]
        return rows

    def _count(self, told: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
        parts = {int(seconds(each["at"])): each["counts"] for each in told["parts"]}
        self._total = sum(map(sum, (each.values() for each in parts.values())))
        width, now = told["seconds"], SystemClock().now()
        text = f"{number(self._total)} messages, a bar for {number(width, 's')}."
        if told["oldest"]:
            text += f" Only the newest were looked at: those since {moment(told['oldest'])}."
        self._told.set_text(text)
        begin = told["oldest"] or chosen["since"] or (min(parts) if parts else now)
        end = chosen["until"] or (now if chosen["since"] or not parts else max(parts) + width)
        self._histogram.draw(parts, width, int(seconds(begin)), int(seconds(end)) + 1)

    def _narrow(self, begin: int, end: int) -> None:
        ends = [datetime.fromtimestamp(each, UTC).isoformat() for each in (begin, end)]
        go(self._here(**{"last": "between", "from": ends[0], "to": ends[1]}))

    def _turn(self) -> None:
        if self._rest is not None:
            go(self._here(before=dict(parse_qsl(urlsplit(self._rest).query))["before"]))

    def _here(self, **other: str) -> str:
        names = ("text", "status", "source", "last", "from", "to")
        said = {each: self._bar[each] or None for each in names}
        return page_addresses.address(page_addresses.MESSAGES.path, **{**said, **other})


async def build(visit: Visit) -> None:
    """Build the list of messages: a search in them, by status, source and time."""
    _List(visit)


_PAUSE_OF_ONE: Final = 3.0
_MOST_BYTES: Final = 200_000
_ALERTS: Final = (
    TableColumn("severity", "Severity", value=lambda row: severity(row["severity"])),
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
                    show(named(iri))

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


def facts_of(life: Row) -> dict[str, Value]:
    """The life of a message, stage by stage."""
    rules = page_addresses.address(page_addresses.RULES.path)
    return {
        "Status": _status(life),
        "Received": when(life["received_at"]),
        "Source": str(life["source"] or ""),
        "Size": number(life["bytes"], "B"),
        "Why": str(life["reason"] or ""),
        "Time": when(life["time"]),
        "Mapping rules": [Piece(each, address=rules) for each in life["matched"]],
        "Filtered": ", ".join(map(str, life["filtered"])),
        "Left out": ", ".join(map(str, life["shed"])),
        "Warnings": "\n".join(life["warnings"]),
        "In the window": _count(life["in_window"]),
        "In history": _count(life["in_history"]),
        "Left the window at": when(life["left_at"]),
        "Taken in anew as": _message(life["replay"]),
        "Instead of": _message(life["replay_of"]),
        "Out of quarantine": when(life["dismissed_at"]),
    }


def _message(name: str | None) -> Value:
    return Piece(name, address=page_addresses.message(name)) if name else ""


def _count(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    asserted, inferred = number(found["asserted"]), number(found["inferred"])
    return f"{asserted} statements, {inferred} inferred because of it"


_PAUSE_OF_KEPT: Final = 3.0
_MOST_KEPT: Final = 200
KEPT: Final = ("unmatched", "rejected", "partial", "skipped")
"""The statuses of the messages on this page."""
_KEPT_STATES: Final = {"": "all", **{each: STATES[each] for each in KEPT}}
_KEPT_COLUMNS: Final = (
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
    TableColumn("status", "Status", value=_status),
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
