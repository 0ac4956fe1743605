"""Many continuous queries over one stream, by what they differ in.

Run it with ``python -m benchmarks.queries [--before COMMIT]``. An event is a reading of one of 500
sensors in 50 rooms: two triples, one event a second. Measured is the processor time of an event
once the windows are full, and the time of registering a query, with the code of an earlier commit
and with this one; and how many solutions came or went with an event.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from random import Random
from typing import Final

from benchmarks.earlier import FIRST_DESIGN, ROOT, measured, package_of
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

COUNTS: Final = (1, 10, 100, 1000)
EVENTS: Final = 200
_SPAN: Final = 100
"""Seconds of a window, so events in it."""
_EX: Final = "http://example.org/"
_STREAM: Final = IRI(f"{_EX}readings")


def _over_window(select: str, body: str, span: int = _SPAN, rest: str = "") -> str:
    return (
        f"PREFIX : <{_EX}> SELECT {select} FROM NAMED WINDOW :w ON :readings [RANGE PT{span}S] "
        f"WHERE {{ WINDOW :w {{ {body} }} }} {rest}"
    )


_READING: Final = "?s :in ?room ; :value ?v"

KINDS: Final[dict[str, Callable[[int, int], str]]] = {
    "nothing": lambda n, of: _over_window("?s ?v", f"{_READING} FILTER(?v > 990)"),
    "constant": lambda n, of: _over_window("?s ?v", f"?s :in :room{n} ; :value ?v"),
    "threshold": lambda n, of: _over_window(
        "?s ?v", f"{_READING} FILTER(?v > {990 + 10 * n / of:.2f})"
    ),
    "window length": lambda n, of: _over_window("?s ?v", f"{_READING} FILTER(?v > 990)", _SPAN + n),
    "group filter": lambda n, of: _over_window(
        "?room (MAX(?v) AS ?most)",
        _READING,
        rest=f"GROUP BY ?room HAVING (MAX(?v) > {990 + 10 * n / of:.2f})",
    ),
}
"""The query with a number, of so many."""

_HIGHER: Final = "WINDOW :w {{ ?s :value ?v }} FILTER NOT EXISTS {{ WINDOW :w {{ {} }} {} }}"
_FILTER: Final = "FILTER(?higher > ?v)"
CORRELATED: Final = {
    place: (
        f"PREFIX : <{_EX}> SELECT ?s ?v FROM NAMED WINDOW :w ON :readings [RANGE PT1000S] "
        f"WHERE {{ {_HIGHER.format(inner, outer)} }}"
    )
    for place, inner, outer in (
        ("filter inside WINDOW", f"?s :value ?higher {_FILTER}", ""),
        ("filter outside", "?s :value ?higher", _FILTER),
    )
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of processor time, of an event and of registering a query."""

    event: float
    registering: float
    solutions: float
    """That came or went with an event, on average."""


def events() -> Iterator[StreamEvent]:
    """Readings without end, the same at every call."""
    random, second = Random(1), 0
    while True:
        second += 1
        sensor = IRI(f"{_EX}sensor{random.randrange(500)}")
        value = Literal(str(random.randrange(1000)), xsd.INTEGER)
        room = IRI(f"{_EX}room{random.randrange(50)}")
        said = ((sensor, IRI(f"{_EX}in"), room), (sensor, IRI(f"{_EX}value"), value))
        yield StreamEvent(second, said, _STREAM)


def measure(texts: list[str], warm: int, count: int) -> Measured:
    """Register queries, fill their windows with ``warm`` events, and time ``count`` more."""
    reported = 0

    def sink(report: Report) -> None:
        nonlocal reported
        reported += len(report.rows)

    processor = StreamProcessor(TripleIndex(), instant=lambda text: int(text.lexical), second=1)
    parsed = [parse_query(text) for text in texts]
    begun = time.process_time()
    for number, (text, query) in enumerate(zip(texts, parsed, strict=True)):
        processor.register(f"q{number}", text, query, sink)
    registering = time.process_time() - begun
    stream = events()
    for event in islice(stream, warm):
        processor.push(event)
    reported, measured = 0, list(islice(stream, count))
    begun = time.process_time()
    for event in measured:
        processor.push(event)
    spent = time.process_time() - begun
    return Measured(1e3 * spent / count, 1e3 * registering / len(texts), reported / count)


@dataclass(frozen=True, slots=True)
class Case:
    """Queries that are measured together, over so many seconds of events."""

    name: str
    texts: list[str]
    warm: int = _SPAN


def cases() -> dict[str, Case]:
    """All that is measured, by a name without spaces."""
    found = {
        f"{kind}-{many}".replace(" ", "-"): Case(
            f"{kind:24}{many:8}", [text(n, many) for n in range(many)]
        )
        for kind, text in KINDS.items()
        for many in COUNTS
    }
    for place, text in CORRELATED.items():
        name = place.replace("filter", "NOT EXISTS")
        found[name.replace(" ", "-")] = Case(f"{name:24}{1:8}", [text], 1000)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries")
    parser.add_argument("--before", default=FIRST_DESIGN, metavar="COMMIT")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--measure", choices=cases(), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None:
        case = cases()[given.measure]
        print(json.dumps(asdict(measure(case.texts, case.warm, given.events))))
        return
    print(f"{'':32}{'ms an event':^24}{'ms to register':^24}{'solutions':>10}")
    print(f"{'differing in':24}{'queries':>8}" + f"{'before':>12}{'after':>12}" * 2)
    with package_of(given.before) as earlier:
        for name, case in cases().items():
            asked = ["--measure", name, "--events", str(given.events)]
            now = measured("benchmarks.queries", asked, ROOT)
            old = {} if earlier is None else measured("benchmarks.queries", asked, earlier)
            figures = "".join(
                f"{format(old[what], '.3f') if old else '':>12}{now[what]:12.3f}"
                for what in ("event", "registering")
            )
            print(f"{case.name}{figures}{now['solutions']:10.2f}", flush=True)


if __name__ == "__main__":
    main()
