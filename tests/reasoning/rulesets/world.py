"""What rules conclude: from a static graph, and from a window by rules specialised to the graph."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.recursion.program import Program
from sensorstream.network.recursion.reads import Kind
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.network.sources import Source, Sources
from sensorstream.reasoning.rulesets.lists import unrolled
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.schema_vocabulary import schema_kinds
from sensorstream.reasoning.rulesets.specialise import numbered, specialise
from sensorstream.sparql.algebra import Pattern
from tests.reasoning.rulesets.graphs import indexed


def program(kb: KnowledgeBase, origin: Origin, rules: Iterable[DerivationRule]) -> Program:
    """The rules over the graphs of a knowledge base."""
    graph = Source(id(kb.index), "graphs")

    def of(network: Network, body: Pattern) -> Node:
        return build(plan_in_step(body, Sources(graph), None), network, {graph: kb.index})

    return Program(kb, origin, rules, of)


def concluded(rule_set: RuleSet, static: set[Triple]) -> set[Triple]:
    """The static graph and what follows from it, by the rules as they are but for their lists."""
    graph = static | set(rule_set.facts)
    while True:
        kb = KnowledgeBase()
        kb.add(Origin.STATIC, sorted(static | set(rule_set.facts)))
        rules = unrolled(rule_set.rules, indexed(graph))
        settled = program(kb, Origin.STATIC_INFERRED, numbered(rules))
        settled.settle(0)
        assert not settled.faults
        if set(kb.index) == graph:
            return graph
        graph = set(kb.index)


class World:
    """A static graph that is closed, and a window with what follows from it."""

    def __init__(self, rule_set: RuleSet, static: set[Triple]) -> None:
        self.kb = KnowledgeBase()
        self.rule_set = rule_set
        self.closed = concluded(rule_set, static)
        self.kb.add(Origin.STATIC, sorted(self.closed))
        self.rules = specialise(rule_set.rules, indexed(self.closed))
        self.program = program(self.kb, Origin.INFERRED, self.rules)
        self._kinds = schema_kinds(rule_set.rules)

    def change(self, added: Iterable[Triple] = (), removed: Iterable[Triple] = ()) -> None:
        """Change the window; where the schema changes with it, specialise anew."""
        self.kb.apply(Origin.WINDOW, Delta(0, added=tuple(added), removed=tuple(removed)))
        self.program.settle(0)
        rules = specialise(self.rule_set.rules, self.kb.index)
        while {rule.body for rule in rules} != {rule.body for rule in self.rules}:
            self.rules = rules
            self.program.close(0)
            self.program = program(self.kb, Origin.INFERRED, rules)
            self.program.settle(0)
            rules = specialise(self.rule_set.rules, self.kb.index)

    def is_schema(self, triple: Triple) -> bool:
        """Whether the rules take a triple for schema."""
        return any(kind.meets(Kind(triple[1], triple[2])) for kind in self._kinds)
