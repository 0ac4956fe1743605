from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.engine.message_reading import FARTHEST, STEPS, Spacing

FAR = 2**63 - 1


def heard(*times: int) -> Spacing:
    spacing = Spacing()
    for time in times:
        spacing.hear([time])
    return spacing


@given(
    st.integers(-(2**40), 2**40),
    st.lists(st.integers(1, 10_000), min_size=STEPS, max_size=50),
    st.integers(1, FARTHEST),
)
def test_no_time_within_so_many_mean_steps_is_refused(
    first: int, steps: list[int], pause: int
) -> None:
    times = [first]
    for step in steps:
        times.append(times[-1] + step)
    spacing = heard(*times)
    mean = (times[-1] - first) // len(steps)
    assert spacing.refuses(times[-1] + pause * mean) == ""
    assert spacing.refuses(times[-1] - pause) == ""
    assert str(times[-1]) in spacing.refuses(FAR)


def test_nothing_is_refused_before_enough_steps_are_known() -> None:
    assert heard().refuses(FAR) == ""
    assert heard(*range(STEPS)).refuses(FAR) == ""
    assert heard(*[5] * 100).refuses(FAR) == ""
    assert heard(*range(STEPS + 1)).refuses(FAR)


def test_a_stream_that_has_moved_is_followed() -> None:
    spacing = heard(*range(50))
    assert all(spacing.refuses(10**15 + n) for n in range(STEPS - 1))
    assert spacing.refuses(10**15 + STEPS) == ""
    spacing.hear([10**15 + STEPS])
    assert spacing.refuses(FAR) == ""  # its steps are not known yet
    spacing.hear(range(10**15, 10**15 + 50))
    assert spacing.refuses(FAR)


def test_wrong_times_among_right_ones_are_refused_for_ever() -> None:
    spacing = heard(*range(50))
    for n in range(50, 500):
        assert spacing.refuses(FAR)
        spacing.hear([n])
