"""Rules over time: ``python -m benchmarks.dotr [--quick]``.

The scenarios of the DOTR paper (section 5). The paper prints no text of its rules: they are made
as it describes them. Prints the milliseconds of CPU time an event, how that compares with what the
paper shows, the graphs that rules make an event, and the seconds it takes to read and start them.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from statistics import median
from typing import Final

from sensorstream.errors import Position
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.query_sources import Knowledge
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

EX: Final = "http://example.org/"
PREFIX: Final = f"PREFIX : <{EX}>\n"
SENSORS: Final = 10
ROOMS: Final = 5
OBJECTS: Final = 10
ATTRIBUTES: Final = 10_000
"""Background triples that no rule asks for."""
CLAUSES: Final = 10
"""Datalog rules that contribute nothing to what the rules over time ask for."""
RULES: Final = 10
OPERATORS: Final = 1
SECOND: Final = 1
# Milliseconds an event as the paper shows them: in its table 1, and in the text about figure 7.
PAPER_DEFAULT: Final = 12.09
PAPER_RULES: Final = {100: 2.0, 1000: 7.0}


class Other(Enum):
    """Where the sensor stands that a rule is about."""

    FILTER = "?s {0} ?v FILTER(?s = {1})"
    PATTERN = "{1} {0} ?v"


@dataclass(frozen=True, slots=True)
class Scenario:
    """What differs from one measurement to the next."""

    rules: int = RULES
    operators: int = OPERATORS
    pick: str = "last"
    clauses: int = CLAUSES
    other: Other | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Milliseconds an event, graphs an event, seconds to read and to start the rules."""

    cost: float
    graphs: float
    read: float
    start: float


def named(name: object) -> IRI:
    return IRI(f"{EX}{name}")


def number(value: int) -> Literal:
    return Literal(str(value), xsd.INTEGER)


def text_of(scenario: Scenario) -> str:
    """The text of all rules; they differ in the number that they compare with."""
    clauses = [":is_in_room(?s, ?r) :- :equips(?s, ?o), :placed_in(?o, ?r)."]
    clauses += [
        f":other{each}(?s, ?r) :- :equips{each}(?s, ?o), :placed_in(?o, ?r)."
        for each in range(scenario.clauses)
    ]
    # The least value is 1000: the filters hold for all of them, as in the paper.
    rules = [
        rule_of(each, each * 1000 // scenario.rules, scenario) for each in range(scenario.rules)
    ]
    return "\n".join((PREFIX, *clauses, *rules))


def rule_of(name: int, least: int, scenario: Scenario) -> str:
    """A value B, then more of them, then a value A, all in one room or of one sensor."""
    if scenario.other is not None:
        pattern = scenario.other.value
        a, b = (pattern.format(f":read_val{kind}", f":sensor{name}") for kind in "AB")
        return (
            f"rule r{name} define {{ dotr_id1 :read ?v }} from A(SELECT * {{ {a} }}) "
            f"and {scenario.pick} B(SELECT * {{ {b} }}) within 10 s from A with ?v = A.?v"
        )

    def selector(label: str, kind: str) -> str:
        return (
            f"{label}(SELECT ?s ?v ?n {{ ?s :read_val{kind} ?v ; :is_in_room ?r . "
            f"?r :number ?n FILTER(?v > {least}) }})"
        )

    labels = ["A", *(f"B{each}" for each in range(1, scenario.operators + 1))]
    parts = [
        f"and {scenario.pick} {label} within 10 s from {before}"
        for before, label in zip(labels, [selector(each, "B") for each in labels[1:]], strict=False)
    ]
    same = " and ".join(f"{each}.?n = A.?n" for each in labels[1:])
    return "\n".join(
        (
            f"rule r{name} define {{ dotr_id1 a :Found ; :in ?n ; :read ?a ; :before ?b }}",
            f"from {selector('A', 'A')}",
            *parts,
            f"where {same} with ?n = A.?n, ?a = A.?v, ?b = B1.?v",
        )
    )


def background() -> TripleIndex:
    """Where sensors are, and what nobody asks for."""
    graph = TripleIndex()
    for each in range(ATTRIBUTES):
        graph.add((named(f"sensor{each % SENSORS}"), named(f"has{each % 97}"), number(each)))
    for each in range(SENSORS):
        graph.add((named(f"sensor{each}"), named("equips"), named(f"object{each % OBJECTS}")))
    for each in range(OBJECTS):
        graph.add((named(f"object{each}"), named("placed_in"), named(f"room{each % ROOMS}")))
    for each in range(ROOMS):
        graph.add((named(f"room{each}"), named("number"), number(each)))
    return graph


def readings(count: int) -> list[StreamEvent]:
    """One triple a second; every fifth on average may make rules fire."""
    draw = random.Random(1)
    found = []
    for each in range(count):
        kind = "A" if draw.random() < 0.2 else "B"
        subject = named(f"sensor{draw.randrange(SENSORS)}")
        triple: Triple = (subject, named(f"read_val{kind}"), number(draw.randrange(1000, 2000)))
        found.append(StreamEvent(each, (triple,)))
    return found


def measure(scenario: Scenario, events: Sequence[StreamEvent]) -> Found:
    """Run the rules over the events; a tenth of them come before what is measured."""
    reports = 0

    def sink(report: Report) -> None:
        nonlocal reports
        reports += 1

    knowledge = Knowledge(background(), lambda triple: True, lambda triple: ())
    machine = StreamProcessor(
        TripleIndex(), instant=lambda literal: 0, second=SECOND, knowledge=knowledge
    )
    text = text_of(scenario)
    clock = time.process_time()
    program = read_program(text, name="rules", start=Position("rules", 1, 1))
    read = time.process_time() - clock
    clock = time.process_time()
    machine.register("rules", text, program, sink)
    first = len(events) // 10
    machine.push(events[0])
    machine.complete(events[1].time)
    start = time.process_time() - clock
    for event in islice(events, 1, first):
        machine.push(event)
    reports = 0
    gc.collect()
    clock = time.process_time()
    for event in islice(events, first, None):
        machine.push(event)
    spent = time.process_time() - clock
    assert not machine.faults, machine.faults
    measured = len(events) - first
    return Found(spent * 1000 / measured, reports / measured, read, start)


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    turns, count = (1, 300) if quick else (3, 3000)
    rules = (1, 10, 100) if quick else (1, 10, 100, 1000)
    clauses = (1, 100) if quick else (1, 10, 100, 1000, 10_000, 100_000)
    operators = (2, 3) if quick else (2, 3, 4, 5, 6, 7)
    print(f"{'':34} {'ms/event':>9} {'x DOTR':>7} {'graphs':>8} {'read s':>7} {'start s':>8}")

    def show(name: str, scenario: Scenario, published: float | None = None) -> None:
        # What is large is measured once, over fewer events: they tell as much.
        branches = 3**scenario.operators if scenario.pick == "each" else scenario.operators
        few = readings(max(100, count // (1 + scenario.rules // 50 + branches // 20)))
        once = scenario.rules >= 1000 or scenario.clauses >= 10_000
        found = [measure(scenario, few) for _ in range(1 if once else turns)]
        cost = median(each.cost for each in found)
        ratio = "" if published is None else f"{cost / published:.3f}"
        one = found[0]
        print(
            f"{name:34} {cost:9.3f} {ratio:>7} {one.graphs:8.1f} {one.read:7.2f} {one.start:8.2f}",
            flush=True,
        )

    show("default scenario (table 1)", Scenario(), PAPER_DEFAULT)
    print("figure 5")
    for each in clauses:
        show(f"{each} Datalog rules", Scenario(clauses=each))
    print("figure 6")
    for pick in ("last", "each"):
        for each in operators:
            show(f"{each} x {pick} in a rule", Scenario(operators=each, pick=pick))
    print("figure 7")
    for each in rules:
        show(f"{each} rules", Scenario(rules=each), PAPER_RULES.get(each))
    print("rules that an event does not concern: each of another sensor")
    for each in rules:
        show(f"{each} constants in FILTER", Scenario(rules=each, other=Other.FILTER))
        show(f"{each} constants in patterns", Scenario(rules=each, other=Other.PATTERN))


if __name__ == "__main__":
    main(sys.argv[1:])
