"""Recordings of CityBench as events, from a folder made up here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from examples.citybench.prepare import CITY, SERVICE, SSN, Sensors, events
from sensorstream.cli.simulation.city_messages import read_time
from sensorstream.errors import SimulationError
from sensorstream.streams.event_lines import EventLines

SECOND = 1_000_000
REPOSITORY = f"""
@prefix : <{SERVICE}> . @prefix ct: <{CITY}> . @prefix ssn: <{SSN}> .
:AarhusTrafficData1 ssn:observes :p1, :p2, :p3, :p4 .
:p1 a ct:CongestionLevel . :p2 a ct:AvgSpeed . :p3 a ct:VehicleCount . :p4 a ct:MeasureTime .
:AarhusWeatherData0 ssn:observes :p5, :p6, :p7 .
:p5 a ct:Temperature . :p6 a ct:Humidity . :p7 a ct:WindSpeed .
:UserLocationService ssn:observes :p8 .
:p8 a ct:Location .
"""


@pytest.fixture
def city(folder: Path) -> Path:
    """Three traffic rows, the last of them late, two weather rows, three places."""
    _write(folder / "dataset/SensorRepository.n3.gz", REPOSITORY)
    _write(folder / "dataset/trafficMetaData.csv.gz", "REPORT_ID,DISTANCE_IN_METERS\n1,2000\n")
    _write(
        folder / "streams/AarhusTrafficData1.csv.gz",
        "avgMeasuredTime,avgSpeed,TIMESTAMP,vehicleCount,_id\n"
        "60,50,2014-08-01T08:00:00,5,11\n"
        "61,51,2014-08-01T08:10:00,6,12\n"
        "62,52,2014-08-01T08:05:00,7,13\n",
    )
    _write(
        folder / "streams/AarhusWeatherData0.csv.gz",
        "hum,tempm,wspdm,TIMESTAMP\n56,18,,2014-08-01T08:00:00\n57,19,7,2014-08-01T08:20:00\n",
    )
    _write(
        folder / "streams/UserLocationService.csv.gz",
        "http://x/user|56.5,10.1\nhttp://x/user|56.6,10.2\nhttp://x/user|56.7,10.3\n",
    )
    return folder


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode()))


def test_events_come_in_order_of_arrival_in_benchmark_time(city: Path) -> None:
    found = [
        (each.time // SECOND, (each.stream or "").removeprefix(SERVICE)) for each in events(city)
    ]
    assert found == [
        (0, "AarhusTrafficData1"),
        (0, "AarhusWeatherData0"),
        (0, "UserLocationService"),
        (1, "UserLocationService"),
        (2, "AarhusTrafficData1"),
        (1, "AarhusTrafficData1"),
        (2, "UserLocationService"),
        (4, "AarhusWeatherData0"),
    ]


def test_congestion_is_vehicles_per_kilometre_of_the_property_observed(city: Path) -> None:
    (first, *_) = events(city)
    (subject,) = (s for s, p, o in first.triples if o == SERVICE + "p1")
    assert {(p.rsplit("#")[-1].split("/")[-1], o) for s, p, o in first.triples if s == subject} == {
        ("type", SSN + "Observation"),
        ("observedProperty", SERVICE + "p1"),
        ("observedBy", SERVICE + "AarhusTrafficData1"),
        ("hasValue", '"2.5"^^<http://www.w3.org/2001/XMLSchema#double>'),
    }


def test_an_empty_field_says_nothing(city: Path) -> None:
    weather = [each for each in events(city) if each.stream == SERVICE + "AarhusWeatherData0"]
    assert [len(each.triples) for each in weather] == [8, 12]


def test_only_the_span_asked_for_is_given(city: Path) -> None:
    found = list(events(city, read_time("2014-08-01T08:05"), read_time("2014-08-01T08:11")))
    assert [each.time // SECOND for each in found] == [0, 1, 0, 1]


def test_what_is_written_is_read_again(city: Path) -> None:
    lines = list(map(EventLines("events", numbers=True).write, events(city)))
    assert json.loads(lines[0])["time"] == 0
    read = list(EventLines("events").read(lines))
    written = list(events(city))
    assert [(e.time, e.stream, len(e.triples)) for e in read] == [
        (e.time, e.stream, len(e.triples)) for e in written
    ]
    assert set(read[0].triples) == set(written[0].triples)


def test_a_sensor_that_the_repository_does_not_know_is_named(city: Path) -> None:
    with pytest.raises(SimulationError, match=r"AarhusTrafficData9> observes no .*AvgSpeed"):
        Sensors.read(city).property(SERVICE + "AarhusTrafficData9", "AvgSpeed")  # type: ignore[arg-type]


def test_a_folder_without_the_data_set_is_refused(folder: Path) -> None:
    with pytest.raises(SimulationError, match=r"SensorRepository.n3.gz: cannot be read"):
        next(events(folder))
