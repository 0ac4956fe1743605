"""Errors of the server, shown where somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from sensorstream.console.code_editor import mark_faults
from sensorstream.errors import SensorStreamError


class Notice:
    """A place on the page where the latest error stands until the next try goes well."""

    def __init__(self) -> None:
        self._label = ui.label().classes("notice").props("role=alert")
        self._label.set_visibility(False)

    def show(self, error: SensorStreamError) -> None:
        """Say what is wrong, and where."""
        self._label.set_text(said(error))
        self._label.set_visibility(True)

    def clear(self) -> None:
        """Say nothing."""
        self._label.set_text("")
        self._label.set_visibility(False)

    @contextmanager
    def of(self, editor: ui.codemirror | None = None) -> Iterator[None]:
        """An error of the server in this block is shown, and the block ends there.

        If the error has a place, that is marked in ``editor``, which has what was asked.
        """
        if editor is not None:
            mark_faults(editor, [])
        try:
            yield
        except SensorStreamError as error:
            self.show(error)
            if editor is not None and (at := error.position) is not None:
                position = {"line": at.line, "column": at.column}
                mark_faults(editor, [{"detail": error.message, "position": position}])
        else:
            self.clear()


def said(error: SensorStreamError) -> str:
    """An error in one text: its place, if it has one, and its message."""
    at = error.position
    return error.message if at is None else f"line {at.line}, column {at.column}: {error.message}"
