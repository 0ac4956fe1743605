"""Reading again what a page shows, while it is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from sensorstream.console.notices import Notice


def keep_fresh(seconds: float, read: Callable[[], Awaitable[None]]) -> None:
    """Read now, and again so many seconds after each reading; an error stands here."""
    notice = Notice()

    async def look() -> None:
        with notice.of():
            await read()

    ui.timer(seconds, look)
