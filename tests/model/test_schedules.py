from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.schedules import LocalTimes, Multiples, Schedule
from sensorstream.model.timeline import Timeline

LINE = Timeline.DATETIME
HOUR = LINE.duration("PT1H")
VIENNA = "Europe/Vienna"


def moments(schedule: Schedule, after: str, count: int) -> list[str]:
    first = schedule.number(LINE.instant(after)) + 1
    return [LINE.format(schedule.moment(first + each)) for each in range(count)]


def test_the_clocks_of_a_place_say_when() -> None:
    assert moments(LocalTimes(VIENNA, time(7)), "2026-03-27T12:00:00Z", 3) == [
        "2026-03-28T06:00:00Z",
        "2026-03-29T05:00:00Z",  # in summer time
        "2026-03-30T05:00:00Z",
    ]


def test_a_time_that_does_not_exist_is_that_of_the_clocks_before() -> None:
    assert moments(LocalTimes(VIENNA, time(2, 30)), "2026-03-28T12:00:00Z", 2) == [
        "2026-03-29T01:30:00Z",  # 03:30: at 02:00 it became 03:00
        "2026-03-30T00:30:00Z",
    ]


def test_of_a_time_that_comes_twice_the_first_is_meant() -> None:
    assert moments(LocalTimes(VIENNA, time(2, 30)), "2026-10-24T12:00:00Z", 2) == [
        "2026-10-25T00:30:00Z",  # not again an hour later, when it is 02:30 once more
        "2026-10-26T01:30:00Z",
    ]


def test_a_day_that_a_place_left_out_has_no_moment_of_its_own() -> None:
    # Samoa went from the 29th to the 31st of December 2011.
    schedule = LocalTimes("Pacific/Apia", time(7))
    last = schedule.number(LINE.instant("2011-12-29T18:00:00Z"))
    following = schedule.number(LINE.instant("2011-12-30T18:00:00Z"))
    assert LINE.format(schedule.moment(last)) == "2011-12-29T17:00:00Z"
    assert LINE.format(schedule.moment(following)) == "2011-12-30T17:00:00Z"
    assert schedule.moment(following + 1) - schedule.moment(following) == 24 * HOUR


def test_a_day_of_the_week() -> None:
    schedule = LocalTimes("America/New_York", time(0), 0)
    found = moments(schedule, "2026-03-01T00:00:00Z", 3)
    assert found == ["2026-03-02T05:00:00Z", "2026-03-09T04:00:00Z", "2026-03-16T04:00:00Z"]


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Anchorage"])
def test_the_first_and_the_last_day_have_no_end_of_their_own(text: str, zone: str) -> None:
    for weekday in (None, 6):
        schedule = LocalTimes(zone, time(12), weekday)
        instant = LINE.instant(text)
        number = schedule.number(instant)
        assert schedule.moment(number) <= instant < schedule.moment(number + 1)


@given(
    st.integers(0, 4 * 366 * 24 * 60 - 1),
    st.sampled_from([VIENNA, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
    st.integers(0, 24 * 60 - 1),
    st.none() | st.integers(0, 6),
)
@settings(max_examples=30)
def test_a_moment_is_when_the_clocks_first_show_the_time(
    minute: int, zone: str, shown: int, weekday: int | None
) -> None:
    start = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    schedule = LocalTimes(zone, time(shown // 60, shown % 60), weekday)
    number = schedule.number(LINE.of(start))
    assert schedule.moment(number) <= LINE.of(start) < schedule.moment(number + 1)
    moment = LINE.moment(schedule.moment(number + 1))
    clock = moment.astimezone(ZoneInfo(zone))
    if clock.time() == schedule.shown:
        assert clock.fold == 0
    else:
        # It does not exist on that day: a clock that was not put forward shows it.
        before = (moment - timedelta(hours=3)).astimezone(ZoneInfo(zone)).utcoffset()
        assert before is not None
        assert (moment + before).time() == schedule.shown
        assert clock.replace(tzinfo=None) > datetime.combine(clock.date(), schedule.shown)
    assert weekday is None or clock.weekday() == weekday


@given(st.integers(-1000, 1000), st.integers(1, 50))
@settings(max_examples=20)
def test_multiples_count_from_the_zero_of_the_line(time: int, length: int) -> None:
    schedule = Multiples(length)
    number = schedule.number(time)
    assert schedule.moment(number) == max(t for t in range(-2000, time + 1) if t % length == 0)
