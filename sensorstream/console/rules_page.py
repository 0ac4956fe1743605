"""The rules in force, by their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from nicegui import ui

from sensorstream.client.clients import AsyncClient
from sensorstream.console import page_addresses
from sensorstream.console.code_editor import (
    CompletionList,
    Language,
    code_editor,
    keep_draft,
    mark_faults,
    press_on_ctrl_enter,
)
from sensorstream.console.elements import (
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    go,
    heading,
    keep_fresh,
    link,
)
from sensorstream.console.ontology_page import terms_of
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import state
from sensorstream.console.text_changes import DryRunPlace, VersionTable
from sensorstream.errors import SensorStreamError, UnknownRules
from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, text_of

RULE_SET: Final = ".ru"
_ON: Final = "on"
_OTHERS: Final = (
    "The profile of the reasoner has no rule sets: reasoning.profile of the settings names the "
    'first ones, such as "rdfs" or "owl2rl", or files.'
)
_SETS: Final = (
    TableColumn(
        "name", "Rule set", lambda row: page_addresses.rule_file(f"{row['name']}{RULE_SET}")
    ),
    TableColumn("about", "What it is"),
    TableColumn("state", "State", value=lambda row: state("on", "good") if row["state"] else ""),
)


class RuleSets:
    """The table of the sets; the files in force say which are on."""

    def __init__(self, visit: Visit) -> None:
        self._client = visit.client
        heading("Rule sets")
        self._table = ShownTable(_SETS, "/rules", _OTHERS)
        self._table.add("on", "Turn on", self._turn_on, lambda row: row["state"] != _ON)
        self._table.add("off", "Turn off", self._turn_off, lambda row: row["state"] == _ON)

    def show(self, files: Iterable[str]) -> None:
        """Show which sets are on; ``files`` are the names of the rule files in force."""
        self._table.show(rows_of(files))

    async def _turn_on(self, row: Row) -> None:
        name = str(row["name"])
        await self._client.put_rule_file(f"{name}{RULE_SET}", text_of(name))
        await self._read()

    async def _turn_off(self, row: Row) -> None:
        await self._client.delete_rule_file(f"{row['name']}{RULE_SET}")
        await self._read()

    async def _read(self) -> None:
        found = await self._client.rule_files()
        self.show(each["name"] for each in found["files"])


def rows_of(files: Iterable[str]) -> list[Row]:
    """A row for each set that comes along; none if no file in force is a rule set."""
    sets = {each.removesuffix(RULE_SET) for each in files if each.endswith(RULE_SET)}
    rows: list[Row] = [
        {"name": name, "about": about, "state": _ON if name in sets else ""}
        for name, about in SUMMARIES.items()
    ]
    return rows if sets else []


_PAUSE: Final = 5.0
_LANGUAGES: Final[Mapping[str, tuple[str, Language]]] = {
    ".rules": ("rule language", "SPARQL"),
    ".ttl": ("RML", "Turtle"),
    ".turtle": ("RML", "Turtle"),
    ".xsl": ("stylesheet", "XML"),
    ".xslt": ("stylesheet", "XML"),
    ".ru": ("rule set of the reasoner", "SPARQL"),
    ".dotr": ("rules over time", "SPARQL"),
}
"""The language of a file by its ending, and the one in which an editor colours it."""


def language(name: str) -> tuple[str, Language | None]:
    """The language of a rule file with this name, and its colours; "" for an unknown ending."""
    return _LANGUAGES.get(name[name.rfind(".") :] if "." in name else "", ("", None))


_ON_DISK: Final = {
    "same": state("the same on disk", "good"),
    "differs": state("was edited on disk since", "warned"),
    "absent": state("is not on disk", "warned"),
}
_FILES: Final = (
    TableColumn("name", "File", lambda row: page_addresses.rule_file(str(row["name"]))),
    TableColumn("language", "Language", value=lambda row: language(row["name"])[0]),
    TableColumn("state", "State", value=lambda row: _ON_DISK.get(str(row.get("on_disk")), "")),
)
_RULES: Final = (
    TableColumn("name", "Rule"),
    TableColumn("kind", "Kind"),
    TableColumn(
        "place",
        "Where",
        lambda row: page_addresses.rule_file(str(row["file"])) if row["file"] else "",
    ),
)


async def build(visit: Visit) -> None:
    """Build the files, then the rules in their order, and the rule sets that come along."""
    origin = ui.label().props("role=status")
    files = ShownTable(_FILES, "/rules", "No rule file is in force.")
    with ui.element("div").classes("form"):
        name = ui.input("New file (name with its ending)")

        def begin() -> None:
            if name.value:
                go(page_addresses.rule_file(name.value))

        ui.button("Write it", on_click=begin).props("no-caps")
    heading("Rules")
    rules = ShownTable(_RULES, "/rules", "No rule is in force.", key="key")
    sets = RuleSets(visit)

    async def read() -> None:
        found = await visit.client.rule_files()
        said = "the settings" if found["origin"] == "settings" else f"change {found['origin']}"
        origin.set_text(f"In force by {said}.")
        files.show([*found["files"], *found["over_time"]])
        rules.show([_rule(number, each) for number, each in enumerate(found["rules"])])
        sets.show(each["name"] for each in found["files"])

    keep_fresh(_PAUSE, read)


def _rule(number: int, row: dict[str, Any]) -> Row:
    at = row["position"]
    file = "" if at is None else str(at["file"]).rsplit("/", 1)[-1]
    place = "" if at is None else f"{file}, line {at['line']}"
    return {**row, "key": number, "file": file, "place": place}


async def build_file(visit: Visit) -> None:
    """Build the page of ``asked["name"]``, which may be a file that is not in force yet."""
    name = visit.asked["name"]
    client = visit.client
    written_in, colours = language(name)
    status = ui.label(written_in).props("role=status")
    editor = code_editor(f"Text of {name}", language=colours)
    completion = CompletionList(editor, " Ctrl+Enter tries it.")
    in_force: dict[str, str | None] = {"text": None}
    notice = Notice()
    trial = DryRunPlace()

    async def read() -> None:
        in_force["text"] = text = await text_in_force(client, name)
        told = "this file is not in force" if text is None else "in force"
        status.set_text(f"{written_in}: {told}")
        # A new file has no versions.
        with suppress(UnknownRules):
            await versions.read()

    async def put(text: str) -> None:
        change = await put_over(client, name, text, in_force["text"])
        editor.set_value(text)
        mark_faults(editor, [])
        trial.clear()
        await read()
        ui.notify(f"{name} is in force: change {change}")

    async def attempt() -> None:
        tried = await client.try_put("rules", editor.value.encode(), name)
        mark_faults(editor, tried["faults"], name)
        trial.show(tried)

    async def take_out() -> None:
        change = await client.delete_rule_file(name)
        await read()
        ui.notify(f"{name} is out of force: change {change}")

    with ui.element("div").classes("form"):
        button = change_button("Try it on recent messages", attempt, notice)
        change_button("Put it in force", lambda: put(editor.value), notice)
        change_button("Take it out of force", take_out, notice).props("flat")
        link("Try it on one message", page_addresses.bench(None, name))
        link("All rules", page_addresses.address(page_addresses.RULES.path))
    press_on_ctrl_enter(editor, button)
    heading("Versions")

    async def put_again(text: str, media_type: str) -> None:
        await put(text)

    versions = VersionTable(visit, "rules", name, lambda: in_force["text"] or "", put_again)
    await read()
    editor.set_value(in_force["text"] or "")
    written_over = await keep_draft(editor, "rules")
    if in_force["text"] is not None:
        in_force["text"] = written_over
    # Not the notice of the buttons, which it would clear.
    with Notice().of():
        completion.terms = await terms_of(client)


async def text_in_force(client: AsyncClient, name: str) -> str | None:
    """The text in force; None: there is no such file."""
    try:
        return await client.rule_file(name)
    except UnknownRules:
        return None


async def put_over(client: AsyncClient, name: str, text: str, before: str | None) -> str:
    """Put a text in force in place of the one read before, and return the id of the change.

    Raises:
        SensorStreamError: it was changed meanwhile, or cannot be put.
    """
    if await text_in_force(client, name) != before:
        told = "it was changed meanwhile: read it anew, or compare it with the versions"
        raise SensorStreamError(told)
    return await client.put_rule_file(name, text)
