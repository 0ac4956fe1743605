"""One rule file: its text, a trial of another one, and the texts that it has had."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.code_editor import Language, code_editor, mark_faults
from sensorstream.console.links import link
from sensorstream.console.notices import Notice
from sensorstream.console.pages import Visit
from sensorstream.console.rules import language
from sensorstream.console.trials import Trial
from sensorstream.console.versions import Versions
from sensorstream.errors import SensorStreamError, UnknownRules

_COLOURED_AS: Final[dict[str, Language]] = {
    "rule language": "SPARQL",
    "RML": "Turtle",
    "stylesheet": "XML",
    "rule set of the reasoner": "SPARQL",
    "rules over time": "SPARQL",
}


async def build(visit: Visit) -> None:
    """The page of ``asked["name"]``, which may be a file that is not in force yet."""
    name = visit.asked["name"]
    client = visit.client
    state = ui.label(language(name)).props("role=status")
    editor = code_editor(f"Text of {name}", language=_COLOURED_AS.get(language(name)))
    in_force: dict[str, str | None] = {"text": None}
    notice = Notice()
    trial = Trial()

    async def read() -> None:
        try:
            text = await client.rule_file(name)
        except UnknownRules:
            in_force["text"] = None
            state.set_text(f"{language(name)}: this file is not in force")
        else:
            in_force["text"] = text
            state.set_text(f"{language(name)}: in force")
        # A new file has none.
        with suppress(UnknownRules):
            await versions.read()

    async def put(text: str) -> None:
        change = await client.put_rule_file(name, text)
        editor.set_value(text)
        mark_faults(editor, [])
        trial.clear()
        await read()
        ui.notify(f"{name} is in force: change {change}")

    async def attempt() -> None:
        with notice.of():
            outcome = await client.try_put("rules", editor.value.encode(), name)
            trial.show(outcome)
            mark_faults(editor, [each for each in outcome["faults"] if _is_of(each, name)])

    async def put_it() -> None:
        with notice.of():
            # Somebody else may have changed it since it was read.
            now = await _text(visit, name)
            if now != in_force["text"]:
                told = "it was changed meanwhile: read it anew, or compare it with the versions"
                raise SensorStreamError(told)
            await put(editor.value)

    async def take_out() -> None:
        with notice.of():
            change = await client.delete_rule_file(name)
            await read()
            ui.notify(f"{name} is out of force: change {change}")

    with ui.element("div").classes("form"):
        ui.button("Try it on recent messages", on_click=attempt).props("no-caps")
        ui.button("Put it in force", on_click=put_it).props("no-caps")
        ui.button("Take it out of force", on_click=take_out).props("no-caps flat")
        link("All rules", places.address(places.RULES.path))
    ui.html("Versions", tag="h2").classes("part")

    async def put_again(text: str, media_type: str) -> None:
        await put(text)

    versions = Versions(visit, "rules", name, lambda: in_force["text"] or "", put_again)
    await read()
    editor.set_value(in_force["text"] or "")


def _is_of(fault: Mapping[str, Any], name: str) -> bool:
    """Whether a fault is in this file: all files are tried together."""
    at = fault["position"]
    return at is not None and f"/{at['file']}".endswith(f"/{name}")


async def _text(visit: Visit, name: str) -> str | None:
    try:
        return await visit.client.rule_file(name)
    except UnknownRules:
        return None
