"""Signals end a command, also where a library swallows what they raise.

Python raises KeyboardInterrupt, or what a handler raises, wherever the main thread is. owlready2
closes its databases in destructors, in which it is lost, and catches everything here and there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SIGNALS: Final = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}
_SOON: Final = 0.05
"""Seconds after which a destructor is over."""


@contextmanager
def signals_repeated() -> Iterator[None]:
    """Send a signal again whose exception was lost in a destructor or a callback."""
    before = sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        number = _SIGNALS.get(lost.exc_type)
        if number is None:
            before(lost)
            return
        again = Timer(_SOON, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def signalled(*numbers: int, then: Callable[[], object] = lambda: None) -> Iterator[list[int]]:
    """A list that gets each of these signals when it comes, before ``then`` is called.

    Whoever ends by what ``then`` raises looks into the list, too.
    """
    came: list[int] = []

    def handler(number: int, _frame: object) -> None:
        came.append(number)
        then()

    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield came
    finally:
        for number, each in before.items():
            signal.signal(number, each)
