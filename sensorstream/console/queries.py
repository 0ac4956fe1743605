"""The continuous queries that run, and a place to write new ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.buttons import change_button
from sensorstream.console.code_editor import code_editor, mark_faults
from sensorstream.console.completion import Completion
from sensorstream.console.drafts import keep_draft
from sensorstream.console.links import go, stand_at
from sensorstream.console.listings import heading
from sensorstream.console.notices import Notice
from sensorstream.console.ontology import terms_of
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Action, Column, Row, Table
from sensorstream.console.trials import Trial
from sensorstream.resources import bundled


@dataclass(frozen=True, slots=True)
class Preset:
    """A query to begin with; ``about`` is the comment that it begins with, which may be empty."""

    name: str
    about: str
    text: str


def presets() -> list[Preset]:
    """All of them, by the folders of their examples."""
    folder = bundled("examples")
    return [
        _read(folder, path) for path in sorted([*folder.glob("*/*.rq"), *folder.glob("*/*.dotr")])
    ]


def _read(folder: Path, path: Path) -> Preset:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    comment: list[str] = []
    while len(comment) < len(lines) and lines[len(comment)].startswith("#"):
        comment.append(lines[len(comment)].removeprefix("#").strip())
    return Preset(path.relative_to(folder).as_posix(), " ".join(comment), text)


_PAUSE: Final = 2.0
_COLUMNS: Final = (
    Column("name", "Query", lambda row: places.query(str(row["name"]))),
    Column("form", "Form"),
    Column("reports", "Reports", is_number=True),
    Column("last_report", "Last at"),
    Column("next_report", "Next at"),
    Column("state", "State"),
    Column("anew", "Evaluated anew, because"),
)


async def build(visit: Visit) -> None:
    """The queries; below them the editor."""
    doing = Notice()
    table = Table(_COLUMNS, key="name", path="/queries", empty="No query runs.")

    async def read() -> None:
        table.show([_row(each) for each in await visit.client.queries()])

    async def stop(row: Row) -> None:
        with doing.of():
            await visit.client.unregister(str(row["name"]))
            await read()

    table.add(Action("stop", "Stop", stop))
    keep_fresh(_PAUSE, read)
    heading("A new query")
    _editor(visit, visit.asked.get("preset", ""))


def _editor(visit: Visit, asked: str) -> None:
    known = {each.name: each for each in presets()}
    about = ui.label()
    notice, trial = Notice(), Trial()

    def begin() -> None:
        chosen = known.get(str(preset.value))
        if chosen is not None:
            editor.set_value(chosen.text)
            about.set_text(f"{chosen.about} Its vocabulary is that of examples/{chosen.name}.")
            stand_at(places.preset(chosen.name))

    async def attempt() -> None:
        with notice.of():
            text = editor.value.encode()
            tried = await visit.client.try_put("queries", text, name.value or "trial")
            mark_faults(editor, tried["faults"])
            trial.show(tried)

    async def register() -> None:
        with notice.of(editor):
            text = editor.value
            if name.value:
                made = await visit.client.put("queries", text.encode(), name.value)
            else:
                made = await visit.client.register(text)
            go(places.query(str(made["name"])))

    with ui.element("div").classes("form"):
        preset = ui.select(list(known), label="Begin with", on_change=begin).classes("wide")
        name = ui.input("Name (if the text has none)")
        change_button("Try it on recent messages", attempt)
        change_button("Register", register)
    editor = code_editor("Query", language="SPARQL")
    completion = Completion(editor)
    if asked in known:
        preset.set_value(asked)
    elif asked:
        about.set_text(f"There is no query '{asked}' to begin with.")

    async def fill() -> None:
        await keep_draft(editor, "query")
        with notice.of():
            completion.terms = await terms_of(visit.client)

    ui.timer(0, fill, once=True)


def _row(row: dict[str, Any]) -> Row:
    state = row["state"] if row["stopped"] is None else f"{row['state']}: {row['stopped']}"
    return {**row, "state": state, "anew": row["anew"] or ""}
