"""How much the property tests try: ``TEST_EFFORT=10`` makes them a campaign (``make campaign``)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from hypothesis import HealthCheck, is_hypothesis_test, settings

_PLAIN: Final = 0.4
"""In a plain run, of the examples that a test asks for. With ``CI`` set they are the same ones in
each run: many of them would find nothing new."""
_FEWEST: Final = 10


def examples(usual: int) -> int:
    """The number of examples in this run, for a test that asks for ``usual`` of them."""
    effort = float(os.environ.get("TEST_EFFORT", _PLAIN))
    return max(min(usual, _FEWEST), round(usual * effort))


def rounds(usual: int) -> range:
    """The numbers of the rounds in this run, of a costly test that asks for ``usual`` of them."""
    return range(max(1, round(usual * float(os.environ.get("TEST_EFFORT", _PLAIN)))))


def scale(test: Callable[..., object]) -> None:
    """Let a test of Hypothesis try as many examples as this run does, on a machine as busy as it
    may be: without a deadline or a limit of time for making them. Others stay as they are.
    """
    if not is_hypothesis_test(test):
        return
    found: Any = test
    # Where Hypothesis keeps the settings of a test; it has no function that changes them.
    asked: settings = found._hypothesis_internal_use_settings
    found._hypothesis_internal_use_settings = settings(
        asked,
        max_examples=examples(asked.max_examples),
        deadline=None,
        suppress_health_check=(*asked.suppress_health_check, HealthCheck.too_slow),
    )
