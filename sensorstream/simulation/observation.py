"""One observation of a city sensor, and the XML message that carries it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final
from xml.sax.saxutils import escape, quoteattr

NAMESPACE: Final = "http://sensorstream.example/city/message"

_UNITS: Final[Mapping[str, str]] = MappingProxyType({"avgSpeed": "km/h", "avgMeasuredTime": "s"})


@dataclass(frozen=True, slots=True)
class Observation:
    """What one sensor measured at one time.

    ``time`` is aware, in UTC; the message writes it without a zone, as the sensors do.
    ``fields`` are (element, text) pairs in the order they are written; a text may be empty, as
    it is in recorded data. ``place`` is (longitude, latitude) in degrees, if the sensor reports it.
    """

    kind: str
    sensor: str
    id: str
    time: datetime
    fields: tuple[tuple[str, str], ...]
    place: tuple[str, str] | None = None

    def xml(self) -> bytes:
        """The message, UTF-8; a missing value stays as an empty element."""
        attributes = "".join(
            f" {name}={quoteattr(value)}"
            for name, value in (
                ("kind", self.kind),
                ("sensor", self.sensor),
                ("id", self.id),
                ("time", written(self.time)),
            )
        )
        children = "".join(_element(name, text) for name, text in self.fields)
        if self.place is not None:
            longitude, latitude = map(quoteattr, self.place)
            children += f"<location longitude={longitude} latitude={latitude}/>"
        text = f'<Observation xmlns="{NAMESPACE}"{attributes}>{children}</Observation>'
        return text.encode()


def read_time(text: str) -> datetime:
    """A sensor's time, with a ``T`` or a space in it; without a zone it is UTC.

    Raises:
        ValueError: not an ISO 8601 date and time.
    """
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def stamp(time: datetime) -> str:
    """The time to the second, in UTC and with its zone, as messages made up here have it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def written(time: datetime) -> str:
    """The time as sensors write it: UTC, without a zone."""
    return time.replace(tzinfo=None).isoformat()


def _element(name: str, text: str) -> str:
    unit = f' unit="{_UNITS[name]}"' if name in _UNITS else ""
    return f"<{name}{unit}>{escape(text)}</{name}>" if text else f"<{name}{unit}/>"


def merge(streams: Iterable[Iterable[Observation]]) -> Iterator[Observation]:
    """Several sensors' observations as they would arrive together.

    Time order over all sensors, except that each sensor keeps its own order: a row that a sensor
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
