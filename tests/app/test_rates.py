"""Token buckets: never more than the rate and one burst, and never less than was promised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.app.life.access_control import Rates
from sensorstream.errors import TooFast

BURST = 10


@given(
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 8)), min_size=1, max_size=60),
)
def test_no_address_sends_more_than_the_rate_a_burst_and_one_batch(
    rate: int, sent: list[tuple[float, int]]
) -> None:
    rates, now, admitted = Rates(rate), 0.0, 0
    for pause, messages in sent:
        now += pause
        try:
            rates.charge("a", messages, now)
            admitted += messages
        except TooFast as refused:
            wait = refused.retry_after
            assert 0 < wait <= 8 / rate + 1
            # It is told how long to wait, and that is enough.
            now += wait + 1e-6
            rates.charge("a", 1, now)
            admitted += 1
        assert admitted <= rate * BURST + now * rate + 8


def test_one_address_does_not_slow_another_down() -> None:
    rates = Rates(1)
    rates.charge("a", 1000, 0.0)
    with pytest.raises(TooFast, match=r"limits\.rate"):
        rates.charge("a", 1, 1.0)
    rates.charge("b", 1, 1.0)


def test_without_a_rate_nobody_is_refused() -> None:
    def refused(rates: Rates) -> int:
        count = 0
        for _ in range(1000):
            try:
                rates.charge("a", 10_000, 0.0)
            except TooFast:
                count += 1
        return count

    assert (refused(Rates(0)), refused(Rates(1))) == (0, 999)
