"""Patterns in time: ``python -m benchmarks.patterns``.

Tests 1 and 2 of the EP-SPARQL paper (section 6). Prints the events a second of CPU time, one by one
and in runs, as ``sensorstream run`` reads a file; the ratio of the latter to those of ETALIS, the
paper's engine, on a machine of our kind; and the rows that are kept.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from sensorstream.app.life.process_memory import spare_what_stays
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf, rdfs
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.xsd import XSD
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.recursion.triple_kinds import Conclusions
from sensorstream.reasoning.reasoner import SchemaClosure
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor

TURNS: Final = 3
EVENTS: Final = 20_000
RUN: Final = 256
"""Events that come at once in a run."""
SECOND: Final = 1_000_000
COMPANIES: Final = 100
CLASSES: Final = 40_080
WIDTH: Final = 4
"""Subclasses of each class: a hierarchy of eight levels, as in the paper."""
PREFIX: Final = f"PREFIX : <http://example.org/> PREFIX xsd: <{XSD}>\n"
# Events a second of ETALIS on SWI-Prolog, on two cores like ours.
ETALIS_SEQUENCE: Final = {1: 4800, 10: 1630, 100: 230}
# The best that the paper shows, of a sum over 5 prices.
ETALIS_SUM: Final = {1: 60_000, 10: 60_000}
ETALIS_MEMBERSHIP: Final = 57_000


def named(name: object) -> IRI:
    return IRI(f"http://example.org/{name}")


def sequence(window: int) -> str:
    """Query (1) of the paper within a number of seconds."""
    return f"""{PREFIX}SELECT ?company WHERE {{ {{ ?company :hasStockPrice ?price1 }}
        SEQ {{ ?company :hasStockPrice ?price2 }} SEQ {{ ?company :hasStockPrice ?price3 }}
        FILTER (?price2 < ?price1 * 0.7 && ?price3 > ?price1 * 1.05
        && getDURATION() < "PT{window}S"^^xsd:duration) }}"""


def average(window: int) -> str:
    """The average and the sum of each company's prices within a number of seconds."""
    return f"""{PREFIX}SELECT ?company (AVG(?price) AS ?mean) (SUM(?price) AS ?all)
        WHERE {{ ?company :hasStockPrice ?price }} GROUP BY ?company
        HAVING (getDURATION() < "PT{window}S"^^xsd:duration)"""


def prices() -> list[StreamEvent]:
    """A thousand prices a second; each company's goes its random way."""
    draw, price = random.Random(1), [100.0] * COMPANIES
    events = []
    for number in range(EVENTS):
        company = draw.randrange(COMPANIES)
        price[company] *= 1 + draw.gauss(0, 0.01)
        value = Literal(f"{price[company]:.2f}", f"{XSD}decimal")
        said = ((named(f"company{company}"), named("hasStockPrice"), value),)
        events.append(StreamEvent(number * SECOND // 1000, said))
    return events


def hierarchy() -> list[Triple]:
    """Each class but the first is a subclass of another one."""
    return [
        (named(f"c{number}"), rdfs.SUBCLASS_OF, named(f"c{(number - 1) // WIDTH}"))
        for number in range(1, CLASSES + 1)
    ]


def members() -> list[StreamEvent]:
    draw = random.Random(1)
    return [
        StreamEvent(
            number, ((named(f"x{number}"), rdf.TYPE, named(f"c{draw.randrange(CLASSES)}")),)
        )
        for number in range(EVENTS)
    ]


def nothing(_triple: Triple) -> Sequence[Triple]:
    return ()


def rate(
    text: str, events: Iterable[StreamEvent], conclusions: Conclusions, at_once: int = 1
) -> tuple[float, int]:
    """Events a second of CPU time, and the rows that are kept at the end."""
    knowledge = Knowledge(TripleIndex(), lambda triple: True, conclusions)
    machine = StreamProcessor(
        TripleIndex(), instant=lambda literal: 0, second=SECOND, knowledge=knowledge
    )
    machine.register("q", text, parse_query(text), lambda report: None)
    gc.collect()
    begun = time.process_time()
    for number, event in enumerate(events, 1):
        machine.more = number % at_once != 0
        machine.push(event)
    spent = time.process_time() - begun
    return EVENTS / spent, sum(node.size() for node in machine.network.nodes())


def main() -> None:
    closure = SchemaClosure(Schema.of(hierarchy()))
    # As `run` and `serve` do.
    spare_what_stays()
    print(f"{'':42} {'one by one':>10} {'in runs':>10} {'x ETALIS':>9} {'kept':>8}")
    said = prices()
    for window, published in ETALIS_SEQUENCE.items():
        show(f"query (1) within {window} s", sequence(window), said, nothing, published)
    for window, published in ETALIS_SUM.items():
        show(f"average and sum of {window} s", average(window), said, nothing, published)
    text = f"{PREFIX}SELECT ?x {{ ?x a :c0 BIND(getENDTIME() AS ?t) }}"
    name = f"members of one of {CLASSES} classes"
    show(name, text, members(), closure.conclusions, ETALIS_MEMBERSHIP)


def show(
    name: str,
    text: str,
    events: Sequence[StreamEvent],
    conclusions: Conclusions,
    published: int,
) -> None:
    single, runs = (
        median(rate(text, events, conclusions, at_once)[0] for _ in range(TURNS))
        for at_once in (1, RUN)
    )
    _, kept = rate(text, events, conclusions)
    print(f"{name:42} {single:10.0f} {runs:10.0f} {runs / published:9.1f} {kept:8}")


if __name__ == "__main__":
    main()
