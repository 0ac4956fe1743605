"""The suites' queries through the network: their data come as a stream of insertions.

Junk comes before the data and among them, and is gone again before the answer is looked at: it
shares properties, nodes and whole triples with the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pyoxigraph as ox

from sensorstream.kb.oxigraph_terms import from_oxigraph, to_oxigraph
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.sparql.algebra import Ask, Construct, Query
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.event_lines import instant_of
from sensorstream.streams.processor import StreamProcessor
from tests.w3c.checks import read, same_result
from tests.w3c.manifests import QueryCase
from tests.w3c.results import Graph, Result, Solutions, expected, parse_graph

ANEW: Final = frozenset(
    f"sparql11/functions/{name}"
    for name in ("bnode01", "bnode02", "now01", "rand01", "uuid01", "uuid02", "struuid01")
)
"""Tests of functions that have another value each time: nothing can be kept in step."""

NETWORK_DEVIATIONS: Final = {
    "sparql11/functions/bnode01": "evaluated anew, on Oxigraph, where BNODE(text) is one blank "
    "node for the query, not for the row",
}

Step = tuple[TripleIndex, Triple, bool]


def fault_of_network(case: QueryCase) -> str | None:
    """What is wrong with how a test goes through the network."""
    query = read(case, update=False)
    assert isinstance(query, Query)
    found, reason = answer_of_network(case, query)
    right = same_result(case, query, found, expected(case.result))
    if bool(reason) is not (case.label in ANEW):
        return f"evaluated anew: {reason}" if reason else "kept in step: take it out of ANEW"
    if case.label in NETWORK_DEVIATIONS:
        return "it passes: take it out of the table of deviations" if right else None
    return None if right else f"the result is {found}, not {expected(case.result)}"


def answer_of_network(case: QueryCase, query: Query) -> tuple[Result, str]:
    """What the network answers, and why the query is evaluated anew if it is."""
    default = TripleIndex()
    named: dict[IRI, TripleIndex] = {}
    feed: list[tuple[TripleIndex, Triple]] = []
    for name, file in files(case, query):
        index = default if name is None else named.setdefault(IRI(name), TripleIndex())
        feed += [(index, triple_of(quad)) for quad in parse_graph(file)]
    processor = StreamProcessor(default, instant=instant_of, second=1)
    running = processor.register("q", "", query, lambda report: None, named)
    for time, (index, triple, there) in enumerate(streamed(feed)):
        if there and triple not in index:
            index.add(triple)
        elif not there and triple in index:
            index.discard(triple)
        processor.settle(time)
    return result_of(running, query), running.reason


def files(case: QueryCase, query: Query) -> Iterator[tuple[str | None, Path]]:
    """The files of the graphs that a query reads, with their names; None: the default graph."""
    dataset = query.dataset
    if not dataset.default and not dataset.named:
        yield from ((None, file) for file in case.data.default)
        yield from case.data.named
        return
    given = dict(case.data.named)
    for name in dataset.default:
        yield None, given.get(name, case.text.parent / name.rpartition("/")[2])
    for name in dataset.named:
        yield name, given.get(name, case.text.parent / name.rpartition("/")[2])


def streamed(feed: list[tuple[TripleIndex, Triple]]) -> Iterator[Step]:
    """Insertions, with junk that comes and goes among them."""
    random = Random(0)
    junk = IRI("http://example.org/junk")
    for index, (subject, predicate, object_) in feed[:40]:
        noise: list[Triple] = [
            (subject, predicate, Literal("junk")),
            (junk, predicate, object_),
            (subject, junk, object_),
            (subject, predicate, object_),
        ]
        yield from ((index, each, True) for each in noise)
        random.shuffle(noise)
        yield from ((index, each, False) for each in noise)
    yield from ((index, triple, True) for index, triple in feed)


def triple_of(quad: ox.Quad) -> Triple:
    """The triple of a quad, as the knowledge base has it."""
    found: Any = tuple(map(from_oxigraph, (quad.subject, quad.predicate, quad.object)))
    return found  # type: ignore[no-any-return]


def result_of(running: ContinuousQuery, query: Query) -> Result:
    """What a query answers now, as the suites compare it."""
    if isinstance(query.form, Ask):
        return bool(running.result())
    if isinstance(query.form, Construct):
        parts: Any = (map(to_oxigraph, triple) for triple in running.graph())
        return Graph(tuple(ox.Triple(*each) for each in parts))
    return Solutions(
        tuple(
            {
                name: to_oxigraph(term)
                for name, term in zip(running.variables, row, strict=True)
                if term is not None
            }
            for row in running.result()
        )
    )
