"""What the paper left out: larger ontologies, more rules, more statements per individual."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.scenario import NAMESPACE, paper_ontology, paper_rules
from sensorstream.cli.simulation.tracker_messages import tracker_messages

PAPER_CLASSES: Final = 31
_BRANCHES: Final = 4
_DEFINED_EVERY: Final = 10
_HEIGHT: Final = 480
_PREFIXES: Final = f"prefix : <{NAMESPACE}>\nprefix xsd: <http://www.w3.org/2001/XMLSchema#>\n"
_ALWAYS: Final = 4
"""Values of each individual at least: time, two coordinates, certainty."""


def ontology_of(classes: int, folder: Path) -> Path:
    """The paper's ontology with further classes up to a number.

    Named subclasses, four to each; every tenth is defined instead: humans in a band of the
    picture. So the reasoners have to look at every tenth for every message.
    """
    text = [paper_ontology().read_text(encoding="utf-8")]
    for number in range(classes - PAPER_CLASSES):
        if number % _DEFINED_EVERY:
            above = f":Further{number // _BRANCHES}" if number >= _BRANCHES else ":Object"
            if (number // _BRANCHES) % _DEFINED_EVERY == 0:
                above = ":Object"  # never below a defined class
            text.append(f":Further{number} a owl:Class ; rdfs:subClassOf {above} .")
        else:
            least = number % _HEIGHT
            text.append(
                f":Further{number} a owl:Class ; owl:equivalentClass [ a owl:Class ;"
                " owl:intersectionOf ( :Human [ a owl:Restriction ;"
                " owl:onProperty :hasYLocation ; owl:someValuesFrom [ a rdfs:Datatype ;"
                " owl:onDatatype xsd:integer ; owl:withRestrictions ("
                f" [ xsd:minInclusive {least} ] [ xsd:maxInclusive {least + 40} ] ) ] ] ) ] ."
            )
    return _written(folder / f"classes-{classes}.ttl", text)


def sleeping_rules(count: int, folder: Path) -> Path:
    """The paper's rules and ``count`` semantic rules that no message wakes."""
    rules = (
        f"rule sleeping-{number}\non insert :Luggage as ?x\n"
        f'if count :Luggage > {number}\nthen alert info "luggage"\n'
        for number in range(count)
    )
    return _with_paper_rules(folder / f"sleeping-{count}.rules", rules)


def watching_rules(count: int, folder: Path) -> Path:
    """The paper's rules and ``count`` semantic rules whose conditions every change tests."""
    rules = (
        f"rule watching-{number}\non change\n"
        f'if count :Human > {1_000_000 + number}\nthen alert info "crowded"\n'
        for number in range(count)
    )
    return _with_paper_rules(folder / f"watching-{count}.rules", rules)


def other_mappings(count: int, folder: Path) -> Path:
    """The paper's rules and ``count`` mapping rules for trackers of other types."""
    rules = (
        f"mapping tracker-{number}\n"
        f"on message {{/Message/Event/Tracker[@type='Tracker{number}']}}\n"
        "for each $thing in {thing}\n"
        "then insert individual :thing-{$thing/@id} a :Object .\n"
        for number in range(count)
    )
    return _with_paper_rules(folder / f"mappings-{count}.rules", rules)


def wide_ontology(statements: int, folder: Path) -> Path:
    """The paper's ontology with a property for each further value of an individual."""
    text = [paper_ontology().read_text(encoding="utf-8")]
    text += [
        f":hasValue{number} a owl:DatatypeProperty ; rdfs:range xsd:integer ."
        for number in _further(statements)
    ]
    return _written(folder / f"statements-{statements}.ttl", text)


def wide_rules(statements: int, folder: Path) -> Path:
    """Rules that give each individual a type and ``statements`` - 1 values."""
    values = [
        "       ; :hasTime {TimeStamp/@value}^^xsd:integer",
        "       ; :hasXLocation {$person/location2d/@x}^^xsd:integer",
        "       ; :hasYLocation {$person/location2d/@y}^^xsd:integer",
        "       ; :hasCertainty {$person/@certainty}^^xsd:integer",
    ]
    values += [
        f"       ; :hasValue{number} {{$person/@v{number}}}^^xsd:integer"
        for number in _further(statements)
    ]
    text = [
        _PREFIXES,
        "mapping face-tracker",
        "on message {/Message/Event/Tracker[@type='FaceTracker']}",
        "for each $person in {person}",
        "then insert individual :human-{$person/@id} a :Human at {TimeStamp/@value}",
        *values,
        "       .",
        "rule one-action",
        "on change",
        "if exists :Human and not exists :Action",
        "then insert individual :action-{new} a :Action .",
    ]
    return _written(folder / f"statements-{statements}.rules", text)


def wide_messages(statements: int, count: int) -> list[bytes]:
    """The paper's messages with an attribute for each further value."""
    further = " ".join(f"v{number}='{number}'" for number in _further(statements)).encode()
    return [
        message.replace(b" certainty=", b" " + further + b" certainty=", 1)
        for message in tracker_messages(count)
    ]


def _further(statements: int) -> range:
    return range(statements - 1 - _ALWAYS)


def _with_paper_rules(file: Path, rules: Iterator[str]) -> Path:
    return _written(file, [paper_rules().read_text(encoding="utf-8"), *rules])


def _written(file: Path, text: list[str]) -> Path:
    file.write_text("\n".join(text) + "\n", encoding="utf-8")
    return file
