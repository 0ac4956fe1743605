"""One ontology with one reasoner: ``python -m benchmarks.foreign.measure NAME hermit|pellet``.

A process of its own: it can be ended. It prints what it has found as it goes on, a JSON object a
line; together they are a row of the second table.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any, Final, TypeAlias

from benchmarks.foreign.cases import load, together
from benchmarks.foreign.oracle import NoAnswer, inferred_types
from benchmarks.foreign.streams import BASE, Slow, Stream, cost, random_messages, shape
from sensorstream.errors import Inconsistent, OntologyError, Overrun, ReasonerError
from sensorstream.reasoning.dl.bounds.bound_rules import upper
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology

SHAPES: Final = ("alone", "chain", "hub", "clique")
Part: TypeAlias = dict[str, Any]
_ANSWER: Final = 30.0
"""Seconds for an answer of the reasoner; its start has five times, owlready2 four times that."""
_WINDOW: Final = 8
_MESSAGES: Final = 40
_LOOKS: Final = (_MESSAGES // 2, _MESSAGES)
"""After which messages all types are compared."""
_SHAPE_SECONDS: Final = 6.0
"""Wall-clock seconds for the messages of a shape."""
_CHOICES: Final = 3
"""Pairs of a class and a property for each shape."""
_TRIES: Final = 12


def parts(ontology: Ontology, reasoner: str) -> Iterator[Part]:
    """What is found about an ontology, as it is found."""
    begun = time.monotonic()
    try:
        stream = Stream.opened(ontology, reasoner, _WINDOW, _ANSWER)
    except (OntologyError, ReasonerError) as error:
        yield {"start": "no", "failed": str(error)}
        return
    yield {"start": f"{time.monotonic() - begun:.1f}"}
    without_rules = upper(Terminology.of(ontology).stated, stream.left_out).untreated
    yield {"without_rules": len(without_rules)}
    try:
        yield from _compared(stream, ontology, reasoner)
        for name in SHAPES:
            yield {name: _timed(stream, ontology, name)}
    except ReasonerError as error:
        yield {"failed": str(error)}
    finally:
        stream.close()


def _compared(stream: Stream, ontology: Ontology, reasoner: str) -> Iterator[Part]:
    """The types in the window beside those of owlready2."""
    classes = ontology.schema.classes
    refused, overrun, missing, unfounded, inferred = 0, 0, 0, 0, 0
    messages = random_messages(ontology.schema, seed=1)
    for number in range(1, _MESSAGES + 1):
        try:
            refused += not stream.take(next(messages))
        except Overrun:
            overrun += 1
        yield {"messages": number, "refused": refused, "overrun": overrun, "asked": stream.asked}
        if number not in _LOOKS:
            continue
        try:
            told = inferred_types(
                stream.triples(), stream.individuals(), reasoner, BASE, 4 * _ANSWER
            )
        except NoAnswer as error:
            yield {"oracle": f"owlready2: {error}"}
            return
        if told is None:
            yield {"oracle": "owlready2 finds a contradiction"}
            return
        ours = stream.types(classes)
        theirs = {(one, kind) for one, kind in told if kind in classes}
        missing += len(theirs - ours)
        unfounded += len(ours - theirs)
        inferred += len(ours)
        yield {"looks": _LOOKS.index(number) + 1, "types": inferred}
        yield {"missing": missing, "unfounded": unfounded}


def _timed(stream: Stream, ontology: Ontology, name: str) -> list[float] | str:
    """CPU milliseconds a message of a shape, for a few random choices."""
    draw = Random(1)
    classes = sorted(ontology.schema.classes)
    links = sorted(Terminology.of(ontology).linking) or sorted(ontology.schema.object_properties)
    if not classes or (name != "alone" and not links):
        return "none"
    found: list[float] = []
    overrun = False
    for _ in range(_TRIES):
        stream.clear()
        link = draw.choice(links) if links else None
        message = shape(name, draw.choice(classes), link, _WINDOW)
        try:
            found.append(cost(stream, message, _WINDOW, _SHAPE_SECONDS))
        except Inconsistent:
            continue
        except Overrun:
            overrun = True
        except Slow:
            found.append(1000 * _SHAPE_SECONDS)
        if overrun or len(found) == _CHOICES:
            break
    if overrun:
        return "overrun"
    return found or "contradictory"


def main(name: str, reasoner: str) -> None:
    """Print the parts."""
    (case,) = (each for each in together() if each.name == name)
    ontology = load(case.files).ontology
    if ontology is None:
        print(json.dumps({"start": "no", "failed": "it does not load"}))
        return
    for part in parts(ontology, reasoner):
        print(json.dumps(part), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
