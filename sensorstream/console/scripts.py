"""What the browser runs: functions that stand in this code, with data as their arguments."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from nicegui import ui

_SECONDS: Final = 30.0


def run(function: str, *given: object) -> None:
    """Call a function of JavaScript in the browser."""
    ui.run_javascript(_call(function, given))


async def ask(function: str, *given: object) -> Any:
    """Call a function of JavaScript in the browser; what it returns.

    That is None if the browser has gone away, or is so slow that nobody waits for it.
    """
    with suppress(TimeoutError):
        return await ui.run_javascript(_call(function, given), timeout=_SECONDS)
    return None


def _call(function: str, given: tuple[object, ...]) -> str:
    # JSON is JavaScript (ECMA-262, since 2019): what is given ends no text and begins no code.
    return f"({function})({', '.join(map(json.dumps, given))})"
