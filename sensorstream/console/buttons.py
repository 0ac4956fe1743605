"""Buttons that change something: a double click does it once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import ui

ONCE: Final = "event.detail < 2"
"""In JavaScript: this click is not the second of a double click (DOM, ``UIEvent.detail``)."""


def change_button(name: str, do: Callable[[], Awaitable[None]]) -> ui.button:
    """A button that cannot be pressed again until what it does is done."""
    button = ui.button(name).props("no-caps")

    async def act() -> None:
        button.disable()
        try:
            await do()
        finally:
            button.enable()

    return button.on("click", act, js_handler=f"(event) => {{ if ({ONCE}) emit() }}")
