"""Events a second that aggregates over a sliding window take, in the network alone."""

from __future__ import annotations

import random
import time
from collections import deque
from typing import Final

from benchmarks.middle.queries import operator
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.network import Network

EVENTS: Final = 10_000
WINDOW: Final = 1000
_VALUE: Final = IRI("http://example.org/value")
_COLUMNS: Final = {
    "COUNT": "(COUNT(?v) AS ?n)",
    "SUM": "(SUM(?v) AS ?s)",
    "AVG": "(AVG(?v) AS ?a)",
    "all three": "(COUNT(?v) AS ?n) (SUM(?v) AS ?s) (AVG(?v) AS ?a)",
}
_TYPES: Final = {"integer": xsd.INTEGER, "decimal": xsd.DECIMAL, "double": xsd.DOUBLE}


def rates() -> dict[str, float]:
    """Events a second by aggregates and datatype: one comes, one leaves, the results follow."""
    found = {}
    for name, columns in _COLUMNS.items():
        kinds = _TYPES if name != "COUNT" else {"double": xsd.DOUBLE}
        for kind, datatype in kinds.items():
            found[f"{name} of {kind}s"] = rate(columns, readings(EVENTS + WINDOW, datatype))
    return found


def readings(count: int, datatype: str, seed: int = 2678) -> list[Triple]:
    """Observations of temperatures, each an event of one triple."""
    dice = random.Random(seed)
    found: list[Triple] = []
    for number in range(count):
        value = dice.randrange(100_000)
        lexical = str(value) if datatype == xsd.INTEGER else f"{value / 100:.2f}"
        found.append((IRI(f"http://example.org/o{number}"), _VALUE, Literal(lexical, datatype)))
    return found


def rate(columns: str, triples: list[Triple]) -> float:
    """Events a second of CPU time through one query over the last ``WINDOW`` events."""
    index, network = TripleIndex(), Network()
    root = operator(network, index, f"SELECT {columns} {{ ?o <{_VALUE}> ?v }}")
    instants = 0

    def count(added: object, removed: object) -> None:
        nonlocal instants
        instants += 1

    network.listen(root, count)
    window: deque[Triple] = deque()
    for triple in triples[:WINDOW]:
        window.append(triple)
        index.add(triple)
    network.settle()
    begun, before = time.process_time(), instants
    for triple in triples[WINDOW:]:
        window.append(triple)
        index.discard(window.popleft())
        index.add(triple)
        network.settle()
    seconds = time.process_time() - begun
    if "COUNT" not in columns and instants - before < len(triples) * 0.9:
        raise RuntimeError(f"only {instants - before} instants changed the result")
    return (len(triples) - WINDOW) / seconds


if __name__ == "__main__":
    for each, events in rates().items():
        print(f"{each}: {events:,.0f} events/s")
