"""Conditions of rules as continuous queries: answered from results that the network maintains."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final

from sensorstream.errors import NotIncremental, Overrun, QueryError, UnsupportedQuery
from sensorstream.kb.graph_changes import NamedGraphs
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import Term
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node, operators
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import Sources, TripleSource
from sensorstream.rules.conditions import ConditionQuery, Reevaluator, Solution, index_of
from sensorstream.rules.followed_solutions import ContinuousCondition, Followed
from sensorstream.rules.given_variables import GIVEN, with_given, with_keys
from sensorstream.sparql.algebra import Project

_LOG: Final = logging.getLogger(__name__)
_REFUSED: Final = (NotIncremental, UnsupportedQuery, QueryError, Overrun)
"""The reasons why a condition cannot be kept in step, or not within its limits."""
_PLANS: Final = 1024
"""The number of plans that are kept."""


@lru_cache(maxsize=_PLANS)
def planned(query: ConditionQuery, names: frozenset[str] | None) -> tuple[Plan, Sources]:
    """The plan of a condition for which some variables are given.

    ``names`` None: the plan that finds the keys for which the condition has a solution.

    Raises:
        NotIncremental, UnsupportedQuery, QueryError: it cannot be kept in step.
    """
    asked = query.query
    pattern = asked.form.pattern
    if names is None:
        pattern, given = (
            with_keys(pattern, query.given),
            TripleSource((query, "keys"), "what may end"),
        )
    else:
        pattern, given = (
            with_given(pattern, names),
            TripleSource((query, names), "the values given"),
        )
        pattern = Project(pattern, ()) if query.asks else pattern
    sources = query.sources(pattern, given)
    return plan_in_step(pattern, sources, asked.base), sources


@contextmanager
def unlimited(evaluator: ConditionEvaluator) -> Iterator[None]:
    """Lift the limits for changes that no rule causes, and take them in at the end."""
    before, evaluator.lifted = evaluator.lifted, True
    try:
        yield
        evaluator.settle()
    finally:
        evaluator.lifted = before


class ConditionEvaluator:
    """Answers conditions over the present union of the static, window and inferred graphs.

    Conditions it was prepared for are answered from a network over the knowledge base: the cost
    depends on the answer and on the change, not on the size of the knowledge base. Others, and
    those that cannot be kept in step, are evaluated anew.

    ``limits`` are those of an operator in one instant, and of all answers in one message.
    """

    def __init__(self, kb: KnowledgeBase, limits: Limits = NO_LIMITS) -> None:
        self.anew: dict[ConditionQuery, str] = {}
        """The conditions that are evaluated anew each time, and why."""
        self.whole: dict[ConditionQuery, str] = {}
        """The conditions of ``when`` whose solutions cannot be followed one by one, and why."""
        self._kb = kb
        self._limits = limits
        self._rows = 0
        self._seconds = 0.0
        self._network = Network(limits)
        self._graphs = NamedGraphs(kb)
        self._conditions: dict[tuple[ConditionQuery, frozenset[str]], ContinuousCondition] = {}
        self._in_step: set[ConditionQuery] = set()
        # Keyed by the condition, with the operator that finds the solutions that end.
        self._followed: dict[ConditionQuery, tuple[Followed, Node | None]] = {}
        # Prepared for the rules that were checked last, until others are prepared for.
        self._checked: ConditionEvaluator | None = None

    def check(self, rules: Iterable[Sequence[ConditionQuery]]) -> None:
        """Check that these rules can be prepared now; the prepared ones stay.

        :meth:`prepare` then reuses the result. Raises Overrun if that takes more than the limits.
        """
        self._forget_checked()
        checked = ConditionEvaluator(self._kb, self._limits)
        try:
            with checked._network.budget.alone():
                checked._fill(rules)
        except BaseException:
            checked.close()
            raise
        self._checked = checked

    def prepare(self, rules: Iterable[Sequence[ConditionQuery]]) -> None:
        """Compile the conditions of these rules, and remove all others."""
        rules = [tuple(queries) for queries in rules]
        lifted, checked = self.lifted, self._checked
        if checked is None or checked.queries != set(chain.from_iterable(rules)):
            self._forget_checked()
            checked = ConditionEvaluator(self._kb, self._limits)
            with unlimited(checked):
                checked._fill(rules)
        self.close()
        self._network, self._graphs = checked._network, checked._graphs
        self._conditions, self._in_step = checked._conditions, checked._in_step
        self._followed, self.whole = checked._followed, checked.whole
        self.anew, self._checked = checked.anew, None
        self.lifted = lifted

    @property
    def queries(self) -> set[ConditionQuery]:
        """The conditions that it is prepared for."""
        return self._in_step | self.anew.keys()

    def _fill(self, rules: Iterable[Sequence[ConditionQuery]]) -> None:
        for query in chain.from_iterable(rules):
            self._in_step.add(query)
            self._follow(query, query.given)
            self.settle()

    def _forget_checked(self) -> None:
        if self._checked is not None:
            self._checked.close()
            self._checked = None

    def close(self) -> None:
        """Stop watching the knowledge base."""
        self._network.close()
        self._graphs.close()

    @property
    def lifted(self) -> bool:
        """Whether the limits are lifted now; see :func:`unlimited`."""
        return self._network.budget.lifted

    @lifted.setter
    def lifted(self, lifted: bool) -> None:
        self._network.budget.lifted = lifted

    @cached_property
    def _reevaluator(self) -> Reevaluator:
        return Reevaluator(self._kb, self._limits)

    @property
    def _anew(self) -> Reevaluator:
        self._reevaluator.lifted = self.lifted
        return self._reevaluator

    def begin(self) -> None:
        """Begin a message: its rules have the whole budget."""
        self._rows, self._seconds = 0, 0.0

    def settle(self) -> None:
        """Take in the changes since the last call or answer.

        Raises Overrun if a condition exceeds its limits; it is filled anew at its next use.
        """
        self._network.settle()
        faults = self._network.faults
        overrun: Overrun | None = None
        while faults:
            node, error = next(iter(faults.items()))
            broken = [key for key, c in self._conditions.items() if node in operators(c.root)]
            ends = [
                query
                for query, (_, end) in self._followed.items()
                if end and node in operators(end)
            ]
            told = "" if isinstance(error, Overrun) else f"{type(error).__name__}: {error}"
            if told:
                _LOG.error("internal error in '%s'", node.describe(), exc_info=error)
            for query in ends:
                self._leave(query)
                if told:
                    self.whole[query] = told
                else:
                    overrun = overrun or Overrun(f"the end of the condition {query.text}: {error}")
            for key in broken:
                if told:
                    self._give_up(key[0], told)
                else:
                    self._drop(key)
                    overrun = overrun or Overrun(f"the condition {key[0].text}: {error}")
            faults.pop(node, None)
        if overrun is not None:
            raise overrun

    def select(self, query: ConditionQuery, bindings: Solution) -> list[dict[str, Term]]:
        """The solutions that agree with ``bindings`` (of the query's given variables).

        Raises:
            RuleError: the query cannot be answered.
            Overrun: it, or all queries of the message together, exceed the limits.
        """
        start = self._limits.counter()
        found = self._answer(query, bindings)
        solutions = self._anew.select(query, bindings) if found is None else found.solutions()
        self._charge(len(solutions), start)
        return solutions

    def ask(self, query: ConditionQuery, bindings: Solution) -> bool:
        """Whether there is a solution that agrees with ``bindings``; raises as :meth:`select`."""
        start = self._limits.counter()
        found = self._answer(query, bindings)
        holds = self._anew.ask(query, bindings) if found is None else found.holds
        self._charge(1, start)
        return holds

    def follow(
        self, begins: ConditionQuery, ends: ConditionQuery | None, *, has_end: bool
    ) -> Followed | None:
        """The solutions of a condition, and of its end, that a change concerns.

        ``ends`` is the query of the end; without one, an end may still hold for all solutions.
        None: not known, all must be looked at. Raises Overrun as :meth:`settle` does.
        """
        if begins not in self._followed and begins not in self.whole:
            self.settle()
            found = self._followed_anew(begins, ends, has_end)
            if found is not None:
                self._followed[begins] = found
        return self._followed[begins][0] if begins in self._followed else None

    def _followed_anew(
        self, begins: ConditionQuery, ends: ConditionQuery | None, has_end: bool
    ) -> tuple[Followed, Node | None] | None:
        if begins not in self._in_step:
            return None
        condition = self._conditions.get((begins, frozenset()))
        if condition is None:
            # It exceeded the limits, and was dropped.
            condition = self._follow(begins, frozenset())
        if condition is None:
            return None
        followed = Followed(condition, self._read, has_end=has_end)
        end: Node | None = None
        if ends is not None and ends.given:
            if loose := sorted(ends.given - condition.root.certain):
                self.whole[begins] = f"?{loose[0]} may have no value when its end is looked for"
                return None
            try:
                end = self._built(planned(ends, None), followed.table)
            except _REFUSED as error:
                self._network.sweep()
                if isinstance(error, Overrun):
                    raise
                self.whole[begins] = error.message
                return None
            self._network.listen(end, followed.ended)
        self._network.listen(condition.root, followed.begun)
        return followed, end

    def _leave(self, begins: ConditionQuery) -> None:
        """Stop following the solutions of a condition."""
        if begins not in self._followed:
            return
        followed, end = self._followed.pop(begins)
        followed.is_closed = True
        if end is not None:
            self._network.leave(end, followed.ended)
        self._network.leave(self._conditions[begins, frozenset()].root, followed.begun)

    def _read(self, rows: int) -> None:
        """Settle the network, and count rows as read."""
        # Most rules wait for what no message brings: then there is nothing to measure, and the
        # processor time of a thread takes the system to tell.
        start = None if self._network.is_settled else self._limits.counter()
        self.settle()
        self._charge(rows, start)

    def _charge(self, rows: int, start: float | None) -> None:
        """Count an answer that was asked for at ``start``; None: it took no time."""
        limits = self._limits
        self._rows += rows
        if start is not None:
            self._seconds += limits.counter() - start
        if self.lifted:
            return
        if limits.rows is not None and self._rows > limits.rows:
            raise Overrun(
                f"more than {limits.rows:,} solutions of conditions in one message; "
                f"the setting {limits.settings}_rows raises the limit"
            )
        if limits.seconds is not None and self._seconds > limits.seconds:
            raise Overrun(
                f"more than {limits.seconds:g} s for conditions in one message; "
                f"the setting {limits.settings}_seconds raises the limit"
            )

    def _answer(self, query: ConditionQuery, bindings: Solution) -> ContinuousCondition | None:
        """The condition with these values; None: it is evaluated anew."""
        if query not in self._in_step:
            return None
        names = frozenset(bindings)
        found = self._conditions.get((query, names))
        if found is None:
            # A variable of an OPTIONAL part has no value.
            self.settle()
            found = self._follow(query, names)
            if found is None:
                return None
        found.give(bindings)
        self.settle()
        return found if query in self._in_step else None

    def _follow(self, query: ConditionQuery, names: frozenset[str]) -> ContinuousCondition | None:
        """Compile a condition for which the variables ``names`` are given."""
        given = TripleIndex()
        try:
            root = self._built(planned(query, names), given)
            self._network.budget.check_expected(root.expected())
            condition = ContinuousCondition(root, given)
        except _REFUSED as error:
            self._network.sweep()
            if isinstance(error, Overrun):
                raise
            self._give_up(query, error.message)
            return None
        self._conditions[query, names] = condition
        self._network.listen(root, condition.changed)
        return condition

    def _give_up(self, query: ConditionQuery, reason: str) -> None:
        """Evaluate a condition anew from now on."""
        if query in self._in_step:
            self._in_step.remove(query)
            self.anew[query] = reason
            for key in [key for key in self._conditions if key[0] is query]:
                self._drop(key)

    def _drop(self, key: tuple[ConditionQuery, frozenset[str]]) -> None:
        if not key[1]:
            self._leave(key[0])
        condition = self._conditions.pop(key)
        self._network.leave(condition.root, condition.changed)

    def _built(self, made: tuple[Plan, Sources], given: TripleIndex) -> Node:
        plan, sources = made
        read = (*sources.default.graphs, *sources.named.values())
        indexes = {source: index_of(source, self._kb, self._graphs) for source in read}
        return build(plan, self._network, {**indexes, sources.windows[GIVEN]: given})
