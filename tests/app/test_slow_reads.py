"""After a slow read of results the engine goes on before the next one."""

from __future__ import annotations

from contextlib import suppress

import pytest

from sensorstream.app.control.query_control import SlowReads
from sensorstream.errors import Busy
from sensorstream.testing import ManualClock


def read(reads: SlowReads, clock: ManualClock, name: str, seconds: float) -> None:
    with reads.turn(name):
        clock.advance(seconds)


def test_slow_reads_have_a_fifth_of_the_time_whatever_the_queries_are_called() -> None:
    clock = ManualClock()
    reads, slow = SlowReads(clock.counter, clock.counter), 0.0
    for number in range(1000):
        try:
            read(reads, clock, f"q{number}", 1.0)
            slow += 1.0
        except Busy:
            clock.advance(0.5)
    assert slow / clock.counter() == pytest.approx(1 / 5, rel=0.01)


def test_a_query_that_was_quick_is_read_although_others_are_slow() -> None:
    clock = ManualClock()
    reads = SlowReads(clock.counter, clock.counter)
    read(reads, clock, "quick", 0.01)
    read(reads, clock, "slow", 2.0)
    read(reads, clock, "quick", 0.01)
    with pytest.raises(Busy):
        read(reads, clock, "new", 0.01)
    # It has become slow: from now on it waits as the others do.
    read(reads, clock, "quick", 3.0)
    with pytest.raises(Busy) as busy:
        read(reads, clock, "quick", 0.01)
    clock.advance(busy.value.retry_after)
    read(reads, clock, "quick", 0.01)


def test_a_read_that_fails_counts_too() -> None:
    clock = ManualClock()
    reads = SlowReads(clock.counter, clock.counter)
    with suppress(ZeroDivisionError), reads.turn("q"):
        clock.advance(5.0)
        raise ZeroDivisionError
    with pytest.raises(Busy):
        read(reads, clock, "q", 0.01)
