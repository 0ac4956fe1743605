"""Write the event file and the background knowledge of the CityBench queries.

``python examples/citybench/prepare.py FOLDER OUT [--from TIME] [--to TIME]``: FOLDER holds the
benchmark's ``streams`` and ``dataset``. The recorded streams become RDF graphs in the benchmark's
own shape.

Source: "CityBench: A Configurable Benchmark to Evaluate RSP Engines Using Smart City Datasets"
(Ali, Gao, Mileo 2015), section 3; its vocabularies are those of the Semantic Sensor Network
ontology (2011) and of the CityPulse project.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pyoxigraph as ox

from sensorstream.cli.simulation.city_messages import (
    EARLIEST,
    LATEST,
    Observation,
    read_time,
    recorded,
)
from sensorstream.errors import SimulationError
from sensorstream.model import rdf, xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.streams.event_lines import SECOND, EventLines
from sensorstream.streams.processor import StreamEvent

SERVICE: Final = "http://www.insight-centre.org/dataset/SampleEventService#"
CITY: Final = "http://www.insight-centre.org/citytraffic#"
SSN: Final = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO: Final = "http://purl.oclc.org/NET/sao/"

BACKGROUND: Final = ("SensorRepository.n3", "AarhusCulturalEvents.n3")
"""The files of background knowledge; the benchmark's folder keeps them gzipped."""
USER_LOCATIONS: Final = IRI(f"{SERVICE}UserLocationService")

_OBSERVATION: Final = IRI(f"{SSN}Observation")
_OBSERVED_PROPERTY: Final = IRI(f"{SSN}observedProperty")
_OBSERVED_BY: Final = IRI(f"{SSN}observedBy")
_HAS_VALUE: Final = IRI(f"{SAO}hasValue")
_LATITUDE: Final = IRI(f"{CITY}hasLatitude")
_LONGITUDE: Final = IRI(f"{CITY}hasLongitude")
_LOCATION: Final = "Location"
_CONGESTION: Final = "CongestionLevel"

# What a field of a row measures, by the classes of the repository.
_PROPERTIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "vehicleCount": "VehicleCount",
        "avgSpeed": "AvgSpeed",
        "avgMeasuredTime": "MeasureTime",
        "tempm": "Temperature",
        "hum": "Humidity",
        "wspdm": "WindSpeed",
    }
)
_STREAMS: Final[Mapping[str, str]] = MappingProxyType(
    {"traffic": "AarhusTrafficData", "weather": "AarhusWeatherData"}
)


@dataclass(frozen=True, slots=True)
class Sensors:
    """Background knowledge of the sensors: what each observes, and the length of its road.

    ``properties`` maps a stream and a class of properties to the individual that the stream's
    sensor observes; ``kilometres`` maps the identifier of a traffic sensor to its road's length.
    """

    properties: Mapping[tuple[IRI, str], IRI]
    kilometres: Mapping[str, float]

    @classmethod
    def read(cls, folder: Path) -> Sensors:
        """Read the benchmark's ``dataset``.

        Raises:
            SimulationError: one of its files is missing or does not have the benchmark's format.
        """
        store = ox.Store()
        store.load(background(folder, BACKGROUND[0]), ox.RdfFormat.TURTLE)
        found = store.query(
            f"SELECT ?sensor ?class ?property {{ ?sensor <{SSN}observes> ?property . "
            f"?property a ?class . FILTER(STRSTARTS(STR(?class), '{CITY}')) }}"
        )
        assert isinstance(found, ox.QuerySolutions)
        properties = {
            (IRI(each["sensor"].value), each["class"].value.removeprefix(CITY)): IRI(
                each["property"].value
            )
            for each in found
        }
        file = folder / "dataset" / "trafficMetaData.csv.gz"
        try:
            with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
                kilometres = {
                    row["REPORT_ID"]: float(row["DISTANCE_IN_METERS"]) / 1000
                    for row in csv.DictReader(text)
                }
        except (OSError, KeyError, ValueError) as error:
            raise SimulationError(f"{file}: not the roads of the benchmark: {error}") from None
        return cls(properties, kilometres)

    def property(self, stream: IRI, kind: str) -> IRI:
        """The individual of a class that a stream observes.

        Raises:
            SimulationError: the repository has no such individual.
        """
        found = self.properties.get((stream, kind))
        if found is None:
            raise SimulationError(f"{BACKGROUND[0]}: <{stream}> observes no <{CITY}{kind}>")
        return found


def background(folder: Path, name: str) -> bytes:
    """A file of background knowledge, as Turtle.

    Raises:
        SimulationError: it cannot be read.
    """
    file = folder / "dataset" / f"{name}.gz"
    try:
        return gzip.decompress(file.read_bytes())
    except OSError as error:
        raise SimulationError(f"{file}: cannot be read: {error}") from None


def events(
    folder: Path, start: datetime = EARLIEST, end: datetime = LATEST, *, speed: int = 300
) -> Iterator[StreamEvent]:
    """Traffic, weather and user locations as they would arrive, ``start <= time < end``.

    Benchmark time runs ``speed`` times as fast as the recorded one and is counted in
    microseconds from the earliest observation; so sensors that report every five minutes report
    every second. User locations have no time: there is one each second. A row that a sensor
    delivered late is also late here.

    Raises:
        SimulationError: the folder does not hold the benchmark.
    """
    sensors = Sensors.read(folder)
    observations = [each for each in recorded(folder, start, end) if each.kind in _STREAMS]
    if not observations:
        return
    first = min(each.time for each in observations)
    arrivals: list[tuple[int, StreamEvent]] = []
    latest = 0
    for each in observations:
        length = each.time - first
        time = (length.days * 86400 + length.seconds) * SECOND // speed
        latest = max(latest, time)
        graph = observed(each, sensors)
        if graph:
            arrivals.append((latest, StreamEvent(time, graph, stream_of(each))))
    places = ((each.time, each) for each in _locations(folder, sensors, latest))
    yield from (event for _, event in merge(arrivals, places, key=lambda pair: pair[0]))


def stream_of(observation: Observation) -> IRI:
    """The stream of a sensor, which is also the sensor's name."""
    return IRI(f"{SERVICE}{_STREAMS[observation.kind]}{observation.sensor}")


def observed(observation: Observation, sensors: Sensors) -> tuple[Triple, ...]:
    """The graph of a traffic or weather row: an observation of four triples for each value.

    Values are ``xsd:double``; an empty field gives no observation. The congestion of a road is
    vehicles per kilometre.
    """
    stream = stream_of(observation)
    values = [(_PROPERTIES[name], float(text)) for name, text in observation.fields if text]
    if observation.kind == "traffic":
        vehicles = dict(values).get("VehicleCount")
        kilometres = sensors.kilometres.get(observation.sensor)
        if vehicles is not None and kilometres:
            values.append((_CONGESTION, vehicles / kilometres))
    graph: list[Triple] = []
    for kind, value in values:
        subject = IRI(f"{SERVICE}{observation.id}-{kind}")
        graph += _observation(subject, sensors.property(stream, kind), stream)
        graph.append((subject, _HAS_VALUE, Literal(repr(value), xsd.DOUBLE)))
    return tuple(graph)


def _observation(subject: IRI, property: IRI, stream: IRI) -> list[Triple]:
    return [
        (subject, rdf.TYPE, _OBSERVATION),
        (subject, _OBSERVED_PROPERTY, property),
        (subject, _OBSERVED_BY, stream),
    ]


def _locations(folder: Path, sensors: Sensors, until: int) -> Iterator[StreamEvent]:
    file = folder / "streams" / f"{USER_LOCATIONS.removeprefix(SERVICE)}.csv.gz"
    property = sensors.property(USER_LOCATIONS, _LOCATION)
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number * SECOND > until:
                    return
                _, _, place = line.strip().partition("|")
                latitude, longitude = (Literal(each, xsd.DOUBLE) for each in place.split(","))
                subject = IRI(f"{SERVICE}location-{number}")
                value = BlankNode(f"_:place{number}")
                graph: tuple[Triple, ...] = (
                    *_observation(subject, property, USER_LOCATIONS),
                    (subject, _HAS_VALUE, value),
                    (value, _LATITUDE, latitude),
                    (value, _LONGITUDE, longitude),
                )
                yield StreamEvent(number * SECOND, graph, USER_LOCATIONS)
    except (OSError, ValueError) as error:
        raise SimulationError(f"{file}: not the places of a user: {error}") from None


def main() -> None:
    """Read the arguments, write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the benchmark's folder")
    parser.add_argument("out", type=Path, help="where the files go")
    parser.add_argument("--from", dest="start", default="2014-08-01T08:00", help="the first time")
    parser.add_argument("--to", dest="end", default="2014-08-01T12:00", help="the first too late")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in BACKGROUND:
        (options.out / name).write_bytes(background(options.folder, name))
    start, end = read_time(options.start), read_time(options.end)
    with (options.out / "events.jsonl").open("w", encoding="utf-8") as file:
        lines = EventLines(file.name, numbers=True)
        file.writelines(map(lines.write, events(options.folder, start, end)))


if __name__ == "__main__":
    main()
