"""The recorded streams of the CityBench benchmark: sensors of Aarhus, 2014 (gzipped CSV)."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from sensorstream.errors import SimulationError
from sensorstream.installation import bundled
from sensorstream.simulation.observation import Observation, merge, read_time, written

EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
LATEST: Final = datetime.max.replace(tzinfo=UTC)

Row: TypeAlias = Mapping[str, str]

# The name of a stream's file gives the kind of data and the sensor.
_FILE = re.compile(r"Aarhus(?P<kind>Traffic|Weather|Pollution)Data(?P<sensor>\w+)\.csv\.gz\Z")

POLLUTANTS: Final = (
    "ozone",
    "particullate_matter",
    "carbon_monoxide",
    "sulfure_dioxide",
    "nitrogen_dioxide",
)
_FIELDS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "traffic": ("vehicleCount", "avgSpeed", "avgMeasuredTime"),
        "weather": ("hum", "tempm", "wspdm"),
        "pollution": POLLUTANTS,
    }
)


def beside_the_source() -> Path | None:
    """The benchmark's folder where a source checkout keeps it, ``../shared/data/citybench``."""
    folder = bundled("ontologies").parent.parent / "shared" / "data" / "citybench"
    return folder if (folder / "streams").is_dir() else None


def recorded(
    folder: Path, start: datetime = EARLIEST, end: datetime = LATEST
) -> Iterator[Observation]:
    """All traffic, weather and pollution observations with ``start <= time < end``, merged.

    Args:
        folder: the benchmark's folder; its ``streams`` hold the files.

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


def _observation(row: Row, kind: str, sensor: str) -> Observation:
    # That of pollution has a space between day and hour; the message writes the T of xsd:dateTime.
    time = read_time(row["timestamp" if kind == "pollution" else "TIMESTAMP"])
    fields = tuple((name, row[name]) for name in _FIELDS[kind])
    id = row["_id"] if kind == "traffic" else f"{kind[0]}-{sensor}-{written(time)}"
    place = (row["longitude"], row["latitude"]) if kind == "pollution" else None
    return Observation(kind, sensor, id, time, fields, place)
