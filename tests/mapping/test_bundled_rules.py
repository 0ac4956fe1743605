"""The rules that come with the project, on their ontologies and the messages they are for."""

from __future__ import annotations

from functools import cache

import pytest

from sensorstream.cli.simulation.city_messages import city_messages
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE
from sensorstream.installation import bundled
from sensorstream.language import parse
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping import MappedMessage, check, compile_mapping, parse_document
from sensorstream.mapping.mapped_values import encode_segment
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.reasoning.ontology import load_ontology
from sensorstream.rules.rule_compiler import compile_rules

TRACKING = "http://sensorstream.example/tracking#"
CITY = "http://sensorstream.example/city#"
LINES = {"tracking": Timeline.INTEGER, "city": Timeline.DATETIME}


@cache
def rules(name: str) -> RuleFile:
    return parse((bundled("mapping_rules") / f"{name}.rules").read_text("utf-8"), name)


@cache
def schema(name: str) -> Schema:
    return load_ontology([bundled("ontologies") / f"{name}.ttl"]).schema


def apply(name: str, content: bytes) -> MappedMessage:
    plan = compile_mapping([rules(name)], schema(name), LINES[name])
    return plan.apply(parse_document(content, max_depth=16), Message("m1", content, received=0))


def described(mapped: MappedMessage, subject: str) -> dict[str, Term]:
    """Property (or "a") by local name of what one individual is said to be."""
    (event,) = mapped.events
    return {
        "a" if p == rdf.TYPE else p.rpartition("#")[2].rpartition("/")[2]: o
        for s, p, o in event.triples
        if s == subject
    }


@pytest.mark.parametrize("name", ["tracking", "city"])
def test_they_suit_their_ontology(name: str) -> None:
    assert check([rules(name)], schema(name)) == []
    compiled = compile_rules([rules(name)], schema(name), LINES[name])
    assert [rule.name for rule in compiled] == [rule.name for rule in rules(name).semantic_rules]
    assert compiled


def test_the_papers_message_becomes_a_human() -> None:
    mapped = apply("tracking", PAPER_MESSAGE)
    human = IRI(f"{TRACKING}human-2678")
    assert mapped.individuals == (human,)
    assert mapped.events[0].time == 2678
    assert described(mapped, human) == {
        "a": IRI(f"{TRACKING}Human"),
        "hasTime": Literal("2678", xsd.INTEGER),
        "hasXLocation": Literal("72", xsd.INTEGER),
        "hasYLocation": Literal("8", xsd.INTEGER),
        "hasCertainty": Literal("100", xsd.INTEGER),
        "hasName": Literal("2678"),
    }


def observation(kind: str, id: str, fields: str) -> bytes:
    return (
        f'<Observation xmlns="http://sensorstream.example/city/message" kind="{kind}" '
        f'sensor="182955" id="{id}" time="2014-08-01T08:00:00">{fields}</Observation>'
    ).encode()


def test_a_traffic_message_becomes_an_observation_of_a_sensor() -> None:
    fields = (
        '<vehicleCount>11</vehicleCount><avgSpeed unit="km/h">54</avgSpeed>'
        '<avgMeasuredTime unit="s">34</avgMeasuredTime>'
    )
    mapped = apply("city", observation("traffic", "20746942", fields))
    seen, sensor = IRI(f"{CITY}observation-20746942"), IRI(f"{CITY}sensor-182955")
    assert mapped.individuals == (seen, sensor)
    assert described(mapped, seen) == {
        "a": IRI(f"{CITY}TrafficObservation"),
        "madeBySensor": sensor,
        "resultTime": Literal("2014-08-01T08:00:00", xsd.DATE_TIME),
        "vehicleCount": Literal("11", xsd.INTEGER),
        "averageSpeed": Literal("54", xsd.DOUBLE),
        "travelTime": Literal("34", xsd.INTEGER),
    }
    assert described(mapped, sensor) == {"a": IRI(f"{CITY}TrafficSensor")}


def test_an_empty_field_says_nothing() -> None:
    fields = "<hum>56</hum><tempm/><wspdm>7.4</wspdm>"
    id = "w-0-2014-08-01T00:00:00"
    mapped = apply("city", observation("weather", id, fields))
    seen = described(mapped, f"{CITY}observation-{encode_segment(id)}")
    assert seen["a"] == IRI(f"{CITY}WeatherObservation")
    assert seen["humidity"] == Literal("56", xsd.DOUBLE)
    assert seen["windSpeed"] == Literal("7.4", xsd.DOUBLE)
    assert "temperature" not in seen


def test_a_pollution_message_updates_where_its_sensor_stands() -> None:
    fields = '<ozone>28</ozone><carbon_monoxide/><location longitude="10.1" latitude="56.2"/>'
    mapped = apply("city", observation("pollution", "p-1", fields))
    sensor = IRI(f"{CITY}air-182955")
    assert described(mapped, f"{CITY}observation-p-1")["ozone"] == Literal("28", xsd.INTEGER)
    assert described(mapped, sensor) == {
        "a": IRI(f"{CITY}PollutionSensor"),
        "longitude": Literal("10.1", xsd.DOUBLE),
        "latitude": Literal("56.2", xsd.DOUBLE),
    }
    assert mapped.events[0].replaces == {
        (sensor, IRI(f"{CITY}longitude")),
        (sensor, IRI(f"{CITY}latitude")),
    }


def test_every_simulated_message_is_understood() -> None:
    plan = compile_mapping([rules("city")], schema("city"), Timeline.DATETIME)
    matched: set[str] = set()
    for number, content in enumerate(city_messages(count=60)):
        document = parse_document(content, max_depth=16)
        mapped = plan.apply(document, Message(f"m{number}", content, received=0))
        assert len(mapped.individuals) == 2
        matched.update(mapped.matched)
    assert matched == {"traffic", "weather", "pollution"}
