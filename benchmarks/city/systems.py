"""The systems that answer the queries, graph by graph: ours, and Oxigraph asked anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import pyoxigraph as ox

from benchmarks.city.world import plain
from sensorstream.kb.oxigraph_terms import subject_to_oxigraph, to_oxigraph
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.event_lines import SECOND, instant_of
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

RANGE: Final = 3
_WINDOW: Final = ox.NamedNode("urn:window")


class Network:
    """Continuous queries on the incremental network."""

    def __init__(self, triples: Iterable[Triple], queries: Sequence[str]) -> None:
        default = TripleIndex()
        for triple in triples:
            default.add(triple)
        self.rows = 0
        self.processor = StreamProcessor(default, instant=instant_of, second=SECOND)
        for number, text in enumerate(queries):
            self.processor.register(f"q{number}", text, parse_query(text), self._take)

    def _take(self, report: Report) -> None:
        self.rows += len(report.rows)

    def push(self, events: Iterable[StreamEvent]) -> None:
        for event in events:
            self.processor.push(event)

    def result(self) -> int:
        return sum(1 for _ in self.processor.queries["q0"].root.rows())

    def prepared(self, events: Iterable[StreamEvent]) -> list[StreamEvent]:
        return list(events)


class Asked:
    """Oxigraph, whose copy of the window is kept in step; asked every so many graphs."""

    def __init__(self, triples: Iterable[Triple], name: str, every: int) -> None:
        self.rows = 0
        self._text = plain(name, _WINDOW.value)
        self._every = every
        self._until = every
        self._held: deque[tuple[int, list[ox.Quad]]] = deque()
        self._store = ox.Store()
        self._store.bulk_extend(_quads(triples, ox.DefaultGraph()))

    def prepared(self, events: Iterable[StreamEvent]) -> list[tuple[int, list[ox.Quad]]]:
        return [(each.time, _quads(each.triples, _WINDOW)) for each in events]

    def fill(self, events: Iterable[tuple[int, list[ox.Quad]]]) -> None:
        """Graphs happen, and nobody asks."""
        for time, quads in events:
            self._take(time, quads)

    def push(self, events: Iterable[tuple[int, list[ox.Quad]]]) -> None:
        for time, quads in events:
            self._take(time, quads)
            self._until -= 1
            if not self._until:
                self._until = self._every
                self.rows += self.result()

    def _take(self, time: int, quads: list[ox.Quad]) -> None:
        while self._held and self._held[0][0] <= time - RANGE * SECOND:
            for quad in self._held.popleft()[1]:
                self._store.remove(quad)
        self._store.extend(quads)
        self._held.append((time, quads))

    def result(self) -> int:
        solutions = self._store.query(self._text)
        assert isinstance(solutions, ox.QuerySolutions)
        return sum(1 for _ in solutions)


def _quads(triples: Iterable[Triple], graph: ox.NamedNode | ox.DefaultGraph) -> list[ox.Quad]:
    return [
        ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o), graph)
        for s, p, o in triples
    ]
