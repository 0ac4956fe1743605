"""Errors of the server, shown where somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

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
    def of(self) -> Iterator[None]:
        """An error of the server in this block is shown, and the block ends there."""
        try:
            yield
        except SensorStreamError as error:
            self.show(error)
        else:
            self.clear()


def said(error: SensorStreamError) -> str:
    """An error in one text: its place, if it has one, and its message."""
    at = error.position
    return error.message if at is None else f"line {at.line}, column {at.column}: {error.message}"
