"""Triples a second that are read from JSON Lines whose graphs are N-Triples."""

from __future__ import annotations

import json
import random
import time
from typing import Final

from benchmarks.lubm.generator import department, materialised
from sensorstream.streams.event_lines import EventLines

EVENTS: Final = 3000
_EXAMPLE: Final = "http://example.org/"
_RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


def rates(count: int = EVENTS) -> dict[str, float]:
    """Triples a second of CPU time by what the graphs are."""
    found = {}
    for name, lines in (("observations", observations(count)), ("departments", departments(10))):
        begun = time.process_time()
        triples = sum(len(event.triples) for event in EventLines("events").read(lines))
        found[name] = triples / (time.process_time() - begun)
    return found


def observations(count: int, seed: int = 2678) -> list[str]:
    """Sensors' readings: nine triples about a new observation each, the sensors are few."""
    dice, lines = random.Random(seed), []
    for number in range(count):
        it = f"<{_EXAMPLE}observation/{number}>"
        sensor = f"<{_EXAMPLE}sensor/{dice.randrange(100)}>"
        value = f'"{dice.randrange(4000) / 100}"^^<{_XSD}double>'
        moment = f'"2014-08-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"'
        statements = (
            f"{it} <{_RDF_TYPE}> <{_EXAMPLE}Observation>",
            f"{it} <{_EXAMPLE}madeBy> {sensor}",
            f"{it} <{_EXAMPLE}property> <{_EXAMPLE}temperature>",
            f"{it} <{_EXAMPLE}result> {it[:-1]}/result>",
            f"{it} <{_EXAMPLE}time> {moment}^^<{_XSD}dateTime>",
            f"{it[:-1]}/result> <{_RDF_TYPE}> <{_EXAMPLE}Result>",
            f"{it[:-1]}/result> <{_EXAMPLE}value> {value}",
            f"{it[:-1]}/result> <{_EXAMPLE}unit> <{_EXAMPLE}celsius>",
            f"{sensor} <{_RDF_TYPE}> <{_EXAMPLE}Sensor>",
        )
        lines.append(_line(number, statements))
    return lines


def departments(count: int) -> list[str]:
    """Large graphs: a university's departments, materialised."""
    return [
        _line(number, [f"{s} {p} {o}" for s, p, o in materialised(department(number))])
        for number in range(count)
    ]


def _line(number: int, statements: object) -> str:
    assert isinstance(statements, list | tuple)
    return json.dumps({"time": number, "graph": "".join(f"{each} .\n" for each in statements)})


if __name__ == "__main__":
    for each, triples in rates().items():
        print(f"{each}: {triples:,.0f} triples/s")
