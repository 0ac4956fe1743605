"""Completion of names in an editor: Ctrl+Space lists those that contain what stands before the
cursor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from nicegui import ui

from sensorstream.console.scripts import ask, run

_MOST: Final = 12
_PREFIX: Final = re.compile(r"(?i)\bprefix\s+([\w.-]*):\s*<([^<>\s]*)>")
_WORD: Final = """(id) => {
  const view = getElement(id).editor, head = view.state.selection.main.head;
  const line = view.state.doc.lineAt(head);
  return line.text.slice(0, head - line.from).match(/[\\w.:-]*$/)[0];
}"""
_INSERT: Final = """(id, name, replaced) => {
  const view = getElement(id).editor, head = view.state.selection.main.head;
  view.dispatch({changes: {from: head - replaced, to: head, insert: name},
    selection: {anchor: head - replaced + name.length}});
  view.focus();
}"""
_FOCUS: Final = """(id) =>
  setTimeout(() => getHtmlElement(id)?.querySelector("button")?.focus(), 50)"""


class Completion:
    """The list below an editor. ``terms`` are the IRIs that can be named."""

    def __init__(self, editor: ui.codemirror) -> None:
        self.terms: Sequence[str] = ()
        self._editor = editor
        # The editor has a list of its own for these keys, which knows no names.
        editor.on("keydown.ctrl.space.capture.stop.prevent", self._offer)
        self._list = ui.element("div").classes("offered").props('role=group aria-label="Names"')
        ui.label("Ctrl+Space completes names of the ontology.").classes("hint")

    async def _offer(self) -> None:
        word = str(await ask(_WORD, self._editor.id) or "")
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
            run(_FOCUS, self._list.id)

    def _insert(self, name: str, word: str) -> None:
        self._list.clear()
        run(_INSERT, self._editor.id, name, len(word))


def offered(terms: Iterable[str], text: str, word: str) -> list[str]:
    """The names that complete a word, by the prefixes of the text; first those that begin so."""
    prefixes = {iri: prefix for prefix, iri in _PREFIX.findall(text)}
    names = {name for term in terms if (name := _short(term, prefixes)) is not None}
    prefix, colon, local = word.lower().rpartition(":")
    fitting = [
        name
        for name in names
        if local in (found := name.lower().partition(":"))[2] and (not colon or found[0] == prefix)
    ]
    return sorted(fitting, key=lambda name: (not _begins(name, local), name))[:_MOST]


def _begins(name: str, local: str) -> bool:
    return name.lower().partition(":")[2].startswith(local)


def _short(term: str, prefixes: dict[str, str]) -> str | None:
    for iri, prefix in prefixes.items():
        local = term.removeprefix(iri)
        if iri and local != term and re.fullmatch(r"\w[\w.-]*", local):
            return f"{prefix}:{local}"
    return None
