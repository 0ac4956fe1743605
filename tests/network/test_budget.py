"""Rows count while limits are in force, and only then."""

from __future__ import annotations

import pytest

from sensorstream.errors import Overrun
from sensorstream.network.budget import Budget, Limits, Meter


def test_what_comes_while_the_limits_are_lifted_counts_for_nothing_afterwards() -> None:
    budget = Budget(Limits(rows=100, settings="limits.message"))
    meter = Meter(budget)
    with budget.lift():
        with budget.lift():
            meter.take(1000)
        meter.take(1000)
    meter.take(90)
    with pytest.raises(Overrun, match=r"more than 100 rows .*limits\.message_rows"):
        meter.take(1000)
