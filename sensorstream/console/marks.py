"""Faults at their places in an editor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from nicegui import ui

_LINE: Final = "fault-line"
_PLACE: Final = "fault-place"


def mark(editor: ui.codemirror, faults: Iterable[Mapping[str, Any]], file: str = "") -> None:
    """Mark the places of faults as the HTTP interface tells them, and show the first.

    A fault of another file than ``file`` is left out; empty: all are of the text in the editor.
    """
    places = [
        (each["position"]["line"], each["position"]["column"], str(each["detail"]))
        for each in faults
        if each["position"] is not None and _is_of(str(each["position"]["file"]), file)
    ]
    lines = editor.value.split("\n")
    known = [each for each in places if 1 <= each[0] <= len(lines)]
    editor.line_tooltips = {line: detail for line, _, detail in reversed(known)}
    editor.decorations = decorations(lines, [(line, column) for line, column, _ in known])
    if known:
        editor.reveal_line(known[0][0])


def _is_of(path: str, file: str) -> bool:
    return not file or path == file or path.endswith(f"/{file}")


def decorations(lines: list[str], places: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """What marks places, each a line and a column from 1, in the text of these lines."""
    found: list[dict[str, Any]] = []
    for line, column in places:
        found.append({"kind": "line", "line": line, "class": _LINE})
        start = sum(len(each) + 1 for each in lines[: line - 1])
        begin = start + min(column, len(lines[line - 1])) - 1
        if begin >= start:
            found.append({"kind": "mark", "from": begin, "to": begin + 1, "class": _PLACE})
    return found
