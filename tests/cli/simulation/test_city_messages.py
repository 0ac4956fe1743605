from __future__ import annotations

from datetime import timedelta
from itertools import islice, pairwise
from pathlib import Path

import pytest

from sensorstream.cli.simulation.city_messages import (
    MADE_UP,
    RECORDED,
    Observation,
    beside_the_source,
    city_messages,
    following,
    made_up,
    read_time,
    recorded,
    written,
)
from tests.recordings import needs_recordings


def morning() -> list[Observation]:
    return list(made_up(MADE_UP.start, MADE_UP.end))


def value(observation: Observation, name: str) -> float:
    return float(dict(observation.fields)[name])


def test_made_up_messages_are_the_same_for_the_same_seed() -> None:
    assert list(city_messages(seed=3)) == list(city_messages(seed=3))
    assert list(city_messages(seed=3)) != list(city_messages(seed=4))


def test_made_up_observations_come_in_time_order_with_distinct_ids() -> None:
    observations = list(islice(made_up(read_time("2030-06-03"), read_time("2030-06-06")), 5000))
    assert all(one.time <= other.time for one, other in pairwise(observations))
    assert len({each.id for each in observations}) == len(observations)


def test_a_made_up_morning_holds_jams_free_roads_and_high_ozone() -> None:
    traffic = [each for each in morning() if each.kind == "traffic"]
    assert 0 < sum(map(congested, traffic)) < len(traffic) / 2
    air = [value(each, "ozone") for each in morning() if each.kind == "pollution"]
    assert min(air) < 120 <= max(air)


def test_a_made_up_weather_station_leaves_fields_empty_at_times() -> None:
    days = made_up(read_time("2030-06-03"), read_time("2030-06-13"))
    wind = [dict(each.fields)["wspdm"] for each in days if each.kind == "weather"]
    assert "" in wind
    assert any(wind)


def test_a_count_goes_past_the_default_stretch() -> None:
    assert len(list(city_messages(count=2000))) == 2000


def test_an_end_ends_it() -> None:
    start = read_time("2031-01-01T00:00")
    end = read_time("2031-01-01T00:05")
    assert len(list(city_messages(start=start, end=end))) == 8


def congested(observation: Observation) -> bool:
    return (
        observation.kind == "traffic"
        and value(observation, "avgSpeed") < 20
        and value(observation, "vehicleCount") >= 10
    )


def test_the_made_up_road_is_jammed_when_it_is_said_to_be() -> None:
    just_before = made_up(MADE_UP.jam - timedelta(minutes=10), MADE_UP.jam)
    assert any(map(congested, just_before))


@needs_recordings
def test_the_recorded_road_is_jammed_when_it_is_said_to_be() -> None:
    folder = beside_the_source()
    assert folder is not None
    just_before = recorded(folder, RECORDED.jam - timedelta(minutes=10), RECORDED.jam)
    assert any(map(congested, just_before))


@needs_recordings
def test_the_recorded_stretch_starts_where_it_says() -> None:
    first = next(city_messages(beside_the_source()))
    assert f'time="{written(RECORDED.start)}"'.encode() in first


@pytest.mark.parametrize("minutes", [-600, -1, 0, 1, 5, 7, 61])
def test_another_stream_goes_on_with_the_next_report(minutes: int) -> None:
    time = MADE_UP.start + timedelta(minutes=minutes)
    start = following(time)
    assert start == MADE_UP.start or time < start <= time + timedelta(minutes=5)
    first = next(made_up(start, start + timedelta(minutes=10)))
    assert first.time == start


def test_recorded_data_goes_on_after_a_time_of_its_own() -> None:
    assert following(MADE_UP.start, Path("recorded")) > MADE_UP.start
    assert following(RECORDED.start - timedelta(days=1), Path("recorded")) == RECORDED.start
