"""Functions of ``page.js`` that the browser runs, with data as their arguments."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from sensorstream.console.page_addresses import BASE

_SECONDS: Final = 30.0


def run(function: str, *given: object) -> None:
    """Call a function of ``page`` in the browser."""
    ui.run_javascript(_call(function, given))


async def ask(function: str, *given: object) -> Any:
    """Call a function of ``page`` in the browser and return its result; None if the browser has
    gone away, or is so slow that nobody waits for it.
    """
    with suppress(TimeoutError):
        return await ui.run_javascript(_call(function, given), timeout=_SECONDS)
    return None


def _call(function: str, given: tuple[object, ...]) -> str:
    # JSON is JavaScript (ECMA-262, since 2019), so data cannot end a text or begin code.
    return f"page.{function}({', '.join(map(json.dumps, given))})"


CODE: Final = Path(__file__).with_name("page.js")
"""The functions that the browser runs, each by its name in ``page``."""
SHADE: Final = "shade"
"""The event by which the browser says whether the page is dark: true or false."""
_COOKIE: Final = "sensorstream-shade"
_SHADES: Final = {"light": False, "dark": True}


def shade_button() -> None:
    """The button that turns a page dark, or light again; pages that are opened later are so too."""
    request = ui.context.client.request
    dark = ui.dark_mode(_SHADES.get(request.cookies.get(_COOKIE, "")))

    is_dark = [False]

    def tell(event: GenericEventArguments) -> None:
        is_dark[0] = event.args is True

    def turn() -> None:
        dark.set_value(not is_dark[0])
        run("keepShade", _COOKIE, BASE, "light" if is_dark[0] else "dark")

    ui.on(SHADE, tell)
    run("tellShade")
    button = ui.button(icon="contrast", on_click=turn)
    button.props('flat dense color=white aria-label="Light or dark"')
