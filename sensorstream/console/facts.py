"""Names with their values, one below the other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nicegui import ui

from sensorstream.console.links import link


class Facts:
    """A list of names and values; a value that is empty is left out."""

    def __init__(self, leads: Mapping[str, str] = MappingProxyType({})) -> None:
        """``leads`` are the addresses that values lead to, by their names."""
        self._leads = leads
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
                    if name in self._leads:
                        link(value, self._leads[name])
                    else:
                        ui.label(value)
