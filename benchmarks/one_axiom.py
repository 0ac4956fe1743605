"""One more axiom: what a message costs while observations of one sensor fill the window.

Run it with ``python -m benchmarks.one_axiom [ONTOLOGY …]``. The ontologies are the shipped city
ontology, by itself, with one axiom that joins a sensor and its observations, and with one that
leaves a choice, so that HermiT or Pellet is asked; and two that others have published
(``ONTOLOGIES`` names their folder). Each message is an observation, and the oldest leaves the
window.

All figures are CPU time, of this process and of the reasoner's, and islands that are asked about a
message, remembered ones included. A stream that is too slow is given up: ``160 at 35`` is what the
last message cost, with 35 in the window.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.foreign.cases import FOLDER, load, together
from benchmarks.foreign.streams import BASE, Message, Stream, cpu
from sensorstream.app.life.process_memory import spare_what_stays
from sensorstream.errors import OntologyError, ReasonerError
from sensorstream.model import rdf, xsd
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.islands import Memo
from sensorstream.reasoning.dl.reasoner_process import Worker
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
        "city, choice of observation": """city:Rated a owl:Class .
            city:Busy a owl:Class ; rdfs:subClassOf city:Rated .
            city:Calm a owl:Class ; rdfs:subClassOf city:Rated .
            city:TrafficObservation rdfs:subClassOf
                [ a owl:Class ; owl:unionOf ( city:Busy city:Calm ) ] .""",
        "city, complement": """city:Flowing a owl:Class ; owl:equivalentClass [ a owl:Class ;
            owl:intersectionOf ( city:TrafficObservation
                [ a owl:Class ; owl:complementOf city:Congestion ] ) ] .""",
        "city, two of three": """city:lane a owl:ObjectProperty .
            city:TrafficObservation rdfs:subClassOf [ a owl:Restriction ;
            owl:onProperty city:lane ; owl:maxCardinality "2"^^xsd:nonNegativeInteger ] .""",
        "city, choice of sensor": """city:Fixed a owl:Class . city:Mobile a owl:Class .
            city:TrafficSensor rdfs:subClassOf
                [ a owl:Class ; owl:unionOf ( city:Fixed city:Mobile ) ] .
            city:Placed a owl:Class .
            [ a owl:Restriction ; owl:onProperty sosa:madeBySensor ;
                owl:someValuesFrom city:Fixed ] rdfs:subClassOf city:Placed .
            [ a owl:Restriction ; owl:onProperty sosa:madeBySensor ;
                owl:someValuesFrom city:Mobile ] rdfs:subClassOf city:Placed .""",
        "city, limit without rules": """city:TrafficObservation rdfs:subClassOf
            [ a owl:Restriction ; owl:onProperty sosa:hasFeatureOfInterest ;
            owl:maxCardinality "9"^^xsd:nonNegativeInteger ] .""",
        "city, limit elsewhere": """city:WeatherObservation rdfs:subClassOf
            [ a owl:Restriction ; owl:onProperty city:station ;
            owl:maxCardinality "9"^^xsd:nonNegativeInteger ] .
            city:station a owl:ObjectProperty .""",
        "city, universal": """city:made a owl:ObjectProperty ; owl:inverseOf sosa:madeBySensor .
            city:Calm a owl:Class ; rdfs:subClassOf city:TrafficObservation .
            city:AtRest a owl:Class ; owl:equivalentClass [ a owl:Restriction ;
            owl:onProperty city:made ; owl:allValuesFrom city:Calm ] .""",
        "city, one platform": """city:TrafficObservation rdfs:subClassOf [ a owl:Restriction ;
            owl:onProperty sosa:madeBySensor ; owl:onClass city:Platform ;
            owl:qualifiedCardinality "1"^^xsd:nonNegativeInteger ] .
            city:hosts a owl:ObjectProperty ; owl:inverseOf sosa:madeBySensor .
            city:Platform a owl:Class ; rdfs:subClassOf [ a owl:Restriction ;
            owl:onProperty city:hosts ; owl:someValuesFrom city:TrafficObservation ] .""",
        "city, key and at least 3": """city:TrafficObservation owl:hasKey ( city:badge ) .
            city:badge a owl:DatatypeProperty .
            city:made a owl:ObjectProperty ; owl:inverseOf sosa:madeBySensor .
            city:Busiest a owl:Class ; owl:equivalentClass [ a owl:Restriction ;
            owl:onProperty city:made ; owl:onClass city:TrafficObservation ;
            owl:minQualifiedCardinality "3"^^xsd:nonNegativeInteger ] .""",
    }
)
"""What is added to the city ontology."""
_LANE: Final = IRI("http://sensorstream.example/city#lane")
_SOSA: Final = "http://www.w3.org/ns/sosa/"
_HERE: Final = "http://sensorstream.example/city#"
_SCHOOL: Final = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#"


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
        message = _MESSAGES.get(name, _traffic)
        yield Case(name, parse_ontology(text.encode(), "text/turtle"), message)
    if not FOLDER.is_dir():
        return
    published = {"SOSA and SSN": _observed, "univ-bench.owl": _member}
    for each in together():
        ontology = load(each.files).ontology if each.name in published else None
        if ontology is not None:
            yield Case(each.name, ontology, published[each.name])


@dataclass(frozen=True, slots=True)
class Cost:
    """What a message costs with so many in the window: CPU time, and questions."""

    told: str
    asked: str = ""


def costs(
    stream: Stream, memo: Memo, message: Callable[[int], Message], sizes: Sequence[int]
) -> list[Cost]:
    """CPU milliseconds a message with so many in the window; one entry where it is given up.

    ``memo`` is that of the stream's reasoner; it counts the questions.
    """
    found: list[Cost] = []
    messages = map(message, count())
    for size in sizes:
        stream.size = size
        begun = before = stream.cpu()
        try:
            while stream.held < size:
                _take(stream, next(messages))
                last, before = stream.cpu() - before, stream.cpu()
                if before - begun > _FILLING and stream.held < size:
                    return [*found, Cost(f"{_told(1000 * last)} at {stream.held}")]
            begun, asked = stream.cpu(), memo.hits + memo.misses
            measured = 0
            while measured < _MEASURED and stream.cpu() - begun < _MEASURING:
                _take(stream, next(messages))
                measured += 1
            told = _told(1000 * (stream.cpu() - begun) / measured)
            found.append(Cost(told, _told((memo.hits + memo.misses - asked) / measured)))
        except ReasonerError:
            return [*found, Cost(f"none after {_ANSWER:g} s at {stream.held}")]
    return found


def start(case: Case, worker: Worker) -> str:
    """CPU seconds until the case's ontology is known, whose axioms are classified already."""
    worker.start()
    begun = cpu(worker)
    try:
        _stream(case, worker, MEMO)
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
        starts = [_told(cpu(worker) - begun), start(known, worker)]
        for remembered in (MEMO, 0):
            worker.start()
            stream, memo = _stream(case, worker, remembered)
            found = costs(stream, memo, case.message, sizes)
            found += [Cost("")] * (len(sizes) - len(found))
            cells = [*(each.told for each in found), *(each.asked for each in found)]
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
    print(_row("ontology", "reasoner", "memo", *sizes, f"asked: {sizes[0]}", *sizes[1:]))
    print("|---|---|---|" + "--:|" * 2 * len(sizes), flush=True)
    starts = [_row("ontology", "reasoner", "axioms", f"{KNOWN} observations")]
    starts.append("|---|---|" + "--:|" * 2)
    for name in names:
        for reasoner in REASONERS:
            rows, began = measured(found[name], reasoner, SIZES)
            print("\n".join(rows), flush=True)
            starts.append(began)
    print("\n" + "\n".join(starts))


def _stream(case: Case, worker: Worker, remembered: int) -> tuple[Stream, Memo]:
    reasoner = DlReasoner(Terminology.of(case.ontology), worker, remembered=remembered)
    stream = Stream(case.ontology, reasoner, worker, SIZES[0])
    # As the server does when it has read its ontology.
    spare_what_stays()
    return stream, reasoner.memo


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
        (one, rdf.TYPE, IRI(f"{_HERE}TrafficObservation")),
        (one, IRI(f"{_SOSA}madeBySensor"), IRI(f"{_HERE}sensor-1")),
        (one, IRI(f"{_SOSA}hasFeatureOfInterest"), IRI(f"{_HERE}road-{number % 3}")),
        (one, IRI(f"{_HERE}averageSpeed"), Literal(f"{speed + number % 7}.0", xsd.DOUBLE)),
        (one, IRI(f"{_HERE}vehicleCount"), Literal(str(vehicles + number % 5), xsd.INTEGER)),
        (one, IRI(f"{_SOSA}resultTime"), Literal(when, xsd.DATE_TIME)),
    )


def _in_lanes(number: int) -> Message:
    """With three lanes of its own, two of which are the same: which ones is not known."""
    one = IRI(f"{BASE}{number}")
    lanes = ((one, _LANE, IRI(f"{BASE}{number}-{lane}")) for lane in range(3))
    return (*_traffic(number), *lanes)


def _with_badge(number: int) -> Message:
    badge = Literal(f"badge {number}")
    return (*_traffic(number), (IRI(f"{BASE}{number}"), IRI(f"{_HERE}badge"), badge))


def _observed(number: int) -> Message:
    one = IRI(f"{BASE}{number}")
    return (
        (one, rdf.TYPE, IRI(f"{_SOSA}Observation")),
        (one, IRI(f"{_SOSA}madeBySensor"), IRI(f"{BASE}sensor")),
        (one, IRI(f"{_SOSA}hasResult"), IRI(f"{BASE}result{number}")),
    )


def _member(number: int) -> Message:
    one = IRI(f"{BASE}{number}")
    return (
        (one, rdf.TYPE, IRI(f"{_SCHOOL}GraduateStudent")),
        (one, IRI(f"{_SCHOOL}memberOf"), IRI(f"{BASE}department")),
        (one, IRI(f"{_SCHOOL}takesCourse"), IRI(f"{BASE}course{number % 7}")),
    )


_MESSAGES: Final = MappingProxyType(
    {"city, two of three": _in_lanes, "city, key and at least 3": _with_badge}
)
"""What is said otherwise than in the other cases."""

if __name__ == "__main__":
    main(sys.argv[1:])
