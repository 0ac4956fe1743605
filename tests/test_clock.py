from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from threading import Thread

from sensorstream.clock import ClockSetBack, thread_seconds

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Hands:
    """A clock whose wall time and counter are moved by hand."""

    def __init__(self) -> None:
        self.wall = NOW
        self.count = 0.0

    def now(self) -> datetime:
        return self.wall

    def counter(self) -> float:
        return self.count

    def move(self, seconds: float, counted: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.count += counted


def test_the_time_of_a_thread_goes_by_while_it_works_and_no_other() -> None:
    begun, wall = thread_seconds(), time.perf_counter()
    other = Thread(target=lambda: sum(range(3_000_000)))
    other.start()
    other.join()
    waited, spent = time.perf_counter() - wall, thread_seconds() - begun
    assert spent < waited / 2
    while thread_seconds() == begun + spent:
        pass


def test_only_a_step_back_counts_and_only_once() -> None:
    clock = Hands()
    steps = ClockSetBack(clock)
    for seconds, counted, back in (
        (5, 5, 0),
        (-3595, 5, 3600),
        (1, 1, 0),
        (7200, 1, 0),
        (-6, 1, 7),
    ):
        clock.move(seconds, counted)
        assert round(steps.back().total_seconds()) == back


def test_small_corrections_add_up() -> None:
    clock = Hands()
    steps = ClockSetBack(clock)
    found = []
    for _ in range(4):
        clock.move(0.6, 1)
        found.append(round(steps.back().total_seconds(), 1))
    assert found == [0, 0, 1.2, 0]


def test_a_moment_that_the_clock_had_come_to_before_is_known() -> None:
    clock = Hands()
    assert ClockSetBack(clock, NOW + timedelta(hours=1)).back() == timedelta(hours=1)
    assert ClockSetBack(clock, NOW - timedelta(hours=1)).back() == timedelta()
