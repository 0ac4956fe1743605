"""SensorThings by its definition: plain objects, walked one by one; and how both are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

import pyoxigraph as ox

from sensorstream.history.asking.query_answer import Row
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.server.sensorthings.entity_answers import EntityAnswers, read_path
from sensorstream.server.sensorthings.query_options import read_options

Ask = Callable[[str], list[Row]]
HOST = "http://host/v1.1"
E = "http://example.org/"
PREFIXES = f"""
@prefix : <{E}> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix time: <http://www.w3.org/2006/time#> .
@prefix wgs: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


@dataclass
class Thing:
    """An entity of any set: its properties, and by the name of a link those that it leads to."""

    id: str
    told: dict[str, Any]
    links: dict[str, list[Thing]] = field(default_factory=dict)

    def value(self, path: str) -> Any:
        """The value at the end of links that each lead to one entity; None if it is missing."""
        first, _, rest = path.partition("/")
        if first in self.links:
            return self.links[first][0].value(rest) if self.links[first] else None
        return self.id if path == "id" else self.told[path]


@dataclass(frozen=True)
class Observed:
    """An observation; numbers are of platforms, sensors and properties."""

    sensor: int
    found: int
    result: int | float | str | None
    day: int


@dataclass(frozen=True)
class World:
    """SOSA data: the host of each sensor, the unit of each property, observations."""

    hosts: tuple[int | None, ...]
    units: tuple[str | None, ...]
    labels: tuple[str | None, ...]
    observed: tuple[Observed, ...]

    def turtle(self) -> str:
        """The data as they are said."""
        lines = [PREFIXES]
        for n, host in enumerate(self.hosts):
            lines.append(f":s{n} a sosa:Sensor . ")
            if host is not None:
                lines.append(f":t{host} a sosa:Platform ; sosa:hosts :s{n} .")
        for n, label in enumerate(self.labels):
            if label is not None:
                lines.append(f":s{n} rdfs:label {ox.Literal(label)} .")
        for n, unit in enumerate(self.units):
            lines.append(f":p{n} a sosa:ObservableProperty .")
            if unit is not None:
                lines.append(f":p{n} qudt:hasUnit :{unit} . :{unit} qudt:symbol '{unit}' .")
        for n, each in enumerate(self.observed):
            lines.append(
                f":o{n:02} a sosa:Observation ; sosa:madeBySensor :s{each.sensor} ; "
                f"sosa:observedProperty :p{each.found} ; sosa:resultTime "
                f'"2024-01-{each.day:02}T10:00:00Z"^^xsd:dateTime .'
            )
            if each.result is not None:
                lines.append(f":o{n:02} sosa:hasSimpleResult {ox.Literal(each.result)} .")
        return "\n".join(lines)

    def things(self) -> dict[str, list[Thing]]:
        """The entities by the names of their sets, each by id."""

        def named(name: str, label: str | None = None) -> Thing:
            return Thing(f"{E}{name}", {"name": label or f"{E}{name}", "description": ""})

        hosts = {n: named(f"t{n}") for n in sorted({e for e in self.hosts if e is not None})}
        sensors = [named(f"s{n}", self.labels[n]) for n in range(len(self.hosts))]
        found = [named(f"p{n}") for n in range(len(self.units))]
        streams: dict[tuple[int, int], Thing] = {}
        observations = []
        for n, each in enumerate(self.observed):
            key = each.sensor, each.found
            if key not in streams:
                sensor, of = sensors[each.sensor], found[each.found]
                told: dict[str, Any] = {
                    "name": f"{of.told['name']} by {sensor.told['name']}",
                    "description": "",
                    "unitOfMeasurement/symbol": self.units[each.found],
                }
                host = self.hosts[each.sensor]
                links = {
                    "Sensor": [sensor],
                    "ObservedProperty": [of],
                    "Thing": [] if host is None else [hosts[host]],
                    "Observations": [],
                }
                streams[key] = stream = Thing(f"{sensor.id}|{of.id}", told, links)
                for other in (sensor, of, *links["Thing"]):
                    other.links.setdefault("Datastreams", []).append(stream)
            moment = f"2024-01-{each.day:02}T10:00:00Z"
            told = {"result": each.result, "resultTime": moment, "phenomenonTime": moment}
            one = Thing(f"{E}o{n:02}", told, {"Datastream": [streams[key]]})
            streams[key].links["Observations"].append(one)
            observations.append(one)
        return {
            "Things": list(hosts.values()),
            "Sensors": sensors,
            "ObservedProperties": found,
            "Datastreams": sorted(streams.values(), key=lambda each: each.id.split("|")),
            "Observations": observations,
        }


def asking(store: ox.Store) -> Ask:
    """A way to ask Oxigraph, as history is asked."""

    def ask(text: str) -> list[Row]:
        rows = store.query(text)
        assert isinstance(rows, ox.QuerySolutions)
        names = [each.value for each in rows.variables]
        return [
            tuple(None if row[n] is None else from_oxigraph(row[n]) for n in names) for row in rows
        ]

    return ask


def loaded(turtle: str) -> ox.Store:
    """A store of Oxigraph with the data."""
    store = ox.Store()
    store.load(turtle.encode(), format=ox.RdfFormat.TURTLE)
    return store


def get(ask: Ask, path: str, options: Sequence[tuple[str, str]] = (), most: int = 10_000) -> Any:
    """The answer to a GET, of a path and its options."""
    return EntityAnswers(ask, HOST, most).answer(read_path(path), read_options(options))


def follow(ask: Ask, url: str) -> Any:
    """The answer to a GET of a link."""
    path, _, query = url.removeprefix(f"{HOST}/").partition("?")
    return get(ask, unquote(path), parse_qsl(query))
