"""The units of work: each measures some systems together, and checks that they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import process_time
from typing import Any, Final

import psutil

from benchmarks.city.systems import RANGE, Asked, Network, System
from benchmarks.city.world import (
    background,
    continuous,
    graphs,
    of_another_road,
    of_one_road,
    of_other_roads,
)
from benchmarks.measure import Disagreement
from sensorstream.app.life.process_memory import spare_what_stays

RATES: Final = (1, 10, 100, 1000)
NAMES: Final = ("Q1", "Q2")
OURS: Final = "network"
SECONDLY: Final = "asked every second"
ALWAYS: Final = "asked at every graph"
NUMBERS: Final = (1, 10, 100, 1000)
LENGTHS: Final = (1, 10, 100, 1000)
MEMORY: Final = 1_000_000
SAMPLES: Final = 50

_GRAPHS: Final = {1: 300, 10: 600, 100: 1000, 1000: 1000}
_ASKED: Final = {1: 60, 10: 100, 100: 200, 1000: 1000}
_ALWAYS: Final = {1: 60, 10: 100, 100: 20, 1000: 1}
"""How many graphs are measured. At 1000 a second each answer has nine million rows."""
_SCALED: Final = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """Mean CPU milliseconds of a graph, and new (or, of who is asked anew, all) rows a graph."""

    unit: str
    system: str
    at: int
    milliseconds: float
    rows: float
    graphs: int


Unit = Callable[[], list[Measured]]


def units() -> dict[str, Unit]:
    """All units by name; nothing runs before it is called."""
    found: dict[str, Unit] = {
        f"{name}-{rate}": partial(compared, name, rate) for name in NAMES for rate in RATES
    }
    found["other-queries"] = partial(scaled, "other-queries", partial(of_other_roads, "Q1"))
    found["half-equal-queries"] = partial(
        scaled, "half-equal-queries", partial(of_another_road, "Q1")
    )
    found["equal-queries"] = partial(scaled, "equal-queries", lambda _: continuous("Q1"))
    found["window-rows"] = partial(lengthened, "window-rows", average=False)
    found["window-average"] = partial(lengthened, "window-average", average=True)
    found["memory"] = memory
    return found


def measured(name: str) -> list[Measured]:
    """Run a unit."""
    return units()[name]()


def compared(name: str, rate: int) -> list[Measured]:
    """One query at one rate on every system."""
    triples = background()
    systems: list[tuple[str, System, int]] = [
        (OURS, Network(triples, [continuous(name)]), _GRAPHS[rate]),
        (SECONDLY, Asked(triples, name, every=rate), _ASKED[rate]),
        (ALWAYS, Asked(triples, name, every=1), _ALWAYS[rate]),
    ]
    spare_what_stays()
    filling = RANGE * rate
    found, results = [], set()
    for title, system, count in systems:
        events = list(islice(graphs(rate), filling + count))
        before, measured = system.prepared(events[:filling]), system.prepared(events[filling:])
        if isinstance(system, Asked):
            system.fill(before)
        else:
            system.push(before)
        results.add(system.result())
        found.append(_measure(name, title, rate, system, measured))
    if len(results) != 1:
        raise Disagreement(f"{name} at {rate} graphs/s: results of {sorted(results)} rows")
    return found


def _measure(unit: str, title: str, at: int, system: System, events: Sequence[Any]) -> Measured:
    rows = system.rows
    begun = process_time()
    system.push(events)
    milliseconds = 1000 * (process_time() - begun) / len(events)
    return Measured(unit, title, at, milliseconds, (system.rows - rows) / len(events), len(events))


def scaled(unit: str, other: Callable[[int], str]) -> list[Measured]:
    """Q1 at 10 graphs/s with more and more other queries beside it."""
    triples = background()
    found = []
    for number in NUMBERS:
        texts = [continuous("Q1"), *map(other, range(number - 1))]
        found.append(_alone(unit, number, Network(triples, texts), 10, RANGE))
    return found


def lengthened(unit: str, *, average: bool) -> list[Measured]:
    """A query over longer and longer windows, 10 graphs/s, whose change stays as it is."""
    triples = background()
    found = []
    for seconds in LENGTHS:
        system = Network(triples, [of_one_road(seconds, average=average)])
        found.append(_alone(unit, seconds, system, 10, seconds))
    return found


def _alone(unit: str, at: int, system: Network, rate: int, seconds: int) -> Measured:
    spare_what_stays()
    filling = seconds * rate + rate
    events = list(islice(graphs(rate), filling + _SCALED))
    system.push(events[:filling])
    return _measure(unit, OURS, at, system, events[filling:])


def memory(count: int = MEMORY) -> list[Measured]:
    """Q1 and Q2 together over many events, 100 a second: resident megabytes as ``rows``."""
    system = Network(background(), [continuous("Q1"), continuous("Q2")])
    spare_what_stays()
    process = psutil.Process()
    stream = graphs(100)
    every = max(1, count // SAMPLES)
    found = []
    for number in range(every, count + 1, every):
        begun = process_time()
        system.push(islice(stream, every))
        milliseconds = 1000 * (process_time() - begun) / every
        resident = process.memory_info().rss / 1e6
        found.append(Measured("memory", OURS, number, milliseconds, resident, every))
        print(f"{number:>9} events {resident:8.1f} MB resident", flush=True)
    return found
