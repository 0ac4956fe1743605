"""One more axiom: what a message costs while observations of one sensor fill the window.

Run it with ``python -m benchmarks.one_axiom [ONTOLOGY …]``. The ontologies are the shipped city
ontology, by itself and with one axiom that joins a sensor and its observations, and two that
others have published (``ONTOLOGIES`` names their folder). Each message is an observation, and the
oldest leaves the window. Two ways of reasoning take turns: *rules first* is what the profiles
``hermit`` and ``pellet`` do; *whole islands* asks HermiT or Pellet about the sensor with all its
observations, as is still done where axioms have no complete rules.

All figures are CPU time, of this process and of the reasoner's. A stream that is too slow is given
up: ``160 at 35`` is what the last message cost, with 35 in the window.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from sensorstream.reasoning.dl.whole_islands import WholeIslands

from benchmarks.foreign.cases import FOLDER, load, together
from benchmarks.foreign.streams import BASE, Message, Stream, Way, cpu
from sensorstream.errors import OntologyError, ReasonerError
from sensorstream.model.datatypes import XSD_DATE_TIME, XSD_DOUBLE, XSD_INTEGER
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.questions import Questions
from sensorstream.reasoning.dl.reasoner import DlReasoner
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, parse_ontology

REASONERS: Final = ("hermit", "pellet")
SIZES: Final = (25, 100, 300, 1000)
KNOWN: Final = 300
"""Observations in the ontology's files, for the start."""
MEMO: Final = 4096
"""Answers that are remembered, as in SensorStream."""
_ANSWER: Final = 10.0
"""Seconds for an answer of the reasoner, as ``reasoning.timeout`` is by default."""
_FILLING: Final = 4.0
"""CPU seconds until a window has the next size."""
_MEASURED: Final = 200
_MEASURING: Final = 1.5
"""CPU seconds for the measured messages of one size, if they are fewer."""

_CITY: Final = Path(__file__).parent.parent / "ontologies" / "city.ttl"
_SENSOR: Final = "city:sensor-1 a city:TrafficSensor ."
AXIOMS: Final = MappingProxyType(
    {
        "city": "",
        "city, functional": "sosa:madeBySensor a owl:FunctionalProperty .",
        "city, cardinality 1": """city:TrafficObservation rdfs:subClassOf [ a owl:Restriction ;
            owl:onProperty sosa:madeBySensor ; owl:cardinality "1"^^xsd:nonNegativeInteger ] .""",
        "city, hasValue": """city:MainRoad a owl:Class ; owl:equivalentClass [ a owl:Restriction ;
            owl:onProperty sosa:hasFeatureOfInterest ; owl:hasValue city:road-1 ] .""",
        "city, unused transitive": "city:partOf a owl:ObjectProperty , owl:TransitiveProperty .",
    }
)
"""What is added to the city ontology."""
_SOSA: Final = "http://www.w3.org/ns/sosa/"
_HERE: Final = "http://sensorstream.example/city#"
_SCHOOL: Final = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#"
Make: TypeAlias = Callable[[Terminology, Worker, int], Way]
"""A way of reasoning, which remembers so many answers."""


@dataclass(frozen=True, slots=True)
class Case:
    """An ontology, and the messages of one sensor by number."""

    name: str
    ontology: Ontology
    message: Callable[[int], Message]

    def knowing(self, observations: int) -> Case:
        """The case with the first messages in its ontology."""
        told = (triple for number in range(observations) for triple in self.message(number))
        triples = tuple(dict.fromkeys((*self.ontology.triples, *told)))
        return replace(self, ontology=Ontology((), triples, Schema.of(triples)))


def cases() -> Iterator[Case]:
    """All that are measured; the published ontologies only where they are."""
    city = _CITY.read_text(encoding="utf-8")
    for name, axiom in AXIOMS.items():
        text = f"{city}\n{_SENSOR}\n{axiom}\n"
        yield Case(name, parse_ontology(text.encode(), "text/turtle"), _traffic)
    if not FOLDER.is_dir():
        return
    published = {"SOSA and SSN": _observed, "univ-bench.owl": _member}
    for each in together():
        ontology = load(each.files).ontology if each.name in published else None
        if ontology is not None:
            yield Case(each.name, ontology, published[each.name])


def rules_first(terminology: Terminology, worker: Worker, remembered: int) -> Way:
    """What SensorStream does."""
    return DlReasoner(terminology, worker, remembered=remembered)


def whole_islands(terminology: Terminology, worker: Worker, remembered: int) -> Way:
    """Questions about the sensor with all its observations."""
    return WholeIslands(terminology, Questions(terminology, worker, remembered))


WAYS: Final[Sequence[Make]] = (rules_first, whole_islands)


def costs(stream: Stream, message: Callable[[int], Message], sizes: Sequence[int]) -> list[str]:
    """CPU milliseconds a message with so many in the window; one entry where it is given up."""
    found: list[str] = []
    messages = map(message, count())
    for size in sizes:
        stream.size = size
        begun = before = stream.cpu()
        try:
            while stream.held < size:
                _take(stream, next(messages))
                last, before = stream.cpu() - before, stream.cpu()
                if before - begun > _FILLING and stream.held < size:
                    return [*found, f"{_told(1000 * last)} at {stream.held}"]
            begun = stream.cpu()
            measured = 0
            while measured < _MEASURED and stream.cpu() - begun < _MEASURING:
                _take(stream, next(messages))
                measured += 1
            found.append(_told(1000 * (stream.cpu() - begun) / measured))
        except ReasonerError:
            return [*found, f"none after {_ANSWER:g} s at {stream.held}"]
    return found


def start(case: Case, make: Make, worker: Worker) -> str:
    """CPU seconds until a way knows the case's ontology, whose axioms are classified already."""
    worker.start()
    begun = cpu(worker)
    try:
        _stream(case, make, worker, MEMO)
    except (OntologyError, ReasonerError):
        return f"none after {_ANSWER:g} s"
    return _told(cpu(worker) - begun)


def measured(case: Case, reasoner: str, sizes: Sequence[int]) -> tuple[list[str], str]:
    """The rows of a case's streams, with answers remembered and without; the row of its starts."""
    known = case.knowing(KNOWN)
    worker = Worker(reasoner, Terminology.of(case.ontology).document(), timeout=_ANSWER)
    rows = []
    try:
        begun = cpu(worker)
        worker.start()
        starts = [_told(cpu(worker) - begun), *(start(known, make, worker) for make in WAYS)]
        for remembered in (MEMO, 0):
            cells: list[str] = []
            for make in WAYS:
                worker.start()
                found = costs(_stream(case, make, worker, remembered), case.message, sizes)
                cells += [*found, *[""] * (len(sizes) - len(found))]
            rows.append(_row(case.name, reasoner, "on" if remembered else "off", *cells))
    finally:
        worker.close()
    return rows, _row(case.name, reasoner, *starts)


def main(arguments: Sequence[str]) -> None:
    """Print both tables in Markdown, that of the starts at the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_axiom", description=__doc__)
    found = {case.name: case for case in cases()}
    parser.add_argument("names", nargs="*", metavar="ONTOLOGY", help="; ".join(found))
    names = parser.parse_args(arguments).names or list(found)
    unknown = sorted(set(names) - set(found))
    if unknown:
        parser.error(f"no such ontology: {', '.join(unknown)}; expected some of {list(found)}")
    sizes = [f"{size:,}" for size in SIZES]
    print(_row("ontology", "reasoner", "memo", *sizes, f"islands: {sizes[0]}", *sizes[1:]))
    print("|---|---|---|" + "--:|" * 2 * len(sizes), flush=True)
    starts = [_row("ontology", "reasoner", "axioms", "rules first", "whole islands")]
    starts.append("|---|---|" + "--:|" * 3)
    for name in names:
        for reasoner in REASONERS:
            rows, began = measured(found[name], reasoner, SIZES)
            print("\n".join(rows), flush=True)
            starts.append(began)
    print("\n" + "\n".join(starts))


def _stream(case: Case, make: Make, worker: Worker, remembered: int) -> Stream:
    way = make(Terminology.of(case.ontology), worker, remembered)
    return Stream(case.ontology, way, worker, SIZES[0])


def _take(stream: Stream, message: Message) -> None:
    if not stream.take(message):
        raise RuntimeError(f"{message[0][0]} contradicts the ontology: nothing would be measured")


def _told(figure: float) -> str:
    return f"{figure:.2f}" if figure < 10 else f"{figure:,.0f}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _traffic(number: int) -> Message:
    speed, vehicles = ((15, 12), (35, 3), (12, 40), (50, 20))[number % 4]
    one = IRI(f"{BASE}{number}")
    when = f"2026-11-23T09:{number % 60:02}:00Z"
    return (
        (one, RDF_TYPE, IRI(f"{_HERE}TrafficObservation")),
        (one, IRI(f"{_SOSA}madeBySensor"), IRI(f"{_HERE}sensor-1")),
        (one, IRI(f"{_SOSA}hasFeatureOfInterest"), IRI(f"{_HERE}road-{number % 3}")),
        (one, IRI(f"{_HERE}averageSpeed"), Literal(f"{speed + number % 7}.0", XSD_DOUBLE)),
        (one, IRI(f"{_HERE}vehicleCount"), Literal(str(vehicles + number % 5), XSD_INTEGER)),
        (one, IRI(f"{_SOSA}resultTime"), Literal(when, XSD_DATE_TIME)),
    )


def _observed(number: int) -> Message:
    one = IRI(f"{BASE}{number}")
    return (
        (one, RDF_TYPE, IRI(f"{_SOSA}Observation")),
        (one, IRI(f"{_SOSA}madeBySensor"), IRI(f"{BASE}sensor")),
        (one, IRI(f"{_SOSA}hasResult"), IRI(f"{BASE}result{number}")),
    )


def _member(number: int) -> Message:
    one = IRI(f"{BASE}{number}")
    return (
        (one, RDF_TYPE, IRI(f"{_SCHOOL}GraduateStudent")),
        (one, IRI(f"{_SCHOOL}memberOf"), IRI(f"{BASE}department")),
        (one, IRI(f"{_SCHOOL}takesCourse"), IRI(f"{BASE}course{number % 7}")),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
