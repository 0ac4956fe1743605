"""One rule file: its text, a trial of another one, and the texts that it has had."""

from __future__ import annotations

from contextlib import suppress

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.buttons import change_button
from sensorstream.console.code_editor import code_editor, mark_faults
from sensorstream.console.completion import Completion
from sensorstream.console.drafts import keep_draft
from sensorstream.console.links import link
from sensorstream.console.listings import heading
from sensorstream.console.notices import Notice
from sensorstream.console.ontology import terms_of
from sensorstream.console.pages import Visit
from sensorstream.console.rule_texts import put_over, text_of
from sensorstream.console.rules import COLOURS, language
from sensorstream.console.trials import Trial
from sensorstream.console.versions import Versions
from sensorstream.errors import UnknownRules


async def build(visit: Visit) -> None:
    """The page of ``asked["name"]``, which may be a file that is not in force yet."""
    name = visit.asked["name"]
    client = visit.client
    state = ui.label(language(name)).props("role=status")
    editor = code_editor(f"Text of {name}", language=COLOURS.get(language(name)))
    completion = Completion(editor)
    in_force: dict[str, str | None] = {"text": None}
    notice = Notice()
    trial = Trial()

    async def read() -> None:
        in_force["text"] = text = await text_of(client, name)
        told = "this file is not in force" if text is None else "in force"
        state.set_text(f"{language(name)}: {told}")
        # A new file has none.
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
        with notice.of():
            tried = await client.try_put("rules", editor.value.encode(), name)
            mark_faults(editor, tried["faults"], name)
            trial.show(tried)

    async def put_it() -> None:
        with notice.of():
            await put(editor.value)

    async def take_out() -> None:
        with notice.of():
            change = await client.delete_rule_file(name)
            await read()
            ui.notify(f"{name} is out of force: change {change}")

    with ui.element("div").classes("form"):
        change_button("Try it on recent messages", attempt)
        change_button("Put it in force", put_it)
        change_button("Take it out of force", take_out).props("flat")
        link("Try it on one message", places.bench(None, name))
        link("All rules", places.address(places.RULES.path))
    heading("Versions")

    async def put_again(text: str, media_type: str) -> None:
        await put(text)

    versions = Versions(visit, "rules", name, lambda: in_force["text"] or "", put_again)
    await read()
    editor.set_value(in_force["text"] or "")
    written_over = await keep_draft(editor, "rules")
    if in_force["text"] is not None:
        in_force["text"] = written_over
    with notice.of():
        completion.terms = await terms_of(client)
