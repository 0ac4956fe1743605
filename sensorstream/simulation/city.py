"""City messages: recorded ones if the benchmark is available, else synthetic ones."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sensorstream.simulation.citybench import LATEST, POLLUTANTS, recorded
from sensorstream.simulation.observation import Observation, merge, read_time, written


@dataclass(frozen=True, slots=True)
class Morning:
    """Three hours with congestion and high ozone in them.

    At ``jam`` the road is congested, according to the observations just before.
    """

    start: datetime
    jam: datetime
    end: datetime


RECORDED: Final = Morning(
    read_time("2014-08-12T05:00"), read_time("2014-08-12T06:05"), read_time("2014-08-12T08:00")
)
MADE_UP: Final = Morning(
    read_time("2030-06-03T06:00"), read_time("2030-06-03T07:35"), read_time("2030-06-03T09:00")
)

_STRETCH = timedelta(hours=3)
_REPORT = timedelta(minutes=5)
_WEATHER_REPORT = timedelta(minutes=20)
_ROADS = ("900001", "900002", "900003", "900004", "900005")
# Air is measured beside two of the roads, as it is in the recorded city.
_STATIONS = (("900001", 10.12, 56.15), ("900002", 10.21, 56.17))


def city_messages(
    folder: Path | None = None,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    count: int | None = None,
    seed: int = 2678,
) -> Iterator[bytes]:
    """XML messages of traffic, weather and pollution sensors, merged in time order.

    Args:
        folder: the CityBench folder; without one, observations are made up from ``seed``.
        start: the first time, aware; by default a morning with congestion in it.
        end: the end, exclusive; by default three hours after ``start``, or, if ``count`` is given,
            no limit.
        count: the most messages to give.

    Raises:
        SimulationError: ``folder`` does not hold the benchmark's streams.
    """
    morning = MADE_UP if folder is None else RECORDED
    start = start or morning.start
    end = end or (LATEST if count is not None else start + _STRETCH)
    observations = made_up(start, end, seed) if folder is None else recorded(folder, start, end)
    return (each.xml() for each in itertools.islice(observations, count))


def following(time: datetime, folder: Path | None = None) -> datetime:
    """The first time after ``time`` at which the sensors of the city report, or its morning."""
    morning = MADE_UP if folder is None else RECORDED
    return max(morning.start, morning.start + ((time - morning.start) // _REPORT + 1) * _REPORT)


def made_up(start: datetime, end: datetime, seed: int = 2678) -> Iterator[Observation]:
    """Observations of five roads, two air stations and a weather station of no real city.

    Each day has a morning and an evening rush hour in which the first roads jam, and ozone
    climbs towards the afternoon. Sometimes the weather station leaves a field empty.
    """
    day = start
    while day < end:
        # A day at a time: a stream without an end must not be made before it is read.
        until = min(end, day + min(timedelta(days=1), LATEST - day))
        yield from merge(
            (
                *(_road(rank, sensor, day, until, seed) for rank, sensor in enumerate(_ROADS)),
                _weather(day, until, seed),
                *(_air(*station, day, until, seed) for station in _STATIONS),
            )
        )
        day = until


def _road(
    rank: int, sensor: str, start: datetime, end: datetime, seed: int
) -> Iterator[Observation]:
    dice = random.Random(f"road {sensor} {start} {seed}")
    for time in _times(start, end, _REPORT):
        jam = _rush(time) * (1 - rank / (len(_ROADS) - 1))
        vehicles = round(2 + 22 * jam + dice.uniform(0, 3))
        speed = max(5, round(62 - 50 * jam + dice.uniform(-4, 4)))
        fields = (
            ("vehicleCount", str(vehicles)),
            ("avgSpeed", str(speed)),
            ("avgMeasuredTime", str(round(3600 / speed))),
        )
        yield Observation("traffic", sensor, f"{sensor}{time:%y%m%d%H%M}", time, fields)


def _weather(start: datetime, end: datetime, seed: int) -> Iterator[Observation]:
    dice = random.Random(f"weather {start} {seed}")
    for time in _times(start, end, _WEATHER_REPORT):
        warmth = _bell(time, noon=15, width=5)
        wind = f"{dice.uniform(2, 12):.1f}" if dice.random() < 0.9 else ""
        fields = (
            ("hum", str(round(90 - 40 * warmth + dice.uniform(-3, 3)))),
            ("tempm", f"{12 + 11 * warmth + dice.uniform(-0.5, 0.5):.1f}"),
            ("wspdm", wind),
        )
        yield Observation("weather", "0", f"w-0-{written(time)}", time, fields)


def _air(
    sensor: str, longitude: float, latitude: float, start: datetime, end: datetime, seed: int
) -> Iterator[Observation]:
    dice = random.Random(f"air {sensor} {start} {seed}")
    for time in _times(start, end, _REPORT):
        level = 60 + 90 * max(_bell(time, noon=14, width=4), _rush(time))
        fields = tuple((name, str(round(level * dice.uniform(0.85, 1.0)))) for name in POLLUTANTS)
        id = f"p-{sensor}-{written(time)}"
        place = (str(longitude), str(latitude))
        yield Observation("pollution", sensor, id, time, fields, place)


def _times(start: datetime, end: datetime, every: timedelta) -> Iterator[datetime]:
    steps = math.ceil((end - start) / every)
    return (start + step * every for step in range(steps))


def _rush(time: datetime) -> float:
    """How full the roads are, 0 to 1: highest at 7:30 and 16:30."""
    return max(_bell(time, noon=7.5, width=0.8), _bell(time, noon=16.5, width=1.0))


def _bell(time: datetime, *, noon: float, width: float) -> float:
    hour = time.hour + time.minute / 60
    return math.exp(-(((hour - noon) / width) ** 2))
