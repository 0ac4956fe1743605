"""The example applications of the EP-SPARQL paper (section 6, test 3).

Run it with ``python -m benchmarks.applications``. Tsunami detection: readings a second of CPU time,
and the rows that are kept. As in the paper, readings are triples already, no XML. The averages are
renewed every minute, as in the example; in the paper every hour.
Goods delivery: the milliseconds that agents take to visit places of a
city where half of the roads are closed, each way asked for after news of four roads, beside
figure 3 (a) of the paper.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from itertools import islice
from statistics import median
from typing import Final

from sensorstream.cli.simulation.application_streams import EVERY, level, roads
from sensorstream.installation import bundled
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.xsd import XSD
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

EXAMPLES: Final = bundled("ontologies").parent / "examples"
TURNS: Final = 3
SECOND: Final = 1_000_000
READINGS: Final = 10_000
BUOYS: Final = (1, 10)
ETALIS_READINGS: Final = 37_000
"""Readings a second in the paper."""
SIDE: Final = 8
AGENTS: Final = (1, 10)
PLACES: Final = (5, 10, 15, 20)
ETALIS_MILLISECONDS: Final = {1: (3, 94, 109, 130), 10: (31, 889, 1076, 1295)}
_SEA: Final = "http://example.org/tsunami#"
_CITY: Final = "http://example.org/delivery#"


def readings(buoys: int) -> Iterator[StreamEvent]:
    """Every fifteen seconds one of each buoy."""
    dice, number = random.Random(1), 0
    by, height = IRI(f"{_SEA}by"), IRI(f"{_SEA}height")
    while True:
        for buoy in range(buoys):
            value = f"{level(buoy, buoys, number * EVERY) + dice.gauss(0, 1):.1f}"
            subject = IRI(f"{_SEA}reading-{buoy}-{number}")
            said = (
                (subject, by, IRI(f"{_SEA}buoy-{buoy}")),
                (subject, height, Literal(value, f"{XSD}decimal")),
            )
            yield StreamEvent(number * EVERY.seconds * SECOND, said)
        number += 1


def tsunami(buoys: int) -> tuple[float, int, int]:
    """Readings a second once the windows are full, rows that are kept, and alarms."""
    found: list[Report] = []
    text = (EXAMPLES / "tsunami" / "tsunami.rq").read_text("utf-8")
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=SECOND)
    machine.register("tsunami", text, parse_query(text), found.append)
    events = list(islice(readings(buoys), buoys * 800 + READINGS))
    for event in events[: buoys * 800]:
        machine.push(event)
    gc.collect()
    begun = time.process_time()
    for event in events[buoys * 800 :]:
        machine.push(event)
    spent = time.process_time() - begun
    kept = sum(node.size() for node in machine.network.nodes())
    return READINGS / spent, kept, sum(len(each.rows) for each in found)


def delivery(agents: int, places: int) -> tuple[float, int]:
    """Milliseconds for all agents to visit so many places each, and answers."""
    dice = random.Random(1)
    city = list(roads(SIDE))
    entry, ends = IRI(f"{_CITY}entry"), IRI(f"{_CITY}ends")
    closed = IRI(f"{_CITY}nowhere")
    index = TripleIndex()
    state: dict[str, Triple] = {}
    for name, _, end in city:
        road = IRI(f"{_CITY}{name}")
        index.add((road, ends, IRI(f"{_CITY}{end}")))

    def change(road: tuple[str, str, str]) -> None:
        name, start, _ = road
        place = IRI(f"{_CITY}{start}") if dice.random() < 0.5 else closed
        said = (IRI(f"{_CITY}{name}"), entry, place)
        if said == state.get(name):
            return
        if name in state:
            index.discard(state[name])
        state[name] = said
        index.add(said)

    for each in city:
        change(each)
    text = (EXAMPLES / "delivery" / "next-place.rq").read_text("utf-8")
    found: list[Report] = []
    machine = StreamProcessor(index, instant=lambda literal: 0, second=SECOND)
    machine.register("next", text, parse_query(text), found.append)
    named = [f"p{row}-{column}" for row in range(SIDE) for column in range(SIDE)]
    gc.collect()
    begun = time.process_time()
    for number in range(places * agents):
        for each in dice.sample(city, 4):
            change(each)
        agent = IRI(f"{_CITY}agent{number % agents}")
        at, to = (IRI(f"{_CITY}{dice.choice(named)}") for _ in range(2))
        said = ((agent, IRI(f"{_CITY}at"), at), (agent, IRI(f"{_CITY}headsFor"), to))
        machine.push(StreamEvent(number * 10 * SECOND, said))
    machine.finish()
    spent = time.process_time() - begun
    return spent * 1000, sum(len(each.rows) for each in found)


def main() -> None:
    print(f"{'':34} {'readings/s':>10} {'x ETALIS':>9} {'kept':>8} {'found':>7}")
    for buoys in BUOYS:
        runs = [tsunami(buoys) for _ in range(TURNS)]
        speed = median(each for each, _, _ in runs)
        _, kept, alarms = runs[0]
        name = f"tsunami detection, {buoys} buoys"
        print(f"{name:34} {speed:10.0f} {speed / ETALIS_READINGS:9.2f} {kept:8} {alarms:7}")
    print(f"\n{'':34} {'ms':>10} {'of ETALIS':>9} {'answers':>8}")
    for agents in AGENTS:
        for places, published in zip(PLACES, ETALIS_MILLISECONDS[agents], strict=True):
            took = [delivery(agents, places) for _ in range(TURNS)]
            spent = median(each for each, _ in took)
            name = f"{agents} agents visit {places} places each"
            print(f"{name:34} {spent:10.1f} {spent / published:9.2f} {took[0][1]:8}")


if __name__ == "__main__":
    main()
