"""Patterns in time: tests 1 to 3 of the EP-SPARQL paper (section 6), events in runs of 256.

A thousand prices a second, of a hundred companies; members of one of 40,080 classes; the readings
of a buoy every fifteen seconds.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from typing import Final

from benchmarks import ROOT
from benchmarks.beside.turns import Pair, agree
from sensorstream.cli.simulation.application_streams import EVERY, level
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf, rdfs
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Triple
from sensorstream.model.xsd import XSD
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.recursion.triple_kinds import Conclusions
from sensorstream.reasoning.reasoner import SchemaClosure
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

RUN: Final = 256
"""Events that come at once, as ``sensorstream run`` reads a file."""
SECOND: Final = 1_000_000
COMPANIES: Final = 100
CLASSES: Final = 40_080
_TSUNAMI: Final = ROOT / "examples" / "tsunami" / "tsunami.rq"
_SEA: Final = "http://example.org/tsunami#"
_PREFIX: Final = f"PREFIX : <http://example.org/> PREFIX xsd: <{XSD}>\n"
_ETALIS: Final = "of SWI-Prolog Debian has a package, of ETALIS itself no registry"
_ESPER: Final = "its jar is in Maven's registry only"


def sequence(window: int) -> str:
    """Query (1) of the paper within a number of seconds."""
    return f"""{_PREFIX}SELECT ?company WHERE {{ {{ ?company :hasStockPrice ?price1 }}
        SEQ {{ ?company :hasStockPrice ?price2 }} SEQ {{ ?company :hasStockPrice ?price3 }}
        FILTER (?price2 < ?price1 * 0.7 && ?price3 > ?price1 * 1.05
        && getDURATION() < "PT{window}S"^^xsd:duration) }}"""


AVERAGES: Final = f"""{_PREFIX}SELECT ?company (AVG(?price) AS ?mean) (SUM(?price) AS ?all)
    (COUNT(?price) AS ?number) WHERE {{ ?company :hasStockPrice ?price }} GROUP BY ?company
    HAVING (getDURATION() < "PT1S"^^xsd:duration)"""
MEMBERS: Final = f"{_PREFIX}SELECT ?x {{ ?x a :c0 BIND(getENDTIME() AS ?t) }}"


def _named(name: object) -> IRI:
    return IRI(f"http://example.org/{name}")


def prices() -> Iterator[StreamEvent]:
    """Each company's price goes its random way, without end."""
    draw, price = random.Random(1), [100.0] * COMPANIES
    for number in count():
        company = draw.randrange(COMPANIES)
        price[company] *= 1 + draw.gauss(0, 0.01)
        value = Literal(f"{price[company]:.2f}", f"{XSD}decimal")
        said = ((_named(f"company{company}"), _named("hasStockPrice"), value),)
        yield StreamEvent(number * SECOND // 1000, said)


class _Standing:
    """A query that stands over a stream; what it takes the ``events`` come in turns."""

    def __init__(
        self, text: str, events: Iterator[StreamEvent], conclusions: Conclusions | None = None
    ) -> None:
        knowledge = Knowledge(
            TripleIndex(), lambda triple: True, conclusions or (lambda triple: ())
        )
        self.machine = StreamProcessor(
            TripleIndex(), instant=lambda literal: 0, second=SECOND, knowledge=knowledge
        )
        self.rows = 0
        self.machine.register("q", text, parse_query(text), self._count)
        self._events = events

    def _count(self, report: Report) -> None:
        self.rows += len(report.rows)

    def turn(self, size: int) -> float:
        """CPU seconds of each of the next events, which come in runs."""
        events = list(islice(self._events, size))
        begun = time.process_time()
        for number, event in enumerate(events, 1):
            self.machine.more = number % RUN != 0 and number < len(events)
            self.machine.push(event)
        return (time.process_time() - begun) / len(events)


def _alone(standing: _Standing, size: int, why: str) -> Pair:
    return Pair(lambda: standing.turn(size), absent=why)


@contextmanager
def sequences(size: int) -> Iterator[Pair]:
    """Query (1) within 10 s."""
    found = _Standing(sequence(10), prices())
    yield _alone(found, size, _ETALIS)


@contextmanager
def averages(size: int, *, esper: bool = False) -> Iterator[Pair]:
    """Count, sum and average of each company's prices of a second, beside a loop in Python."""
    standing, loop = _Standing(AVERAGES, prices()), _Loop(prices())
    if esper:
        yield _alone(standing, size, _ESPER)
        return
    yield Pair(lambda: standing.turn(size), lambda: loop.turn(size))
    # The last is reported when the next one begins.
    agree("rows", standing.rows + 1, loop.rows)


def _price(event: StreamEvent) -> float:
    (_, _, value) = event.triples[0]
    assert isinstance(value, Literal)
    return float(value.lexical)


class _Loop:
    """The same by hand: what a second holds, and sum and number of each company."""

    def __init__(self, events: Iterator[StreamEvent]) -> None:
        self._events = events
        self._held: deque[tuple[int, Subject, float]] = deque()
        self._sums: dict[Subject, list[float]] = {}
        self.rows = 0
        self.last: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def turn(self, size: int) -> float:
        """CPU seconds of each of the next events."""
        events = [
            (each.time, each.triples[0][0], _price(each)) for each in islice(self._events, size)
        ]
        begun = time.process_time()
        held, sums = self._held, self._sums
        for moment, company, price in events:
            held.append((moment, company, price))
            kept = sums.setdefault(company, [0.0, 0])
            kept[0] += price
            kept[1] += 1
            while held[0][0] <= moment - SECOND:
                _, other, old = held.popleft()
                left = sums[other]
                left[0] -= old
                left[1] -= 1
            self.last = kept[0] / kept[1], kept[0], kept[1]
            self.rows += 1
        return (time.process_time() - begun) / len(events)


@contextmanager
def members(size: int) -> Iterator[Pair]:
    """Members of one of 40,080 classes; each class has four subclasses, eight levels deep."""
    hierarchy: list[Triple] = [
        (_named(f"c{number}"), rdfs.SUBCLASS_OF, _named(f"c{(number - 1) // 4}"))
        for number in range(1, CLASSES + 1)
    ]
    draw = random.Random(1)
    events = (
        StreamEvent(
            number, ((_named(f"x{number}"), rdf.TYPE, _named(f"c{draw.randrange(CLASSES)}")),)
        )
        for number in count()
    )
    closure = SchemaClosure(Schema.of(hierarchy))
    found = _Standing(MEMBERS, events, closure.conclusions)
    yield _alone(found, size, _ETALIS)


def readings() -> Iterator[StreamEvent]:
    """Every fifteen seconds one of a buoy."""
    dice, number = random.Random(1), 0
    by, height = IRI(f"{_SEA}by"), IRI(f"{_SEA}height")
    while True:
        value = f"{level(0, 1, number * EVERY) + dice.gauss(0, 1):.1f}"
        subject = IRI(f"{_SEA}reading-0-{number}")
        said = (
            (subject, by, IRI(f"{_SEA}buoy-0")),
            (subject, height, Literal(value, f"{XSD}decimal")),
        )
        yield StreamEvent(number * EVERY.seconds * SECOND, said)
        number += 1


@contextmanager
def tsunami(size: int) -> Iterator[Pair]:
    """Readings once the windows are full, averages renewed every minute (ETALIS: every hour)."""
    found = _Standing(_TSUNAMI.read_text("utf-8"), readings())
    found.turn(800)
    yield _alone(found, size, _ETALIS)
