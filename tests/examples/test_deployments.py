"""The three deployments under examples/: their stories, and their triples by other means."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
from click.testing import CliRunner, Result

from sensorstream.cli import main
from sensorstream.installation import bundled

EXAMPLES = bundled("ontologies").parent / "examples"
DEPLOYMENTS = ("transit", "warnings", "observations")
GEO = "http://www.opengis.net/ont/geosparql#"
SOSA = "http://www.w3.org/ns/sosa/"
SIRI = "{http://www.siri.org.uk/siri}"
CAP = "{urn:oasis:names:tc:emergency:cap:1.2}"
PREFIXES = f"""
@prefix geo: <{GEO}> . @prefix sosa: <{SOSA}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def run(name: str, command: str, *more: str) -> Result:
    config = str(EXAMPLES / name / "sensorstream.toml")
    return CliRunner().invoke(main, [command, "-c", config, *more])


def messages(name: str) -> list[Path]:
    return sorted((EXAMPLES / name / "messages").glob("*.xml"))


def triples(message: Path) -> ox.Dataset:
    result = run(message.parents[1].name, "map", "--json", str(message))
    (answer,) = json.loads(result.stdout)
    return graph(answer["turtle"])


def graph(turtle: str) -> ox.Dataset:
    found = ox.Dataset(ox.parse(turtle, format=ox.RdfFormat.TURTLE))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def values(found: ox.Dataset, predicate: str) -> set[tuple[str, str]]:
    """Subject and value of each statement with a property."""
    told = set()
    for quad in found.quads_for_predicate(ox.NamedNode(predicate)):
        assert isinstance(quad.object, ox.NamedNode | ox.Literal)
        told.add((str(quad.subject).strip("<>"), quad.object.value))
    return told


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_the_check_finds_nothing(name: str) -> None:
    result = run(name, "check")
    assert result.exit_code == 0, result.output
    notes = [line for line in result.stdout.splitlines() if "note:" in line]
    # A step to a parent, and from there to another child, is one for each child at worst.
    assert all("takes up to n^" in each for each in notes)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_all_stories_come_true(name: str) -> None:
    result = run(name, "test")
    assert result.exit_code == 0, result.output
    assert "0 passed" not in result.output


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_run_tells_what_each_message_raises(name: str) -> None:
    result = run(name, "run", "--messages", str(EXAMPLES / name / "messages"))
    assert not result.exception or isinstance(result.exception, SystemExit), result.output
    told = [line for line in result.output.splitlines() if line.startswith(str(EXAMPLES))]
    assert [line.split(":")[0] for line in told] == [str(each) for each in messages(name)]
    assert "alert" in result.output


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_every_file_is_told_of(name: str) -> None:
    folder = EXAMPLES / name
    told = (folder / "README.md").read_text("utf-8")
    for each in folder.iterdir():
        shown = f"`{each.name}/`" if each.is_dir() else f"`{each.name}`"
        assert shown in told or each.name == "README.md"


@pytest.mark.parametrize(
    ("message", "turtle"),
    [
        (
            "transit/messages/2-delivery.xml",
            """@prefix : <http://example.org/transit#> .
            <http://example.org/transit#vehicle-BUS%20102> a :Vehicle ; :onLine :line-5A ;
              :onJourney <http://example.org/transit#journey-2024-03-04-5A%2F0722> ;
              :direction "outbound" ; :producer "AARHUS-AVL" ;
              :position "POINT(10.2031 56.1618)"^^geo:wktLiteral ;
              :delay "-PT1M5S"^^xsd:dayTimeDuration ; :delaySeconds "-65"^^xsd:decimal ;
              :occupancy "unknown" ; :inCongestion false ; :atStop false ;
              :validUntil "2024-03-04T06:35:50Z"^^xsd:dateTime ; :nextStop :stop-751400200 .
            :line-5A a :Line ; :name "Linje 5A" .
            <http://example.org/transit#journey-2024-03-04-5A%2F0722> a :Journey ;
              :onLine :line-5A .
            :stop-751400200 a :Stop .""",
        ),
        (
            "warnings/messages/2-update.xml",
            """@prefix : <http://example.org/warnings#> .
            :warning-2.49.0.1.208.0.2024.10.20.2 a :Warning ; :sender "warnings@met.example" ;
              :sent "2024-10-20T15:30:00Z"^^xsd:dateTime ;
              :danger :danger-2.49.0.1.208.0.2024.10.20.2 ;
              :replaces :warning-2.49.0.1.208.0.2024.10.20.1,
                :warning-2.49.0.1.208.0.2024.10.19.9 .
            :danger-2.49.0.1.208.0.2024.10.20.2 a :Danger ; :category "Met", "Safety" ;
              :urgency "Immediate" ; :severity "Extreme" ; :certainty "Observed" ;
              :event "Storm"@en-gb ; :headline "Storm at the west coast"@en-gb ;
              :expires "2024-10-21T04:00:00Z"^^xsd:dateTime ; :area :area-DK004 .
            :area-DK004 a :Area ; :emmaId "DK004" ; :description "West coast of Jutland"@en-gb .""",
        ),
        (
            "observations/messages/2-insert.xml",
            """@prefix : <http://example.org/water#> .
            <http://example.org/observation/1004> a sosa:Observation, :Measurement ;
              sosa:madeBySensor <http://example.org/sensor/gauge-7> ;
              sosa:observedProperty <http://example.org/property/water%20level> ;
              sosa:hasFeatureOfInterest <http://example.org/site/bridge> ;
              sosa:resultTime "2024-01-05T10:20:00.5Z"^^xsd:dateTime ;
              :offering <http://example.org/offering/river> ; :value 4.68 ; :unit "m" .
            <http://example.org/observation/1005> a sosa:Observation, :Category ;
              sosa:madeBySensor <http://example.org/sensor/camera-1> ;
              sosa:observedProperty <http://example.org/property/ice> ;
              sosa:hasFeatureOfInterest <http://example.org/site/reach> ;
              sosa:resultTime "2024-01-05T10:21:00Z"^^xsd:dateTime ;
              :offering <http://example.org/offering/river> ;
              :category <http://example.org/ice/thin> .
            <http://example.org/site/reach> a sosa:FeatureOfInterest, geo:Feature ;
              :name "Reach above the weir" ;
              geo:hasGeometry [ a geo:Geometry ;
                geo:asWKT "LINESTRING(10.03 56.46, 10.02 56.47, 10 56.475)"^^geo:wktLiteral ] .""",
        ),
    ],
)
def test_a_message_becomes_exactly_these_statements(message: str, turtle: str) -> None:
    assert triples(EXAMPLES / message) == graph(PREFIXES + turtle)


def test_every_vehicle_with_a_time_has_its_delay_and_its_place() -> None:
    """Computed from the XML by walking it."""
    ns = "http://example.org/transit#"
    for message in messages("transit"):
        delays, places = set(), set()
        for activity in ElementTree.parse(message).iter(f"{SIRI}VehicleActivity"):
            if "T" not in activity.findtext(f"{SIRI}RecordedAtTime", ""):
                continue
            journey = activity.find(f"{SIRI}MonitoredVehicleJourney")
            assert journey is not None
            bus = f"{ns}vehicle-{journey.findtext(f'{SIRI}VehicleRef', '').replace(' ', '%20')}"
            delay = journey.findtext(f"{SIRI}Delay", "PT0S")
            seconds = 0
            for unit, factor in (("H", 3600), ("M", 60), ("S", 1)):
                number = "".join(c if c.isdigit() else " " for c in delay.partition(unit)[0])
                seconds += int(number.split()[-1]) * factor if unit in delay else 0
            delays.add((bus, str(-seconds if delay.startswith("-") else seconds)))
            at = journey.find(f"{SIRI}VehicleLocation")
            x = float(at.findtext(f"{SIRI}Longitude", "0")) if at is not None else 0
            y = float(at.findtext(f"{SIRI}Latitude", "0")) if at is not None else 0
            if x or y:
                places.add((bus, f"POINT({x} {y})"))
        found = triples(message)
        assert values(found, f"{ns}delaySeconds") == delays
        assert values(found, f"{ns}position") == places


def test_every_headline_has_the_language_of_its_block() -> None:
    ns = "http://example.org/warnings#"
    for message in messages("warnings"):
        root = ElementTree.parse(message).getroot()
        expected = {
            (info.findtext(f"{CAP}headline", ""), info.findtext(f"{CAP}language", "en-US").lower())
            for info in root.iter(f"{CAP}info")
            if root.findtext(f"{CAP}status") == "Actual"
        }
        quads = triples(message).quads_for_predicate(ox.NamedNode(f"{ns}headline"))
        found = {quad.object for quad in quads}
        assert found == {ox.Literal(text, language=language) for text, language in expected}


def test_the_corners_of_a_circle_lie_on_it() -> None:
    ns = "http://example.org/warnings#"
    (circle,) = (
        wkt
        for area, wkt in values(triples(messages("warnings")[0]), f"{ns}shape")
        if area == f"{ns}place-Horns%20Rev"
    )
    for corner in circle.removeprefix("POLYGON((").removesuffix("))").split(", "):
        x, y = map(float, corner.split())
        # Distances on a small part of the earth are nearly those of a plane.
        east = (x - 7.9) * math.cos(math.radians(55.53)) * 111.195
        north = (y - 55.53) * 111.195
        assert math.isclose(math.hypot(east, north), 20, rel_tol=0.01)


def test_a_sensor_without_a_name_stops_only_its_own_observation() -> None:
    result = run("observations", "map", str(messages("observations")[0]))
    assert result.exit_code == 1
    assert "message 3 of 3, at line 48" in result.stderr
    assert "'Pegel 9' is not an absolute IRI" in result.stderr
    found = values(triples(messages("observations")[0]), f"{SOSA}madeBySensor")
    assert found == {
        ("http://example.org/observation/1001", "http://example.org/sensor/gauge-7"),
        ("http://example.org/observation/1002", "urn:example:sensor:rain-2"),
    }
