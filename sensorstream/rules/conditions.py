"""The conditions of rules, and their evaluation anew: in Oxigraph, over copies kept in step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

from sensorstream.errors import QueryError, RuleError
from sensorstream.kb.graph_changes import GRAPH_MARKS, NamedGraphs
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import Term
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.network.copies import Copied, Copies, Merged
from sensorstream.network.plan.planner import whole_plan
from sensorstream.network.query_sources import DEFAULT, Sources, TripleSource, merged
from sensorstream.network.reevaluate import WholePattern
from sensorstream.rules.given_variables import GIVEN, given_triples, with_given
from sensorstream.sparql.algebra import Graph, Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.oxigraph_query import steps_of
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.walk import nodes

Solution: TypeAlias = Mapping[str, Term]
"""Variables (without the question mark) that have a value."""


def as_text(solution: Solution) -> list[tuple[str, str]]:
    """A solution as sortable text, because an evaluator may answer in any order."""
    return sorted((name, value.n3) for name, value in solution.items())


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ConditionQuery:
    """A checked SELECT query of a rule, compared by identity, not by its text.

    ``given`` names the variables whose value comes from the trigger or an earlier condition; the
    query returns each of them. ``asks``: only the existence of a solution matters.
    """

    query: Query
    given: frozenset[str]
    asks: bool = False

    @property
    def text(self) -> str:
        """The query as SPARQL."""
        return query_text(self.query)

    def values_in(self, solution: Solution) -> dict[str, Term]:
        """The values of the given variables in a solution; the query may bind those without one."""
        return {name: solution[name] for name in self.given if name in solution}

    def sources(self, pattern: Pattern, given: TripleSource) -> Sources:
        """The sources that names in a pattern of the query mean; ``given`` has the values."""
        dataset, default, known = self.query.dataset, DEFAULT, set(GRAPH_MARKS)
        if dataset.default or dataset.named:
            names = dict.fromkeys(dataset.default)
            default = merged(*(TripleSource(each, "graph of FROM") for each in names or [None]))
            known.intersection_update(dataset.named)
        read = {each.name for each in nodes(pattern) if isinstance(each, Graph)}
        if not any(isinstance(name, Variable) for name in read):
            known.intersection_update(read)
        named = {name: TripleSource(name, f"graph <{name}>") for name in sorted(known)}
        return Sources(default, named, {GIVEN: given})


def index_of(source: TripleSource, kb: KnowledgeBase, graphs: NamedGraphs) -> TripleIndex:
    """The graph that a condition reads: the union of the graphs, or one of them."""
    return kb.index if source == DEFAULT else graphs.index(source.key)


class Reevaluator:
    """Evaluates conditions anew at every call; the cost is their evaluation and the changes.

    The caller counts the cost of a message. Long evaluations run in a fork, which ends after the
    seconds of ``limits``, or with one row more than their rows.
    """

    def __init__(self, kb: KnowledgeBase, limits: Limits = NO_LIMITS) -> None:
        self.lifted = False
        """Whether the limits do not count."""
        self._kb = kb
        self._limits = limits
        self._graphs = NamedGraphs(kb)
        self._copies = Copies()
        self._given = TripleSource(GIVEN, "the values given")
        self._values = TripleIndex()
        self._copied: dict[TripleSource, Copied] = {self._given: self._values}
        # Keyed by the names of the variables that have values, with the names of the columns.
        self._ready: WeakKeyDictionary[
            ConditionQuery, dict[frozenset[str], tuple[WholePattern, Sequence[str]]]
        ] = WeakKeyDictionary()

    def select(self, query: ConditionQuery, bindings: Solution) -> list[dict[str, Term]]:
        """The solutions that agree with ``bindings``.

        Raises:
            RuleError: the query cannot be answered.
            Overrun: it takes more than its limits.
        """
        return self._solutions(query, bindings, None if self.lifted else self._limits.rows)

    def ask(self, query: ConditionQuery, bindings: Solution) -> bool:
        """Whether there is a solution; raises as :meth:`select`."""
        return bool(self._solutions(query, bindings, 0))

    def _solutions(
        self, query: ConditionQuery, bindings: Solution, most: int | None
    ) -> list[dict[str, Term]]:
        """The solutions; of more than ``most`` one more."""
        self._values.discard(*self._values)
        self._values.add(*given_triples(bindings))
        steps = 0.0 if self.lifted else self._steps(query, bindings)
        try:
            whole, columns = self._prepared(query, frozenset(bindings))
            rows = whole.rows(self._limits, steps, most, "condition")
        except QueryError as error:
            raise RuleError(f"a condition cannot be evaluated: {error.message}") from None
        return [
            {name: term for name, term in zip(columns, row, strict=False) if term is not None}
            for row in rows
        ]

    def _prepared(
        self, query: ConditionQuery, names: frozenset[str]
    ) -> tuple[WholePattern, Sequence[str]]:
        made = self._ready.setdefault(query, {})
        if names not in made:
            pattern = with_given(query.query.form.pattern, names)
            plan = whole_plan(pattern, query.sources(pattern, self._given), query.query.base)
            read = {source: self._index(source) for source in plan.sources}
            made[names] = WholePattern(plan, read, self._copies), plan.variables
        return made[names]

    def _index(self, source: TripleSource) -> Copied:
        if source not in self._copied:
            parts = [index_of(part, self._kb, self._graphs) for part in source.graphs]
            self._copied[source] = Merged(parts) if source.parts else parts[0]
        return self._copied[source]

    def _steps(self, query: ConditionQuery, bindings: Solution) -> float:
        index = self._kb.index

        def count(pattern: TriplePattern) -> int:
            s, p, o = (
                bindings.get(each.name) if isinstance(each, Variable) else each
                for each in (pattern.subject, pattern.predicate, pattern.object)
            )
            return index.most(s, p, o)

        return steps_of(query.query.form, count, len(index))
