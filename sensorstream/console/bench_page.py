"""The mapping bench: a message and a rule file side by side, and what the rule makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nicegui import ui

from sensorstream.client.clients import AsyncClient
from sensorstream.console import page_addresses
from sensorstream.console.code_editor import CompletionList, code_editor, keep_draft, mark_faults
from sensorstream.console.elements import (
    Listing,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    heading,
    link,
    show,
    stand_at,
)
from sensorstream.console.ontology_page import terms_of
from sensorstream.console.page_addresses import local_name
from sensorstream.console.page_addresses import text_of as read_text
from sensorstream.console.page_visits import Visit
from sensorstream.console.rules_page import RULE_SET, language, put_over, text_in_force
from sensorstream.console.shown_values import severity
from sensorstream.console.text_changes import DryRunPlace, fault_text

_RECENT: Final = 20
_MOST: Final = 100
"""Messages that may be taken in before the one that is tried."""
_FOUND: Final = (
    TableColumn("rule", "Rule"),
    TableColumn("role", "For"),
    TableColumn("written", "Expression"),
    TableColumn("found", "Found", is_number=True),
    TableColumn("missed", "Missing", is_number=True),
    TableColumn("values", "Values"),
)
_UNMAPPED: Final = (
    TableColumn("line", "Line", is_number=True),
    TableColumn("path", "Not mapped"),
    TableColumn("text", "Text"),
    TableColumn("count", "Times", is_number=True),
)


async def build(visit: Visit) -> None:
    """Build the page; ``asked["message"]`` and ``asked["rule"]`` give its first contents."""
    client = visit.client
    files = [each["name"] for each in (await client.rule_files())["files"]]
    mapping = [each for each in files if not each.endswith(RULE_SET)]
    recent = [str(each["message_id"]) for each in await client.messages(_RECENT)]
    asked = visit.asked.get("rule") or (mapping[0] if mapping else "new.rules")
    page = _Page(client, recent, list(dict.fromkeys([*mapping, asked])), asked)
    await page.fill(visit.asked.get("message") or (recent[0] if recent else None), recent)


class _Page:
    """A message, a rule file, and the trials of one on the other."""

    def __init__(
        self, client: AsyncClient, recent: list[str], files: list[str], asked: str
    ) -> None:
        self._client = client
        self._notice = Notice()
        self._before: str | None = None
        """The text in force that the rules were written over; None: the file is not in force."""
        with ui.element("div").classes("bench"):
            with ui.element("section"):
                self._pick = _choice("Message", recent)
                self._message = code_editor("Message", language="XML")
            with ui.element("section"):
                self._file = _choice("Rule file", files, asked)
                self._file.on_value_change(self._read_rule)
                self._rule = code_editor("Rules", language=language(asked)[1])
                self._completion = CompletionList(self._rule)
        with ui.element("div").classes("form"):
            self._source = ui.input("Source of the message", value="rest")
            self._after = ui.number(
                "After so many of the last messages", value=0, min=0, max=_MOST, step=10
            )
            self._after.classes("long")
            change_button("Try the rules on the message", self._attempt, self._notice)
            change_button("Compare on recent messages", self._compare, self._notice)
            self._put_button = change_button("Put the rules in force", self._put, self._notice)
            self._put_button.set_visibility(False)
            link("All rules", page_addresses.address(page_addresses.RULES.path))
        self._trial = DryRunPlace()
        heading("What the rules make of it")
        self._outcome = ui.element("div").props("role=status")
        self._rule.on_value_change(self._forget)

    async def fill(self, chosen: str | None, recent: list[str]) -> None:
        """Read the message and the rule file asked for, or those that the browser has kept."""
        await self._read_rule()
        written_over = await keep_draft(self._rule, "rules")
        if self._before is not None:
            self._before = written_over
        if chosen is not None and chosen not in recent:
            self._pick.set_options([chosen, *recent])
        self._pick.set_value(chosen)
        await self._read_message()
        self._pick.on_value_change(self._read_message)
        await keep_draft(self._message, "message")
        with Notice().of():
            self._completion.terms = await terms_of(self._client)

    @property
    def _name(self) -> str:
        return str(self._file.value)

    async def _read_message(self) -> None:
        with self._notice.of():
            if self._pick.value:
                id_ = str(self._pick.value)
                self._source.set_value((await self._client.message(id_))["source"])
                self._message.set_value(read_text(await self._client.message_content(id_)))
                self._stay()

    async def _read_rule(self) -> None:
        with self._notice.of():
            self._before = await text_in_force(self._client, self._name)
            self._rule.set_value(self._before or "")
            self._stay()

    def _stay(self) -> None:
        stand_at(page_addresses.bench(self._pick.value or None, self._file.value))

    async def _attempt(self) -> None:
        text, source = self._rule.value, self._source.value or "rest"
        tried = await self._client.try_message(
            self._message.value,
            {self._name: text} if text.strip() else {},
            source,
            after=int(self._after.value or 0),
        )
        mark_faults(self._rule, tried["faults"], self._name)
        self._outcome.clear()
        with self._outcome:
            _show(tried)

    async def _compare(self) -> None:
        tried = await self._client.try_put("rules", self._rule.value.encode(), self._name)
        mark_faults(self._rule, tried["faults"], self._name)
        self._put_button.set_visibility(self._trial.show(tried))

    async def _put(self) -> None:
        name, text = self._name, self._rule.value
        change = await put_over(self._client, name, text, self._before)
        self._before = text
        self._forget()
        ui.notify(f"{name} is in force: change {change}")

    def _forget(self) -> None:
        """Clear the comparison, because the text has changed since."""
        self._put_button.set_visibility(False)
        self._trial.clear()


def _choice(label: str, known: list[str], value: str | None = None) -> ui.select:
    """A field with names to choose from; others can be typed."""
    made = ui.select(known, value=value, label=label, with_input=True, new_value_mode="add-unique")
    return made.classes("wide")


def _show(tried: Mapping[str, Any]) -> None:
    """Show the outcome of the trial of a message."""
    if tried["faults"]:
        for fault in tried["faults"]:
            ui.label(fault_text(fault)).classes("notice")
        return
    ui.label(said(tried)).classes("answer")
    for warning in tried["warnings"]:
        ui.label(warning).classes("notice")
    for alert in tried["alerts"]:
        show([severity(alert["severity"]), f" {alert['rule']}: {alert['text']}"])
    for title, lines in listings(tried):
        heading(title, "h3")
        Listing("\n".join(lines), title)
    if tried["left_out"]:
        ui.label(f"{tried['left_out']} statements are left out.")
    if tried["unexplained"]:
        ui.label(tried["unexplained"])
        return
    heading("What the expressions found", "h3")
    found = ShownTable(_FOUND, "", "There is no mapping rule.", key="@row")
    found.show(found_rows(tried))
    heading("What no rule read", "h3")
    left = ShownTable(_UNMAPPED, "", "Everything is mapped.", key="@row")
    parts = [each for one in tried["explanations"] for each in one["unmapped"]]
    left.show([{**each, "@row": number} for number, each in enumerate(parts)])


def said(tried: Mapping[str, Any]) -> str:
    """The outcome that the message would have, in one line."""
    reason = f": {tried['reason']}" if tried["reason"] else ""
    matched = f", matched by {', '.join(tried['matched'])}" if tried["matched"] else ""
    after = f" (after {tried['preceding']} of the last messages)" if tried["preceding"] else ""
    return f"It would be {tried['status']}{reason}{matched}{after}."


def listings(tried: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The statements, sort by sort, with the names of terms without their namespaces."""
    for title, sort in (
        ("Statements", "statements"),
        ("Inserted by semantic rules", "added"),
        (f"Inferred ({tried['reasoner']})", "inferred"),
    ):
        if tried[sort]:
            yield title, [_short(each) for each in tried[sort]]


def _short(statement: str) -> str:
    subject, predicate, value = statement.split(" ", 2)
    ends = [
        local_name(each[1:-1]) if each.startswith("<") and each.endswith(">") else each
        for each in (subject, predicate, value)
    ]
    return " ".join(ends)


def found_rows(tried: Mapping[str, Any]) -> list[Row]:
    """A row for each expression, for each rule that did not match, and for each map."""
    rows: list[dict[str, Any]] = []
    for one in tried["explanations"]:
        for rule in one["rules"]:
            if not rule["matched"]:
                rows.append({"rule": rule["rule"], "role": "not matched", "values": rule["cause"]})
                continue
            rows += (
                {**each, "rule": rule["rule"], "values": ", ".join(each["values"]) or each["cause"]}
                for each in rule["expressions"]
                if each["tried"]
            )
        for made in one["yields"]:
            told = f"{made['triples']} statements" if made["matched"] else made["cause"]
            missing = f"; nothing found by {', '.join(made['missing'])}" if made["missing"] else ""
            rows.append(
                {
                    "rule": made["rule"],
                    "role": "map",
                    "written": made["path"],
                    "found": made["found"],
                    "values": made["error"] or f"{told}{missing}",
                }
            )
    return [{**each, "@row": number} for number, each in enumerate(rows)]
