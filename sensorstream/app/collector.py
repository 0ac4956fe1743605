"""Python's cycle collector, in a process that holds much and makes many short-lived rows."""

from __future__ import annotations

import gc
from typing import Final

_PATIENCE: Final = 200_000
"""New objects beyond those that went, before the collector looks at the young ones."""


def spare_what_stays() -> None:
    """Leave what is there now out of every collection, and collect less often.

    For a process to call once, when it has read its background knowledge. A join makes thousands
    of rows at an instant, all gone at the next: with Python's thresholds each such instant
    has the collector look at everything there is.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_PATIENCE, 10, 10)
