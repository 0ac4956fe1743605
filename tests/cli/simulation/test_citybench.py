from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sensorstream.cli.simulation.city_messages import beside_the_source, read_time, recorded
from sensorstream.errors import SimulationError
from tests.recordings import needs_recordings

TRAFFIC = (
    "status,avgMeasuredTime,avgSpeed,extID,medianMeasuredTime,TIMESTAMP,vehicleCount,_id,REPORT_ID"
)
WEATHER = "hum,tempm,wspdm,TIMESTAMP"
POLLUTION = (
    "ozone,particullate_matter,carbon_monoxide,sulfure_dioxide,nitrogen_dioxide,"
    "longitude,latitude,timestamp"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "TrafficData1", TRAFFIC, "OK,3,41,9,3,2000-01-01T08:00:00,6,77,1")
    write(tmp_path, "WeatherData0", WEATHER, "61,,2.5,2000-01-01T07:50:00")
    write(tmp_path, "PollutionData1", POLLUTION, "1,2,3,4,5,10.5,56.5,2000-01-01 08:10:00")
    write(tmp_path, "ParkingDataX", "vehiclecount,updatetime", "1,2")
    return tmp_path


def write(folder: Path, name: str, *lines: str) -> Path:
    file = folder / "streams" / f"Aarhus{name}.csv.gz"
    file.parent.mkdir(exist_ok=True)
    # The published files end their lines as Windows does.
    file.write_bytes(gzip.compress("\r\n".join((*lines, "")).encode()))
    return file


def test_the_three_kinds_are_read_and_merged_in_time_order(folder: Path) -> None:
    weather, traffic, pollution = recorded(folder)
    assert (weather.kind, weather.id) == ("weather", "w-0-2000-01-01T07:50:00")
    assert weather.fields == (("hum", "61"), ("tempm", ""), ("wspdm", "2.5"))
    assert (traffic.kind, traffic.sensor, traffic.id) == ("traffic", "1", "77")
    assert traffic.fields == (("vehicleCount", "6"), ("avgSpeed", "41"), ("avgMeasuredTime", "3"))
    assert pollution.place == ("10.5", "56.5")
    assert pollution.id == "p-1-2000-01-01T08:10:00"
    assert b'time="2000-01-01T08:10:00"' in pollution.xml()


def test_a_stretch_includes_its_start_and_leaves_out_its_end(folder: Path) -> None:
    start, end = (read_time("2000-01-01T08:00"), read_time("2000-01-01T08:10"))
    assert [each.kind for each in recorded(folder, start, end)] == ["traffic"]


def test_a_folder_without_streams_is_an_error_that_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"no city streams in .*expected streams/Aarhus"):
        list(recorded(tmp_path))


def test_a_broken_row_is_named_by_file_and_line(folder: Path) -> None:
    file = write(folder, "WeatherData1", WEATHER, "1,2,3,2000-01-01T08:00:00", "1,2,3,yesterday")
    with pytest.raises(SimulationError, match=rf"{file}:3: not a row of weather data"):
        list(recorded(folder))


@needs_recordings
def test_the_published_streams_are_read_whole() -> None:
    folder = beside_the_source()
    assert folder is not None
    observations = list(recorded(folder))
    counts = {
        kind: sum(each.kind == kind for each in observations)
        for kind in ("traffic", "weather", "pollution")
    }
    assert counts["traffic"] > 70_000
    assert counts["weather"] > 2_000
    assert counts["pollution"] > 50_000
