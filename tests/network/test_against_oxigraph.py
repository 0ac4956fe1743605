"""After every instant the network's answer is Oxigraph's answer on the same graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensorstream.errors import NotIncremental
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.compile import Compiler
from sensorstream.network.network import Network
from sensorstream.network.reevaluate import Reevaluated
from sensorstream.network.rows import Row
from sensorstream.network.scope import in_scope
from sensorstream.network.sources import Sources
from sensorstream.sparql.algebra import Pattern, Project, TriplePattern, Variable
from sensorstream.sparql.walk import nodes
from tests.network.oracle import (
    GRAPHS,
    LITERALS,
    NODES,
    Oracle,
    patterns,
    subtract,
    triples,
    values,
)

ANCHOR = IRI("http://example.org/anchor")
Change = tuple[Triple, IRI | None]
changes = st.lists(
    st.lists(st.tuples(triples, st.sampled_from((None, None, None, *GRAPHS))), max_size=4),
    min_size=1,
    max_size=6,
)


class World:
    """Graphs that a network and Oxigraph both hold."""

    def __init__(self) -> None:
        self.default = TripleIndex()
        self.named = {name: TripleIndex() for name in GRAPHS}
        self.oracle = Oracle()
        self.network = Network()

    @property
    def sources(self) -> Sources:
        return Sources(self.default, self.named)

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
        node = (
            world.network.share(
                "anew", lambda: Reevaluated(project, None, world.sources, world.network.dispatcher)
            )
            if fallback
            else Compiler(world.network, world.sources).compile(project)
        )
    except NotIncremental:
        assume(False)
        return
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


@settings(max_examples=300, deadline=None)
@given(before=changes, pattern=patterns(), stream=changes)
def test_a_pattern_is_kept_in_step(
    before: list[list[Change]], pattern: Pattern, stream: list[list[Change]]
) -> None:
    world = World()
    for instant in before:
        for change in instant:
            world.toggle(change)
    for summed, whole, expected in follow(world, selected(pattern), stream, fallback=False):
        assert summed == expected
        assert whole == expected


@settings(max_examples=40, deadline=None)
@given(pattern=patterns(), stream=changes)
def test_what_is_evaluated_anew_is_right_too(pattern: Pattern, stream: list[list[Change]]) -> None:
    for summed, whole, expected in follow(World(), selected(pattern), stream, fallback=True):
        assert summed == expected
        assert whole == expected


@settings(max_examples=60, deadline=None)
@given(first=patterns(depth=2), second=patterns(depth=2), stream=changes)
def test_queries_come_and_go_while_others_run(
    first: Pattern, second: Pattern, stream: list[list[Change]]
) -> None:
    world = World()
    compiler = Compiler(world.network, world.sources)
    try:
        one = compiler.compile(selected(first))
        world.network.listen(one, _deaf)
        other = compiler.compile(selected(second))
        world.network.listen(other, _deaf)
    except NotIncremental:
        assume(False)
        return
    for instant in stream:
        for change in instant:
            world.toggle(change)
        world.network.settle()
    world.network.leave(one, _deaf)
    for summed, whole, expected in follow(world, selected(second), stream, fallback=False):
        assert summed == expected
        assert whole == expected
    world.network.leave(other, _deaf)


@settings(max_examples=30, deadline=None)
@given(pattern=patterns())
def test_a_network_without_queries_holds_nothing(pattern: Pattern) -> None:
    world = World()
    try:
        node = Compiler(world.network, world.sources).compile(selected(pattern))
    except NotIncremental:
        world.network.sweep()
    else:
        world.network.listen(node, _deaf)
        world.network.leave(node, _deaf)
    assert len(world.network) == 0


def _deaf(_added: list[Row], _removed: list[Row]) -> None:
    """Hear nothing."""
