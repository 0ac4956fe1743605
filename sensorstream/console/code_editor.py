"""An editor for rules, queries and messages."""

from __future__ import annotations

import json
from typing import Final, Literal, TypeAlias

from nicegui import ui

Language: TypeAlias = Literal["SPARQL", "Turtle", "XML", "PostgreSQL"]
_THEME: Final = "githubLight"
"""Its colours can be told from its background by everybody (WCAG 2.1, 1.4.3)."""


def code_editor(name: str, text: str = "", language: Language | None = None) -> ui.codemirror:
    """An editor with colours; ``name`` is what it is called where it cannot be seen."""
    editor = ui.codemirror(text, language=language, theme=_THEME).classes("editor")
    # The element that takes the keys is made by the editor itself.
    find = f"getHtmlElement({editor.id})?.querySelector('.cm-content')"
    ui.run_javascript(
        "const name = () => { const place = "
        f"{find}; if (place) place.setAttribute('aria-label', {json.dumps(name)}); "
        "else setTimeout(name, 100); }; name();"
    )
    return editor
