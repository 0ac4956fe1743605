"""An editor for rules, queries and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from nicegui import ui

from sensorstream.console.page_scripts import SHADE, ask, run

Language: TypeAlias = Literal["SPARQL", "Turtle", "XML", "PostgreSQL"]
_LIGHT: Final = "githubLight"
"""Its colours can be told from its background by everybody (WCAG 2.1, 1.4.3)."""
_DARK: Final = "githubDark"
_TOKEN: Final = re.compile(r"\w+|[^\w\n]")


def code_editor(name: str, text: str = "", language: Language | None = None) -> ui.codemirror:
    """An editor with colours; screen readers know it by ``name``.

    It takes no keys before :func:`keep_draft`: what the server puts into it would replace them.
    """
    editor = ui.codemirror(text, language=language, theme=_LIGHT).classes("editor")
    editor.disable()
    # In the browser, because a property that the server sets resets the text to the one it knows.
    ui.on(
        SHADE,
        lambda event: run("dress", editor.id, name, _DARK if event.args is True else _LIGHT),
    )
    run("tellShade")
    return editor


def press_on_ctrl_enter(editor: ui.codemirror, button: ui.button) -> None:
    """Let Ctrl+Enter, or Cmd+Enter, in an editor press a button."""
    for key in ("ctrl", "meta"):
        event = f"keydown.{key}.enter.capture.stop.prevent"
        editor.on(event, lambda: run("press", button.id))


def mark_faults(editor: ui.codemirror, faults: Sequence[Mapping[str, Any]], file: str = "") -> None:
    """Underline the places of faults, as a dry run tells them, and show the first of them.

    Earlier marks go. A fault whose place is not in the text is not marked, nor one of another file
    than ``file``, if that is given: all files are tried together.
    """
    own = [each for each in faults if not file or _is_of(each, file)]
    found = marks(editor.value, own)
    # Not as a property, which would reset the text to the one that the server knows.
    editor.run_method("setDecorations", found)
    if found:
        editor.reveal_line(editor.value.count("\n", 0, found[0]["from"]) + 1)


def _is_of(fault: Mapping[str, Any], name: str) -> bool:
    at = fault["position"]
    return at is not None and f"/{at['file']}".endswith(f"/{name}")


def marks(text: str, faults: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The decorations of an editor for faults: each marks the word at its place, at the end of a
    line the character before it.
    """
    lines = text.split("\n")
    found: list[dict[str, Any]] = []
    for fault in faults:
        at = fault["position"]
        if at is None or not 1 <= at["line"] <= len(lines):
            continue
        line = lines[at["line"] - 1]
        column = max(0, min(at["column"] - 1, len(line) - 1))
        token = _TOKEN.match(line, column)
        if token is None:
            continue
        start = sum(len(each) + 1 for each in lines[: at["line"] - 1])
        found.append(
            {
                "kind": "mark",
                "from": start + token.start(),
                "to": start + token.end(),
                "class": "fault",
                "attributes": {"title": fault["detail"]},
            }
        )
    return found


_MOST: Final = 12
PREFIX: Final = re.compile(r"(?i)\bprefix\s+([\w.-]*):\s*<([^<>\s]*)>")


class CompletionList:
    """The list below an editor. ``terms`` are the IRIs that can be named."""

    def __init__(self, editor: ui.codemirror, hint: str = "") -> None:
        """``hint`` says what other keys do."""
        self.terms: Sequence[str] = ()
        self._editor = editor
        # The editor's own list for these keys knows no names.
        editor.on("keydown.ctrl.space.capture.stop.prevent", self._offer)
        self._list = ui.element("div").classes("offered").props('role=group aria-label="Names"')
        ui.label("Ctrl+Space completes names of the ontology." + hint).classes("hint")

    async def _offer(self) -> None:
        word = str(await ask("word", self._editor.id) or "")
        self._list.clear()
        names = offered(self.terms, self._editor.value, word)
        with self._list:
            for name in names:
                ui.button(name, on_click=lambda name=name: self._insert(name, word)).props(
                    "flat dense no-caps"
                )
            if not names:
                ui.label(f"No name of the ontology contains {word!r}.").props("role=status")
        if names:
            run("focusButton", self._list.id)

    def _insert(self, name: str, word: str) -> None:
        self._list.clear()
        run("insert", self._editor.id, name, len(word))


def offered(terms: Iterable[str], text: str, word: str) -> list[str]:
    """The names that complete a word, by the prefixes of the text; first those that begin so."""
    prefixes = {iri: prefix for prefix, iri in PREFIX.findall(text)}
    names = {name for term in terms if (name := _short(term, prefixes)) is not None}
    prefix, colon, local = word.lower().rpartition(":")
    fitting = [
        name
        for name in names
        if local in (found := name.lower().partition(":"))[2] and (not colon or found[0] == prefix)
    ]
    return sorted(
        fitting, key=lambda name: (not name.lower().partition(":")[2].startswith(local), name)
    )[:_MOST]


def _short(term: str, prefixes: dict[str, str]) -> str | None:
    for iri, prefix in prefixes.items():
        local = term.removeprefix(iri)
        if iri and local != term and re.fullmatch(r"\w[\w.-]*", local):
            return f"{prefix}:{local}"
    return None


_TOLD: Final = "What was written here before the page was loaded anew stands in the editor."


async def keep_draft(editor: ui.codemirror, name: str) -> str:
    """Let somebody write in an editor, and the browser keep that over a reload of its page.

    Call it when the server's text stands in the editor; ``name`` tells editors of a page apart.
    Returns the text that was there before somebody wrote, now or before the page was loaded anew.
    """
    base = str(editor.value)
    draft = await ask("keep", editor.id, base, name)
    if isinstance(draft, list):
        base, text = map(str, draft)
        editor.set_value(text)
        ui.notify(_TOLD)
    editor.enable()
    return base
