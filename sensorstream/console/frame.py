"""What all pages have: the way to the others, the state of the server, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nicegui import ui

from sensorstream.console.elements import TELL_VISIBLE, heading, link
from sensorstream.console.places import BASE, PLACES, Place, address
from sensorstream.console.shades import TELL_SHADE, shade_button
from sensorstream.console.watches import Watch

_STYLE: Final = Path(__file__).with_name("style.css")
_PAUSE: Final = 1.0
_STALE: Final = "The figures are out of date: "


@contextmanager
def frame(here: Place, title: str, watch: Watch, *, signed_in: bool) -> Iterator[None]:
    """A page at a place in the list of pages; the block says what stands on it."""
    ui.page_title(f"{title} · SensorStream")
    ui.add_css(_STYLE)
    ui.add_head_html('<script>document.documentElement.lang = "en"</script>')
    ui.add_head_html(TELL_VISIBLE)
    ui.add_head_html(TELL_SHADE)
    ui.colors(primary="#1f5f8b", secondary="#37474f", accent="#8a4f00")
    with ui.header().classes("items-center"):
        drawer_button = ui.button(icon="menu").props('flat dense color=white aria-label="Pages"')
        ui.label("SensorStream").classes("text-h6")
        ui.space()
        state = ui.label().classes("state").props('role=status aria-live="polite"')
        shade_button()
        if signed_in:
            with ui.element("form").props(f'method=post action="{BASE}/sign-out"'):
                out = ui.button(icon="logout").props("flat dense color=white type=submit")
                out.props('aria-label="Sign out"')
    drawer = _drawer()
    with drawer, ui.element("nav").props('aria-label="Pages"').classes("places"):
        for place in PLACES:
            way = link("", address(place.path)).classes("place")
            way.props["accesskey"] = place.letter
            if place == here:
                way.props("aria-current=page")
            with way:
                ui.icon(place.icon).props("aria-hidden=true")
                ui.label(place.name)
    drawer_button.on_click(lambda: drawer.run_method("toggle"))
    ui.timer(_PAUSE, lambda: _tell(state, watch))
    with ui.element("main").classes("content") as content:
        heading(title, "h1")
        yield
    ui.skip_link("Skip to content", target=content)


def _drawer() -> ui.element:
    """The place of the list of pages; it is open where there is room for it.

    NiceGUI's own asks the browser whether that is so, and holds it for a fault if that is slow.
    """
    client = ui.context.client
    client.layout.props('view="hHh Lpr fff"')
    with client.layout:
        drawer = ui.element("q-drawer").props("side=left show-if-above width=200 breakpoint=700")
    drawer.props("bordered")
    drawer.move(target_index=client.layout.default_slot.children.index(client.page_container))
    return drawer


def _tell(state: ui.label, watch: Watch) -> None:
    fault = watch.fault
    state.set_text("" if fault is None else f"{_STALE}{fault.message}")
    state.classes(add="stale" if fault else "", remove="" if fault else "stale")
