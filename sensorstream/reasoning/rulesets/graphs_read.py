"""The graphs that the bodies of rules read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.kb.graph_changes import NamedGraphs
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import GRAPH_STATIC, GRAPH_WINDOW
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import Sources, TripleSource
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.sparql.algebra import Graph, Pattern
from sensorstream.sparql.walk import nodes

NAMED: Final = (GRAPH_STATIC, GRAPH_WINDOW)
"""What GRAPH may name: the graphs that rules do not write."""


_ANY: Final = Sources(named={name: TripleSource(name, "") for name in NAMED})


def check_plan(body: Pattern) -> None:
    """Check that operators can be made of a body, whatever the graphs hold.

    Raises:
        NotIncremental: it cannot be kept in step with deletions.
        UnsupportedQuery: it cannot be answered at all, as with an unknown function.
    """
    plan_in_step(body, _ANY, None)


class GraphsRead:
    """The graphs of a knowledge base: all as one, and those that some rules name. A named graph
    costs an index of its own; without rules that name it there is none.
    """

    def __init__(self, kb: KnowledgeBase, rules: Iterable[DerivationRule]) -> None:
        self.index = kb.index
        """All graphs together."""
        used = {part.name for rule in rules for part in nodes(rule.body) if isinstance(part, Graph)}
        self._graphs = NamedGraphs(kb)
        whole = TripleSource(id(kb.index), "graphs")
        self._indexes = {whole: kb.index}
        named: dict[IRI, TripleSource] = {}
        for name in NAMED:
            if name in used:
                index = self._graphs.index(name)
                named[name] = TripleSource(id(index), f"graph <{name}>")
                self._indexes[named[name]] = index
        self._sources = Sources(whole, named)

    def build(self, network: Network, body: Pattern) -> Node:
        """The operator of a body."""
        return build(plan_in_step(body, self._sources, None), network, self._indexes)

    def close(self) -> None:
        """Stop following the named graphs; a second call does nothing."""
        self._graphs.close()
