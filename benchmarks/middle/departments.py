"""Triples a second through fourteen queries, one department an event; Oxigraph beside it."""

from __future__ import annotations

import json
import time
from typing import Final

import pyoxigraph as ox

from benchmarks.lubm.generator import QUERIES
from benchmarks.middle.event_files import departments
from benchmarks.middle.queries import operator
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.network.network import Listener, Network
from sensorstream.network.rows import Row
from sensorstream.streams.event_lines import EventLines

COUNT: Final = 8
"""Departments; LUBM(1) has 15."""


class _Queries:
    """All queries in one network over one index; counts the solutions they report."""

    def __init__(self) -> None:
        self.index = TripleIndex()
        self.network = Network()
        self.solutions = [0] * len(QUERIES)
        for number, text in enumerate(QUERIES):
            root = operator(self.network, self.index, text)
            self.network.listen(root, self._counter(number))

    def _counter(self, number: int) -> Listener:
        def count(added: list[Row], removed: list[Row]) -> None:
            self.solutions[number] += len(added)

        return count


def rates(count: int = COUNT) -> dict[str, float]:
    """Triples a second of CPU time; the triples are read and their terms made before."""
    lines = departments(count)
    events = [event.triples for event in EventLines("departments").read(lines)]
    total = sum(map(len, events))

    staying = _Queries()
    begun = time.process_time()
    for triples in events:
        for triple in triples:
            # The departments are of one university.
            if triple not in staying.index:
                staying.index.add(triple)
        staying.network.settle()
    kept = total / (time.process_time() - begun)

    leaving = _Queries()
    begun = time.process_time()
    for triples in events:
        for triple in triples:
            leaving.index.add(triple)
        leaving.network.settle()
        for triple in triples:
            leaving.index.discard(triple)
        leaving.network.settle()
    alone = total / (time.process_time() - begun)

    theirs, rate = oxigraph([graph_of(line) for line in lines], total)
    if leaving.solutions != theirs:
        raise RuntimeError(f"Oxigraph finds {theirs} solutions, we {leaving.solutions}")
    return {
        "departments stay": kept,
        "each leaves before the next": alone,
        "Oxigraph loads and asks each": rate,
    }


def oxigraph(graphs: list[str], total: int) -> tuple[list[int], float]:
    """The solutions that Oxigraph finds, a store for each department, and triples a second."""
    found = [0] * len(QUERIES)
    begun = time.process_time()
    for graph in graphs:
        store = ox.Store()
        store.bulk_load(graph.encode(), ox.RdfFormat.N_TRIPLES)
        for number, text in enumerate(QUERIES):
            solutions = store.query(text)
            assert isinstance(solutions, ox.QuerySolutions)
            found[number] += sum(1 for _ in solutions)
    return found, total / (time.process_time() - begun)


def graph_of(line: str) -> str:
    """The graph of a line of an event file."""
    return str(json.loads(line)["graph"])


if __name__ == "__main__":
    for each, triples in rates().items():
        print(f"{each}: {triples:,.0f} triples/s")
