"""What is measured of rule sets: rates, a change of two, memory, members of many classes."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import psutil

from benchmarks.lubm.files import Reader, line_of, minimal, ontology
from benchmarks.lubm.generator import UNIVERSITY, Statement, departments, text_of
from benchmarks.lubm.naive import NaiveLoop
from benchmarks.lubm.standing import Standing
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf, rdfs
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.reasoner import Reasoner, SchemaClosure
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules

CHANGES: Final = 300
MEMBERS: Final = 500
WIDTH: Final = 4
"""Subclasses of each class of the hierarchy: eight levels of 40,080 classes."""


def reasoner(name: str) -> Reasoner:
    """The reasoner of a profile; ``minimal`` are the rules beside this module."""
    if name == "plain":
        return SchemaClosure(ontology().schema)
    return RuleReasoner(minimal() if name == "minimal" else bundled_rules(name))


def rate(
    make: Callable[[], Reasoner], events: Sequence[str], queries: Sequence[str], *, stay: bool
) -> tuple[float, list[int]]:
    """Triples a second of CPU time, reading included; and the solutions that have come.

    ``events`` are departments in N-Triples. They all stay, or each takes the place of the one
    before. A triple counts once, when it comes.
    """
    standing, reader = Standing(make(), ontology(), queries), Reader()
    lines = [line_of(event) for event in events]
    gc.collect()
    count = 0
    begun = time.process_time()
    for line in lines:
        said = reader.read(line)
        count += len(said)
        if stay:
            standing.come(said)
        else:
            standing.replace(said)
    return count / (time.process_time() - begun), standing.found


def naive_rate(
    events: Sequence[str], queries: Sequence[str], *, stay: bool
) -> tuple[float, list[int]]:
    """The same of the naive loop; what stays is loaded as one."""
    loop = NaiveLoop()
    found = [0] * len(queries)
    batches = ["".join(events)] if stay else list(events)
    for batch in batches:
        solutions = loop.answer(batch.encode(), queries)
        found = [one + other for one, other in zip(found, solutions, strict=True)]
    return sum(each.count("\n") for each in events) / loop.seconds, found


def change_of_two(make: Callable[[], Reasoner], events: Sequence[str]) -> tuple[int, float]:
    """The statements held, and milliseconds for two of one individual to come or to go."""
    standing, reader = Standing(make(), ontology(), ()), Reader()
    for event in events:
        standing.come(reader.read(line_of(event)))
    held = standing.kb.size(Origin.WINDOW)
    changes = [line_of(_two(number)) for number in range(CHANGES)]
    gc.collect()
    begun = time.process_time()
    for line in changes:
        two = reader.read(line)
        standing.change(Delta(0, added=two))
        standing.change(Delta(0, removed=two))
    return held, (time.process_time() - begun) / (2 * CHANGES) * 1000


def naive_change_of_two(events: Sequence[str]) -> float:
    """Milliseconds for the naive loop to take in two statements more."""
    loop = NaiveLoop()
    loop.answer("".join(events).encode(), ())
    return min(loop.change(_two(number).encode()) for number in range(3)) * 1000


def _two(number: int) -> str:
    who = f"<http://example.org/new{number}>"
    return (
        f"{who} <{rdf.TYPE}> <{UNIVERSITY}UndergraduateStudent> .\n"
        f"{who} <{UNIVERSITY}memberOf> <http://www.Department0.University0.edu> .\n"
    )


def memory(universities: int, queries: Sequence[str]) -> list[float]:
    """Megabytes of this process after each university, where a department replaces the other."""
    standing, reader = Standing(reasoner("minimal"), ontology(), queries), Reader()
    found = []
    for university in _by_university(universities):
        for said in university:
            standing.replace(reader.read(line_of(text_of(said))))
        gc.collect()
        found.append(psutil.Process().memory_full_info().uss / 1e6)
    return found


def _by_university(count: int) -> Iterable[list[list[Statement]]]:
    known: dict[str, list[list[Statement]]] = {}
    for said in departments(count):
        # The first statement is that the department is one.
        known.setdefault(said[0][0].partition("University")[2], []).append(said)
    return known.values()


def membership(classes: int) -> tuple[float, float, float]:
    """Seconds to load so many classes; ms for a member to come or go, first and when met before."""
    hierarchy = [
        (_class(number), rdfs.SUBCLASS_OF, _class((number - 1) // WIDTH))
        for number in range(1, classes)
    ]
    begun = time.process_time()
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, hierarchy)
    made = RuleReasoner(minimal())
    made.start(kb)
    loaded = time.process_time() - begun
    dice = random.Random(1)
    said: list[tuple[Triple]] = [
        ((IRI(f"http://example.org/x{each}"), rdf.TYPE, _class(dice.randrange(classes))),)
        for each in range(MEMBERS)
    ]
    turns = []
    for _ in range(4):
        begun = time.process_time()
        for each in said:
            for delta in (Delta(0, added=each), Delta(0, removed=each)):
                kb.apply(Origin.WINDOW, delta)
                made.react(kb, delta)
        turns.append((time.process_time() - begun) / (2 * MEMBERS) * 1000)
    return loaded, turns[0], min(turns)


def _class(number: int) -> IRI:
    return IRI(f"http://example.org/c{number}")
