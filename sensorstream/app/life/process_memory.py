"""The memory of a process with many objects and many short-lived rows."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from typing import Final

_PATIENCE: Final = 200_000
"""New objects minus freed objects, before a collection of the young generation."""


def give_back() -> None:
    """Return freed memory to the system: the allocator keeps that of a large message."""
    with suppress(OSError, AttributeError):  # another allocator
        ctypes.CDLL(None).malloc_trim(0)


def collect_less() -> None:
    """Collect less often, from the start on: nearly all objects of a start stay. With Python's
    thresholds the collector took a sixth of the time of a start.
    """
    gc.set_threshold(_PATIENCE, 10, 10)


def spare_what_stays() -> None:
    """Exclude all present objects from collections, and collect less often.

    Call it once in a process, after the background knowledge is read. A join makes thousands of
    rows at an instant, which are all freed at the next instant: with Python's thresholds each such
    instant causes a full collection.
    """
    gc.collect()
    gc.freeze()
    collect_less()
