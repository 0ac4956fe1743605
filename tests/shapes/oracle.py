"""Violations of shapes found by pySHACL on the whole graph, and by the network in step with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

import pyoxigraph as ox

from sensorstream.kb.oxigraph_terms import triple_from_oxigraph
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import BlankNode, Term, Triple
from sensorstream.shapes.shape_compiler import compile_shapes
from sensorstream.shapes.shape_graph import ShapeGraph, Violation
from sensorstream.shapes.validation import Validator
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.event_lines import instant_of
from sensorstream.streams.processor import StreamProcessor

Compared: TypeAlias = tuple[str | None, ...]


def compared(each: Violation) -> Compared:
    """A violation without its message; blank nodes have no names that stay."""

    def named(term: Term | str | None) -> str | None:
        blank = isinstance(term, BlankNode) or str(term).startswith("_:")
        return None if term is None else "_:" if blank else str(term)

    told = (each.shape, each.focus, each.path, each.value, each.component, each.severity)
    return tuple(map(named, told))


def found_by_pyshacl(validator: Validator, triples: Iterable[Triple]) -> Counter[Compared]:
    return Counter(map(compared, validator.report(triples).violations))


class Network:
    """The queries of shapes over a graph that changes."""

    def __init__(self, shapes: ShapeGraph) -> None:
        self.index = TripleIndex()
        self._processor = StreamProcessor(self.index, instant=instant_of, second=1)
        self._time = 0
        self.anew: list[str] = []
        self._running = []
        for each in compile_shapes(shapes):
            query = parse_query(each.text)
            running = self._processor.register(each.name, "", query, lambda report: None, {})
            self._running.append((each, running))
            if running.reason:
                self.anew.append(f"{each.name}: {running.reason}")

    def change(self, triple: Triple, there: bool) -> None:
        if there and triple not in self.index:
            self.index.add(triple)
        elif not there and triple in self.index:
            self.index.discard(triple)

    def settle(self) -> None:
        self._time += 1
        self._processor.settle(self._time)

    def violations(self) -> Counter[Compared]:
        return Counter(
            compared(query.violation(running.variables, row))
            for query, running in self._running
            for row in running.result()
        )


def shapes_of(text: str) -> ShapeGraph:
    """The shapes of a text in Turtle."""
    triples = [triple_from_oxigraph(quad) for quad in ox.parse(text, format=ox.RdfFormat.TURTLE)]
    return ShapeGraph(triples, {"shapes.ttl": text})
