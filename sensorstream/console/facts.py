"""Names with their values, one below the other."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui


class Facts:
    """A list of names and values; a value that is empty is left out."""

    def __init__(self) -> None:
        self._list = ui.element("dl").classes("facts")
        self._shown: dict[str, str] = {}

    def show(self, facts: Mapping[str, str]) -> None:
        """Show these in place of those before."""
        said = {name: value for name, value in facts.items() if value}
        if said == self._shown:
            return
        self._shown = said
        self._list.clear()
        with self._list:
            for name, value in said.items():
                with ui.element("dt"):
                    ui.label(name)
                with ui.element("dd"):
                    ui.label(value)
