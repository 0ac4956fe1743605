"""A knowledge base and a window, as a program and the oracle see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pytest

from sensorstream.errors import ProgramError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import Sources, TripleSource
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.linear_rules import FlatClosure, parted
from sensorstream.sparql.algebra import Construct, Pattern
from sensorstream.sparql.query_parser import parse_query
from tests.network.recursion.oracle import WINDOW, rematerialised
from tests.network.recursion.strategies import Change

_PREFIXES: Final = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"


def rule(name: str, text: str) -> DerivationRule:
    """A rule from ``{ head } WHERE { body }``; names without a prefix are of example.org."""
    query = parse_query(f"{_PREFIXES} CONSTRUCT {text}")
    assert isinstance(query.form, Construct)
    return DerivationRule(name, query.form.template, query.form.pattern)


class World:
    """The program writes the inferred graph; the facts are the window graph."""

    def __init__(
        self,
        rules: Iterable[DerivationRule],
        linear: FlatClosure | None = None,
        known: Origin | None = None,
    ) -> None:
        self.kb = KnowledgeBase()
        self.window = TripleIndex()
        self.facts: dict[Triple, None] = {}
        self.program = DerivationProgram(
            self.kb, Origin.INFERRED, rules, self.build, linear=linear, known=known or Origin(0)
        )
        self.time = 0

    def build(self, network: Network, body: Pattern) -> Node:
        graph, window = (
            TripleSource(id(self.kb.index), "facts"),
            TripleSource(id(self.window), "window"),
        )
        sources = Sources(graph, {WINDOW: window}, {WINDOW: window})
        plan = plan_in_step(body, sources, None)
        return build(plan, network, {graph: self.kb.index, window: self.window})

    def change(self, changes: Iterable[Change]) -> None:
        for change in changes:
            triple = change.triple
            if isinstance(triple, int):
                there = list(self.window if change.in_window else self.facts)
                if not there:
                    continue
                triple = there[triple % len(there)]
            if change.in_window:
                toggle = self.window.discard if triple in self.window else self.window.add
                toggle(triple)
            elif triple in self.facts:
                del self.facts[triple]
                self.kb.apply(Origin.WINDOW, Delta(0, removed=(triple,)))
            else:
                self.facts[triple] = None
                self.kb.apply(Origin.WINDOW, Delta(0, added=(triple,)))

    def settle(self) -> Delta:
        self.time += 1
        return self.program.settle(self.time)

    def derived(self) -> set[Triple]:
        return set(self.kb.triples(Origin.INFERRED))

    def expected(self, layers: Iterable[Sequence[DerivationRule]]) -> set[Triple]:
        return rematerialised(layers, self.facts, self.window)


def check_derived(
    equality: Sequence[DerivationRule],
    rules: Sequence[DerivationRule],
    apart: bool,
    static: set[Triple],
    stream: list[list[Change]],
) -> None:
    """What holds at each instant is what the rules say; if ``apart``, flat rules work elsewhere."""
    linear, others = parted(rules) if apart else ([], rules)
    closure = FlatClosure(linear)
    world = World([*equality, *others], closure, Origin.STATIC)
    world.kb.add(Origin.STATIC, sorted(static))
    implied: set[Triple] = set()
    for each in stream:
        before = world.derived()
        world.change(each)
        facts = {*static, *world.facts}
        now = {new for one in facts for new in closure.conclusions(one)}
        world.program.hold(Delta(0, tuple(sorted(now - implied)), tuple(sorted(implied - now))))
        implied = now
        change = world.settle()
        after = world.derived()
        assert after | facts == facts | rematerialised([[*equality, *rules]], facts)
        assert (set(change.added), set(change.removed)) == (after - before, before - after)
        assert not world.program.faults


TRANSITIVE = rule("transitive", "{ ?x :p ?z } WHERE { ?x :p ?y . ?y :p ?z }")
TRUE = Literal("true", IRI("http://www.w3.org/2001/XMLSchema#boolean"))


def iri(name: str) -> IRI:
    return IRI(f"http://example.org/{name}")


def fact(text: str) -> Triple:
    s, p, o = text.split()
    return iri(s), iri(p), TRUE if o == "true" else iri(o)


def toggle(world: World, *facts: str) -> Delta:
    world.change(Change(fact(each), in_window=False) for each in facts)
    return world.settle()


def ring(size: int) -> list[str]:
    return [f"n{place} p n{(place + 1) % size}" for place in range(size)]


def refused(*rules: DerivationRule) -> str:
    with pytest.raises(ProgramError) as caught:
        World(rules)
    return caught.value.message
