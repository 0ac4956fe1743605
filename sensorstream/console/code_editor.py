"""An editor for rules, queries and messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from nicegui import ui

from sensorstream.console.scripts import run
from sensorstream.console.shades import ASK_SHADE, SHADE

Language: TypeAlias = Literal["SPARQL", "Turtle", "XML", "PostgreSQL"]
_LIGHT: Final = "githubLight"
"""Its colours can be told from its background by everybody (WCAG 2.1, 1.4.3)."""
_DARK: Final = "githubDark"
# The element that takes the keys is made by the editor itself.
_NAME: Final = """function name(id, text) {
  const place = getHtmlElement(id)?.querySelector(".cm-content");
  if (place) place.setAttribute("aria-label", text);
  else setTimeout(name, 100, id, text);
}"""
_TOKEN: Final = re.compile(r"\w+|[^\w\n]")


def code_editor(name: str, text: str = "", language: Language | None = None) -> ui.codemirror:
    """An editor with colours; ``name`` is what it is called where it cannot be seen."""
    editor = ui.codemirror(text, language=language, theme=_LIGHT).classes("editor")
    run(_NAME, editor.id, name)
    ui.on(SHADE, lambda event: editor.set_theme(_DARK if event.args is True else _LIGHT))
    run(ASK_SHADE)
    return editor


def mark_faults(editor: ui.codemirror, faults: Sequence[Mapping[str, Any]], file: str = "") -> None:
    """Underline the places of faults, as a dry run tells them, and show the first of them.

    Earlier marks go. A fault whose place is not in the text is not marked, nor one of another file
    than ``file``, if that is given: all files are tried together.
    """
    own = [each for each in faults if not file or _is_of(each, file)]
    found = marks(editor.value, own)
    editor.decorations = found
    if found:
        editor.reveal_line(editor.value.count("\n", 0, found[0]["from"]) + 1)


def _is_of(fault: Mapping[str, Any], name: str) -> bool:
    at = fault["position"]
    return at is not None and f"/{at['file']}".endswith(f"/{name}")


def marks(text: str, faults: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The decorations of an editor for faults: each marks the word at its place.

    At the end of a line the character before it is marked.
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
