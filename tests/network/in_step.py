"""Graphs that a network and Oxigraph both hold, and a query over them at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from sensorstream.errors import NotIncremental
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import anew, plan_in_step
from sensorstream.network.query_sources import DEFAULT, Sources, TripleSource
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Pattern, Project, TriplePattern, Variable
from sensorstream.sparql.variable_scope import in_scope
from sensorstream.sparql.walk import nodes
from tests.network.oracle import GRAPHS, LITERALS, NODES, Oracle, subtract, triples, values

ANCHOR = IRI("http://example.org/anchor")
Change = tuple[Triple, IRI | None]
changes = st.lists(
    st.lists(st.tuples(triples, st.sampled_from((None, None, None, *GRAPHS))), max_size=4),
    min_size=1,
    max_size=6,
)


SOURCES = Sources(named={name: TripleSource(name, name) for name in GRAPHS})


class World:
    """Graphs that a network and Oxigraph both hold."""

    def __init__(self) -> None:
        self.default = TripleIndex()
        self.named = {name: TripleIndex() for name in GRAPHS}
        self.oracle = Oracle()
        self.network = Network()

    def plan(self, pattern: Pattern) -> Plan:
        return plan_in_step(pattern, SOURCES)

    def build(self, plan: Plan) -> Node:
        indexes = {SOURCES.named[name]: index for name, index in self.named.items()}
        return build(plan, self.network, {DEFAULT: self.default, **indexes})

    def toggle(self, change: Change) -> None:
        """Put a triple in where it is missing, take it out where it is there."""
        triple, graph = change
        index = self.default if graph is None else self.named[graph]
        if triple in index:
            index.discard(triple)
            self.oracle.remove(triple, graph)
        else:
            index.add(triple)
            self.oracle.add(triple, graph)

    def anchor(self) -> None:
        """Let every constant be a node of every graph.

        A path of length zero begins at any constant; Oxigraph finds it at nodes only.
        """
        for graph in (None, *GRAPHS):
            for term in (*NODES, *LITERALS):
                self.toggle(((NODES[0], ANCHOR, term), graph))


def has_fixed_path(pattern: Pattern) -> bool:
    return any(
        isinstance(node, TriplePattern)
        and not isinstance(node.predicate, IRI | Variable)
        and not (isinstance(node.subject, Variable) and isinstance(node.object, Variable))
        for node in nodes(pattern)
    )


def selected(pattern: Pattern) -> Project:
    names = sorted(in_scope(pattern))
    return Project(pattern, tuple(map(Variable, names)))


Answer = dict[tuple[Any, ...], int]


def follow(
    world: World, project: Project, stream: list[list[Change]], fallback: bool
) -> Iterator[tuple[Answer, Answer, Answer]]:
    """At the start and after every instant: the sum of the deltas, the whole, and Oxigraph's."""
    if has_fixed_path(project):
        world.anchor()
        world.network.settle()
    try:
        plan = (
            anew(project, SOURCES, None, NotIncremental("a test"))
            if fallback
            else world.plan(project)
        )
    except NotIncremental:
        assume(False)
        return
    node = world.build(plan)
    answer: Counter[tuple[Any, ...]] = values(node.rows())
    yield dict(answer), values(node.rows()), world.oracle.answer(project)

    def listen(added: list[Row], removed: list[Row]) -> None:
        answer.update(values(added))
        answer.subtract(values(removed))

    world.network.listen(node, listen)
    for instant in stream:
        for change in instant:
            world.toggle(change)
        world.network.settle()
        yield subtract(answer), values(node.rows()), world.oracle.answer(project)


def _deaf(_added: list[Row], _removed: list[Row]) -> None:
    """Hear nothing."""
