from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.timeline import Timeline

moments = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - the zone is drawn apart
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_its_own_instant(number: int) -> None:
    line = Timeline.INTEGER
    assert line.instant(str(number)) == number
    assert line.instant(line.format(number)) == number


@given(moments)
def test_a_moment_comes_back_from_its_text(moment: datetime) -> None:
    line = Timeline.DATETIME
    instant = line.of(moment)
    assert line.moment(instant) == moment
    assert line.instant(line.format(instant)) == instant
    assert line.instant(moment.isoformat()) == instant


@given(moments, moments)
def test_instants_are_ordered_as_moments_are(one: datetime, other: datetime) -> None:
    line = Timeline.DATETIME
    assert (line.of(one) < line.of(other)) == (one < other)


def test_the_literal_of_an_instant_is_of_the_line_s_datatype() -> None:
    assert Timeline.INTEGER.literal(7).n3 == f'"7"^^<{xsd.INTEGER}>'
    assert Timeline.DATETIME.literal(0).n3 == f'"1970-01-01T00:00:00Z"^^<{xsd.DATE_TIME}>'


def test_arrival_on_the_integer_line_is_whole_seconds() -> None:
    assert Timeline.INTEGER.of(datetime(1970, 1, 1, 0, 1, 30, 999_999, tzinfo=UTC)) == 90


@pytest.mark.parametrize("bad", ["", "1.5", "2014-08-01T08:00:00", str(2**63)])
def test_what_is_no_integer_time_is_refused(bad: str) -> None:
    with pytest.raises(TermError):
        Timeline.INTEGER.instant(bad)


@pytest.mark.parametrize("bad", ["", "17", "2014-08-01", "2014-02-30T08:00:00"])
def test_what_is_no_date_time_is_refused(bad: str) -> None:
    with pytest.raises(TermError):
        Timeline.DATETIME.instant(bad)


def test_durations_are_lengths_of_the_line() -> None:
    assert Timeline.INTEGER.duration("10") == 10
    assert Timeline.DATETIME.duration("PT1M30S") == 90_000_000
    assert Timeline.DATETIME.duration("P1DT0.000001S") == 86_400_000_001


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        (Timeline.INTEGER, "PT1M"),
        (Timeline.INTEGER, "0"),
        (Timeline.INTEGER, "-3"),
        (Timeline.DATETIME, "10"),
        (Timeline.DATETIME, "P1M"),
        (Timeline.DATETIME, "PT0S"),
        (Timeline.DATETIME, "-PT1S"),
    ],
)
def test_what_is_no_length_is_refused_with_an_example(line: Timeline, bad: str) -> None:
    with pytest.raises(TermError, match=rf"'{bad}'.*expected") as caught:
        line.duration(bad)
    assert "xsd:" not in str(caught.value)


def test_a_span_may_be_zero_and_a_duration_may_not() -> None:
    assert (Timeline.INTEGER.span("0"), Timeline.DATETIME.span("PT0S")) == (0, 0)
    for line, zero, less in ((Timeline.INTEGER, "0", "-1"), (Timeline.DATETIME, "PT0S", "-PT1S")):
        with pytest.raises(TermError, match="more than zero"):
            line.duration(zero)
        with pytest.raises(TermError, match="more than zero"):
            line.span(less)


def test_wall_time_is_counted_as_arrivals_are() -> None:
    assert Timeline.INTEGER.of_wall_time(0.2) == 1
    assert Timeline.DATETIME.of_wall_time(0.2) == 200_000
