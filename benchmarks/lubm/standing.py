"""A reasoner and continuous queries over one knowledge base, fed with departments."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.build import build
from sensorstream.network.network import Listener, Network
from sensorstream.network.node import Node
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import DEFAULT, Sources
from sensorstream.network.rows import Row
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.sparql.query_parser import parse_query


@dataclass(slots=True)
class Times:
    """CPU seconds so far: of the window's writing, of the reasoner, and of the queries."""

    written: float = 0.0
    reasoned: float = 0.0
    answered: float = 0.0

    @property
    def together(self) -> float:
        """All of it."""
        return self.written + self.reasoned + self.answered


class Standing:
    """Queries that stand over what a reasoner makes of a window."""

    def __init__(self, reasoner: Reasoner, known: Ontology, queries: Sequence[str]) -> None:
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, known.triples)
        self.times = Times()
        self._reasoner = reasoner
        reasoner.start(self.kb)
        self._network = Network()
        self._roots = [self._operator(text) for text in queries]
        self.found = [0] * len(queries)
        """How many solutions of each query have come so far."""
        for number, each in enumerate(self._roots):
            self._network.listen(each, self._counter(number))

    def change(self, delta: Delta) -> None:
        """Take in a change of the window."""
        times = self.times
        begun = time.process_time()
        self.kb.apply(Origin.WINDOW, delta)
        written = time.process_time()
        self._reasoner.react(self.kb, delta)
        reasoned = time.process_time()
        self._network.settle()
        times.written += written - begun
        times.reasoned += reasoned - written
        times.answered += time.process_time() - reasoned

    def come(self, said: Sequence[Triple]) -> None:
        """Statements come; the window holds some of them perhaps already."""
        marks, mark = self.kb.marks, int(Origin.WINDOW)
        self.change(Delta(0, added=tuple(each for each in said if not marks(each) & mark)))

    def replace(self, said: Sequence[Triple]) -> None:
        """Statements come in the place of all that the window holds."""
        old, new = dict.fromkeys(self.kb.triples(Origin.WINDOW)), dict.fromkeys(said)
        self.change(
            Delta(
                0,
                added=tuple(each for each in new if each not in old),
                removed=tuple(each for each in old if each not in new),
            )
        )

    def _counter(self, number: int) -> Listener:
        def count(added: list[Row], removed: list[Row]) -> None:
            self.found[number] += len(added)

        return count

    def _operator(self, text: str) -> Node:
        query = parse_query(text)
        planned = plan_in_step(query.form.pattern, Sources(), None)
        return build(planned, self._network, {DEFAULT: self.kb.index})
