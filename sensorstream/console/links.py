"""Links within the pages: NiceGUI's own ones would name the path of all pages twice."""

from __future__ import annotations

from nicegui import ui

from sensorstream.console.places import BASE


def link(text: str, address: str) -> ui.element:
    """A link to an address of :mod:`.places`; what stands in it can be added in a ``with``."""
    made = ui.element("a")
    made.props["href"] = address
    if text:
        with made:
            ui.label(text).classes("inline")
    return made


def choices(title: str, there: dict[str, tuple[str, str]], here: str) -> None:
    """Links side by side, each with its name and address, of which ``here`` is where we are."""
    with ui.element("nav").classes("choices") as nav:
        nav.props["aria-label"] = title
        for key, (name, address) in there.items():
            made = link(name, address).classes("choice")
            if key == here:
                made.props("aria-current=page")


def go(address: str) -> None:
    """Show another page in the place of this one."""
    ui.navigate.to(address.removeprefix(BASE))


def stand_at(address: str) -> None:
    """Let the browser's address line name this state of the page, which stays as it is."""
    ui.navigate.history.replace(address)
