"""City messages: recorded streams of the CityBench benchmark, sensors of Aarhus, 2014 (gzipped
CSV), if they are available, else synthetic ones.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from sensorstream.errors import SimulationError
from sensorstream.installation import bundled
from sensorstream.model.frozen import frozen

NAMESPACE: Final = "http://sensorstream.example/city/message"

_UNITS: Final[Mapping[str, str]] = {"avgSpeed": "km/h", "avgMeasuredTime": "s"}


@frozen
class Observation:
    """The measurement of one sensor at one time.

    ``time`` is aware, in UTC; the message writes it without a zone, as the sensors do. ``fields``
    are (element, text) pairs in the order they are written; a text may be empty, as it is in
    recorded data. ``place`` is (longitude, latitude) in degrees, if the sensor reports it.
    """

    kind: str
    sensor: str
    id: str
    time: datetime
    fields: tuple[tuple[str, str], ...]
    place: tuple[str, str] | None = None

    def xml(self) -> bytes:
        """The message, UTF-8; a missing value stays as an empty element."""
        told = {"kind": self.kind, "sensor": self.sensor, "id": self.id, "time": written(self.time)}
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in told.items())
        children = "".join(_element(name, text) for name, text in self.fields)
        if self.place is not None:
            longitude, latitude = map(quoteattr, self.place)
            children += f"<location longitude={longitude} latitude={latitude}/>"
        text = f'<Observation xmlns="{NAMESPACE}"{attributes}>{children}</Observation>'
        return text.encode()


def read_time(text: str) -> datetime:
    """A sensor's time, with a ``T`` or a space in it; without a zone it is UTC. Raises ValueError
    if it is not an ISO 8601 date and time.
    """
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def written(time: datetime) -> str:
    """The time as sensors write it: UTC, without a zone."""
    return time.replace(tzinfo=None).isoformat()


def _element(name: str, text: str) -> str:
    unit = f' unit="{_UNITS[name]}"' if name in _UNITS else ""
    return f"<{name}{unit}>{escape(text)}</{name}>" if text else f"<{name}{unit}/>"


def merge(streams: Iterable[Iterable[Observation]]) -> Iterator[Observation]:
    """Merge several sensors' observations in the order in which they would arrive.

    That is time order over all sensors, except that each sensor keeps its own order: a row that was
    delivered late is also late here. Equal times keep the order of ``streams``.
    """
    arrivals: list[tuple[datetime, Observation]] = []
    for stream in streams:
        latest = datetime.min.replace(tzinfo=UTC)
        for observation in stream:
            latest = max(latest, observation.time)
            arrivals.append((latest, observation))
    arrivals.sort(key=lambda arrival: arrival[0])
    return (observation for _, observation in arrivals)


EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
LATEST: Final = datetime.max.replace(tzinfo=UTC)

# The name of a stream's file gives the kind of data and the sensor.
_FILE = re.compile(r"Aarhus(?P<kind>Traffic|Weather|Pollution)Data(?P<sensor>\w+)\.csv\.gz\Z")

POLLUTANTS: Final = (
    "ozone",
    "particullate_matter",
    "carbon_monoxide",
    "sulfure_dioxide",
    "nitrogen_dioxide",
)
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "traffic": ("vehicleCount", "avgSpeed", "avgMeasuredTime"),
    "weather": ("hum", "tempm", "wspdm"),
    "pollution": POLLUTANTS,
}


def beside_the_source() -> Path | None:
    """The benchmark's folder where a source checkout keeps it, ``../shared/data/citybench``."""
    folder = bundled("ontologies").parent.parent / "shared" / "data" / "citybench"
    return folder if (folder / "streams").is_dir() else None


def recorded(
    folder: Path, start: datetime = EARLIEST, end: datetime = LATEST
) -> Iterator[Observation]:
    """The traffic, weather and pollution observations with ``start <= time < end``, merged.

    ``folder`` is the benchmark's; its ``streams`` hold the files.

    Raises:
        SimulationError: there is no stream, or a row does not have the benchmark's format.
    """
    files = sorted((folder / "streams").glob("Aarhus*.csv.gz"))
    named = [(file, match) for file in files if (match := _FILE.match(file.name))]
    if not named:
        raise SimulationError(
            f"no city streams in {folder}: expected streams/AarhusTrafficData<ID>.csv.gz and others"
        )
    return merge(
        [each for each in _read(file, match["kind"], match["sensor"]) if start <= each.time < end]
        for file, match in named
    )


def _read(file: Path, kind: str, sensor: str) -> Iterator[Observation]:
    kind = kind.lower()
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        rows = csv.DictReader(text)
        for row in rows:
            try:
                yield _observation(row, kind, sensor)
            except (KeyError, TypeError, ValueError) as error:
                raise SimulationError(
                    f"{file}:{rows.line_num}: not a row of {kind} data: {error}"
                ) from None


def _observation(row: Mapping[str, str], kind: str, sensor: str) -> Observation:
    # Pollution has a space between day and hour; the message writes the T of xsd:dateTime.
    time = read_time(row["timestamp" if kind == "pollution" else "TIMESTAMP"])
    fields = tuple((name, row[name]) for name in _FIELDS[kind])
    id = row["_id"] if kind == "traffic" else f"{kind[0]}-{sensor}-{written(time)}"
    place = (row["longitude"], row["latitude"]) if kind == "pollution" else None
    return Observation(kind, sensor, id, time, fields, place)


@frozen
class Morning:
    """Three hours with high ozone, and congestion at ``jam`` by the observations before it."""

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
# Air is measured beside two of the roads, as in the recorded city.
_STATIONS = (("900001", 10.12, 56.15), ("900002", 10.21, 56.17))


def city_messages(
    folder: Path | None = None,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    count: int | None = None,
    seed: int = 2678,
) -> Iterator[bytes]:
    """XML messages of traffic, weather and pollution sensors, merged in time order, from ``start``
    on and before ``end``: by default three hours of a morning with congestion in it, or ``count``
    messages. Without the CityBench folder, observations are made up from ``seed``.

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

    Each day has a morning and an evening rush hour in which the first roads jam, and ozone climbs
    towards the afternoon. Sometimes the weather station leaves a field empty.
    """
    day = start
    while day < end:
        # A day at a time, because an endless stream must not be made before it is read.
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
    """The load of the roads, 0 to 1: highest at 7:30 and 16:30."""
    return max(_bell(time, noon=7.5, width=0.8), _bell(time, noon=16.5, width=1.0))


def _bell(time: datetime, *, noon: float, width: float) -> float:
    hour = time.hour + time.minute / 60
    return math.exp(-(((hour - noon) / width) ** 2))
