from __future__ import annotations

from datetime import timedelta

from sensorstream.alerts.dispatcher import SCHEDULE, wait_after


def test_waits_grow_as_the_specification_recommends() -> None:
    waits = [wait_after(n, "d1") for n in range(1, len(SCHEDULE) + 1)]
    for wait, recommended in zip(waits, SCHEDULE, strict=True):
        assert recommended <= wait <= recommended * 1.1
    assert waits[0] < timedelta(seconds=6)


def test_the_last_wait_repeats() -> None:
    assert timedelta(hours=24) <= wait_after(50, "d1") <= timedelta(hours=26.4)


def test_the_spread_is_the_same_in_every_run_and_differs_between_deliveries() -> None:
    assert wait_after(3, "d1") == wait_after(3, "d1")
    assert len({wait_after(3, f"d{n}") for n in range(50)}) == 50
