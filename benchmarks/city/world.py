"""What is measured: background knowledge, graphs of observations, and the queries over them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from benchmarks import ROOT
from examples.citybench.prepare import CITY, SAO, SERVICE, SSN
from sensorstream.model import rdf, xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.streams.event_lines import SECOND
from sensorstream.streams.processor import StreamEvent

EXAMPLES: Final = ROOT / "examples" / "citybench"
TRIPLES: Final = 100_000
GRAPH: Final = 15

_ROADS: Final = ("AarhusTrafficData182955", "AarhusTrafficData158505")
_STATION: Final = "AarhusWeatherData0"
_TRAFFIC: Final = ("CongestionLevel", "AvgSpeed", "VehicleCount", "MeasureTime", "EstimatedTime")
_WEATHER: Final = ("Temperature", "Humidity", "WindSpeed")


def background(least: int = TRIPLES) -> list[Triple]:
    """The benchmark's repository of sensors, made up: what each observes, and where."""
    found: list[Triple] = []
    for sensor, kinds in _sensors():
        if len(found) >= least:
            break
        name, place = IRI(f"{SERVICE}{sensor}"), IRI(f"{SERVICE}place-{sensor}")
        found.append((name, rdf.TYPE, IRI(f"{SSN}Sensor")))
        found.append((place, rdf.TYPE, IRI(f"{SSN}FeatureOfInterest")))
        for number, end in enumerate(("StartLatitude", "StartLongitude", "EndLatitude")):
            value = Literal(repr(10 * number + len(found) % 997 / 1000), xsd.DOUBLE)
            found.append((place, IRI(f"{CITY}has{end}"), value))
        for kind in kinds:
            observed = _property(sensor, kind)
            found.append((name, IRI(f"{SSN}observes"), observed))
            found.append((observed, rdf.TYPE, IRI(f"{CITY}{kind}")))
            found.append((observed, IRI(f"{SSN}isPropertyOf"), place))
    return found


def _sensors() -> Iterator[tuple[str, tuple[str, ...]]]:
    yield _STATION, _WEATHER
    for road in _ROADS:
        yield road, _TRAFFIC
    for number in count():
        yield f"AarhusTrafficData9{number:05}", _TRAFFIC


def _property(sensor: str, kind: str) -> IRI:
    return IRI(f"{SERVICE}{kind}-{sensor}")


def graphs(rate: int) -> Iterator[StreamEvent]:
    """Graphs without end: the congestion of both roads, and the weather or a speed.

    Each of the weather's three values comes once a second; at lower rates they take turns.
    """
    number = 0
    while True:
        turn = number % max(rate, len(_WEATHER))
        kinds = [(road, "CongestionLevel") for road in _ROADS]
        weather = turn < len(_WEATHER)
        kinds.append((_STATION, _WEATHER[turn]) if weather else (_ROADS[0], "AvgSpeed"))
        triples: list[Triple] = []
        for sensor, kind in kinds:
            triples += _observation(number, sensor, kind)
        yield StreamEvent(number * SECOND // rate, tuple(triples))
        number += 1


def _observation(number: int, sensor: str, kind: str) -> list[Triple]:
    subject = IRI(f"{SERVICE}{sensor}-{kind}-{number}")
    return [
        (subject, rdf.TYPE, IRI(f"{SSN}Observation")),
        (subject, IRI(f"{SSN}observedProperty"), _property(sensor, kind)),
        (subject, IRI(f"{SSN}observedBy"), IRI(f"{SERVICE}{sensor}")),
        (subject, IRI(f"{SAO}hasValue"), Literal(repr(number % 1009 / 10), xsd.DOUBLE)),
        (subject, IRI(f"{SSN}observationResultTime"), Literal(str(number), xsd.INTEGER)),
    ]


def continuous(name: str, seconds: int = 3) -> str:
    """An example's query over one stream, that gives what is new with every graph."""
    text = (EXAMPLES / f"{name}.rq").read_text(encoding="utf-8")
    for stream in (*_ROADS, _STATION):
        text = text.replace(f"ON ses:{stream} [RANGE PT3S STEP PT1S]", f"[RANGE PT{seconds}S]")
    return text.replace(f"REGISTER RSTREAM {name} AS", f"REGISTER ISTREAM {name} AS")


def plain(name: str, window: str) -> str:
    """The same query as SPARQL 1.1, the window being a named graph."""
    lines = continuous(name).splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("REGISTER", "FROM NAMED")))
    for local in ("road1", "road2", "road", "weather"):
        text = text.replace(f"WINDOW ses:{local} ", f"GRAPH <{window}> ")
    return text
