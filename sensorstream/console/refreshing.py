"""Reading again what a page shows, while it is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from sensorstream.console.notices import Notice

VISIBLE: Final = "visible"
"""The event by which the browser says whether it shows the page: true or false."""
TELL_VISIBLE: Final = f"""<script>
document.addEventListener("visibilitychange",
  () => emitEvent("{VISIBLE}", document.visibilityState === "visible"));
</script>"""


def while_visible(begin: Callable[[], None], end: Callable[[], None]) -> None:
    """Begin now; end while the browser shows another tab, and when the page is left.

    ``end`` is called once for each ``begin``.
    """
    begins = [True]
    begin()

    def turn(is_visible: bool) -> None:
        if is_visible != begins[0]:
            begins[0] = is_visible
            (begin if is_visible else end)()

    ui.on(VISIBLE, lambda event: turn(event.args is True))
    ui.context.client.on_delete(lambda: turn(False))


def keep_fresh(seconds: float, read: Callable[[], Awaitable[None]]) -> None:
    """Read now, and again so many seconds after each reading; an error stands here.

    While the browser shows another tab, nothing is read.
    """
    notice = Notice()

    async def look() -> None:
        with notice.of():
            await read()

    timer = ui.timer(seconds, look)

    def turn(event: GenericEventArguments) -> None:
        timer.active = event.args is True

    ui.on(VISIBLE, turn)
