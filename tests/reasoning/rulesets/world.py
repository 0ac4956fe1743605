"""What rules conclude: from a static graph, and from a window by rules specialised to the graph."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import Sources, TripleSource
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.schema_lists import schema_kinds, unrolled
from sensorstream.reasoning.rulesets.specialise import Specialisation, numbered
from sensorstream.sparql.algebra import Pattern


def program(
    kb: KnowledgeBase, origin: Origin, rules: Iterable[DerivationRule]
) -> DerivationProgram:
    """The rules over the graphs of a knowledge base."""
    graph = TripleSource(id(kb.index), "graphs")

    def of(network: Network, body: Pattern) -> Node:
        return build(plan_in_step(body, Sources(graph), None), network, {graph: kb.index})

    return DerivationProgram(kb, origin, rules, of)


def specialise(rules: Iterable[DerivationRule], index: TripleIndex) -> list[DerivationRule]:
    """The rules about what streams, for the schema in an index."""
    return Specialisation(rules, index, lambda triple: True).rules


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

    What makes the specialised rules outdated is added to the static graph for as long as it holds.
    """

    def __init__(self, rule_set: RuleSet, static: set[Triple]) -> None:
        self.rule_set = rule_set
        self.static = static
        self.window: set[Triple] = set()
        self.starts = 0
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
        change = self._program.settle(0)
        if (delta.removed and self._streamed) or self._outdated((*delta.added, *change.added)):
            self._start()

    def _start(self) -> None:
        self._streamed: set[Triple] = set()
        while True:
            self.starts += 1
            closed = concluded(self.rule_set, self.static | self._streamed)
            self._kb = KnowledgeBase()
            self._kb.add(Origin.STATIC, sorted(closed))
            self._special = Specialisation(self.rule_set.rules, self._kb.index, self._is_static)
            self._kb.apply(Origin.WINDOW, Delta(0, added=tuple(sorted(self.window))))
            self._program = program(self._kb, Origin.INFERRED, self._special.rules)
            change = self._program.settle(0)
            assert not self._program.faults
            outdated = self._outdated((*self.window, *change.added)) - closed
            if not outdated:
                return
            self._streamed |= outdated

    def _outdated(self, triples: Iterable[Triple]) -> set[Triple]:
        """What makes other rules."""
        return {
            each
            for each in triples
            if any(kind.meets(TriplesRead(each[1], each[2])) for kind in self._kinds)
            and not self._is_static(each)
            and self._special.is_outdated(each, self._kb.index, self._is_static)
        }

    def _is_static(self, triple: Triple) -> bool:
        return bool(self._kb.marks(triple) & Origin.STATIC)
