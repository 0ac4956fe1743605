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
        kb.add(Origin.STATIC, sorted(graph))
        rules = numbered(unrolled(rule_set.rules, kb.index))
        settled = program(kb, Origin.STATIC_INFERRED, rules)
        settled.settle(0)
        assert not settled.faults
        graph = set(kb.index)
        # Conclusions may make other nodes lists of a rule.
        if numbered(unrolled(rule_set.rules, kb.index)) == rules:
            return graph


class World:
    """A static graph that is closed, and a window with what follows from it.

    What streams or is concluded of the schema is added to the static graph for as long as it holds.
    """

    def __init__(self, rule_set: RuleSet, static: set[Triple]) -> None:
        self.rule_set = rule_set
        self.static = static
        self.window: set[Triple] = set()
        self._kinds = schema_kinds(rule_set.rules)
        self._start()

    @property
    def graph(self) -> set[Triple]:
        """All that holds."""
        return set(self._kb.index)

    def change(self, added: Iterable[Triple] = (), removed: Iterable[Triple] = ()) -> None:
        """Change the window, and update what follows from it."""
        delta = Delta(0, added=tuple(added), removed=tuple(removed))
        self.window = (self.window - set(delta.removed)) | set(delta.added)
        self._kb.apply(Origin.WINDOW, delta)
        self._program.settle(0)
        if (delta.removed and self._streamed) or self._of_schema() != self._streamed:
            self._start()

    def _start(self) -> None:
        streamed: set[Triple] = {each for each in self.window if self._is_schema(each)}
        while True:
            self._streamed = streamed
            self._closed = concluded(self.rule_set, self.static | streamed)
            self._kb = KnowledgeBase()
            self._kb.add(Origin.STATIC, sorted(self._closed))
            rules = specialise(self.rule_set.rules, self._kb.index)
            self._kb.apply(Origin.WINDOW, Delta(0, added=tuple(sorted(self.window))))
            self._program = program(self._kb, Origin.INFERRED, rules)
            self._program.settle(0)
            assert not self._program.faults
            streamed = self._of_schema() | streamed
            if streamed == self._streamed:
                return

    def _of_schema(self) -> set[Triple]:
        """What streams or is concluded from it, and is of the schema."""
        streamed = self._kb.triples(Origin.WINDOW | Origin.INFERRED)
        new = {each for each in streamed if self._is_schema(each) and each not in self._closed}
        return new | self._streamed

    def _is_schema(self, triple: Triple) -> bool:
        return any(kind.meets(Kind(triple[1], triple[2])) for kind in self._kinds)
