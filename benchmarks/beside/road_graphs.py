"""CityBench's Q1 and Q2 over graphs of 15 triples: the network beside Oxigraph asked every second.

A window of three seconds moves with every graph; 100,000 triples of background knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import pyoxigraph as ox

from benchmarks.beside.turns import Pair, agree, timed
from benchmarks.city.systems import RANGE, Asked, Network
from benchmarks.city.world import background, continuous, graphs


@contextmanager
def beside_oxigraph(name: str, rate: int, triples: int, size: int) -> Iterator[Pair]:
    """A query at so many graphs a second; ``size`` seconds of them a turn."""
    known = background(triples)
    ours, theirs = Network(known, [continuous(name)]), Asked(known, name, every=rate)
    stream = graphs(rate)
    filling = list(islice(stream, RANGE * rate))
    ours.push(filling)
    theirs.fill(theirs.prepared(filling))
    agree("rows", ours.result(), theirs.result())
    waiting: list[list[tuple[int, list[ox.Quad]]]] = []

    def mine() -> float:
        events = list(islice(stream, size * rate))
        waiting.append(theirs.prepared(events))
        return timed(lambda: ours.push(events), len(events))()

    def other() -> float:
        events = waiting.pop()
        return timed(lambda: theirs.push(events), len(events))()

    yield Pair(mine, other)
    agree("rows", ours.result(), theirs.result())
