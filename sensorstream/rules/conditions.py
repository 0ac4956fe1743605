"""The interface between rules and the evaluators of their SPARQL conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from sensorstream.errors import QueryError, RuleError
from sensorstream.kb.snapshot import OxigraphSnapshot
from sensorstream.model.terms import Term
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.processes.fork_once import run_apart
from sensorstream.rules.followed_solutions import Followed
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query, TriplePattern, Variable
from sensorstream.sparql.oxigraph_query import STEPS, oxigraph_text, steps_of
from sensorstream.sparql.variable_scope import certain, in_scope
from sensorstream.sparql.walk import nodes, rebuilt

Solution: TypeAlias = Mapping[str, Term]
"""Variables (without the question mark) that have a value."""


def as_text(solution: Solution) -> list[tuple[str, str]]:
    """A solution as sortable text: an evaluator may answer in any order."""
    return sorted((name, value.n3) for name, value in solution.items())


@dataclass(frozen=True, slots=True, eq=False)
class ConditionQuery:
    """A checked SELECT query of a rule, compared by identity, not by its text.

    ``given`` names the variables whose value comes from the trigger or an earlier condition; the
    query returns each of them. ``asks``: only the existence of a solution matters. ``text`` is
    ``query`` for Oxigraph. ``named``: the query reads named graphs. ``compared``: Oxigraph is not
    given the values; ``text`` has no LIMIT then, and all solutions are compared with them.
    """

    query: Query
    text: str
    named: bool
    given: frozenset[str]
    asks: bool = False
    compared: bool = False

    def values_in(self, solution: Solution) -> dict[str, Term]:
        """The values that a solution gives it; what has none there, the query may bind."""
        return {name: solution[name] for name in self.given if name in solution}


def condition_query(query: Query, given: Collection[str], *, asks: bool = False) -> ConditionQuery:
    """A SELECT that :func:`~sensorstream.sparql.answerable.check_answerable` has passed."""
    asked, compared = _apart(query, frozenset(given))
    dataset = query.dataset
    named = bool(dataset.default or dataset.named) or any(
        isinstance(node, algebra.Graph) for node in nodes(query.form)
    )
    return ConditionQuery(query, oxigraph_text(asked), named, frozenset(given), asks, compared)


def _apart(query: Query, given: frozenset[str]) -> tuple[Query, bool]:
    """The query for Oxigraph, and whether its solutions have to be compared with values.

    Oxigraph puts the values given into both sides of a MINUS: sides that share no variable, and so
    remove nothing, would share these. Such a MINUS is left out. Where its sides may share a
    variable in some solutions only, Oxigraph gets no values.
    """
    form = query.form
    if not given or not isinstance(form, algebra.Select):
        return query, False
    pattern = rebuilt(form.pattern, lambda node: _without_idle(node, given))
    compared = any(
        isinstance(each, algebra.Minus) and not certain(each.right) & (certain(each.left) | given)
        for each in nodes(pattern)
    )
    if compared and isinstance(pattern, algebra.Slice):
        pattern = pattern.pattern
    return replace(query, form=replace(form, pattern=pattern)), compared


def _without_idle(node: object, given: frozenset[str]) -> object:
    if isinstance(node, algebra.Minus) and in_scope(node.right).isdisjoint(
        in_scope(node.left) | given
    ):
        return node.left
    return node


class ConditionEvaluator:
    """Answers queries over the present union of the static, window and inferred graphs."""

    lifted: bool
    """Whether what they may take is not limited now; see :func:`unlimited`."""

    def begin(self) -> None:
        """A message begins: its rules have the whole budget."""

    def check(self, rules: Iterable[Sequence[ConditionQuery]]) -> None:
        """Check that these rules can be prepared for now; those prepared for before stay.

        Raises:
            Overrun: to prepare for all of them takes more than the limits.
        """

    def prepare(self, rules: Iterable[Sequence[ConditionQuery]]) -> None:
        """Prepare for the conditions of these rules instead of those prepared for before.

        Other queries are answered too, possibly at a higher cost.
        """

    def settle(self) -> None:
        """Take in what has changed since the last call or answer.

        Raises:
            Overrun: a condition takes more than its limits; it is filled anew at its next use.
        """

    def select(self, query: ConditionQuery, bindings: Solution) -> list[dict[str, Term]]:
        """All solutions that agree with ``bindings`` (of the query's given variables).

        Raises:
            RuleError: the query cannot be answered.
            Overrun: it, or all of the message's, takes more than the limits.
        """
        raise NotImplementedError

    def ask(self, query: ConditionQuery, bindings: Solution) -> bool:
        """Whether there is a solution that agrees with ``bindings``.

        Raises:
            RuleError: the query cannot be answered.
            Overrun: as :meth:`select`.
        """
        raise NotImplementedError

    def follow(
        self, begins: ConditionQuery, ends: ConditionQuery | None, *, has_end: bool
    ) -> Followed | None:
        """Which solutions of a condition, and of its end, a change concerns.

        ``ends`` is the query of the end; without one, an end may still hold for all solutions.

        Returns:
            None: it is not known; all have to be looked at.

        Raises:
            Overrun: as :meth:`settle`.
        """
        return None


@contextmanager
def unlimited(evaluator: ConditionEvaluator) -> Iterator[None]:
    """Lift the limits for changes that no rule is to blame for, and take them in at the end."""
    before, evaluator.lifted = evaluator.lifted, True
    try:
        yield
        evaluator.settle()
    finally:
        evaluator.lifted = before


class SnapshotEvaluator(ConditionEvaluator):
    """Evaluates anew on an Oxigraph snapshot at every call: it has nothing to prepare or settle.

    Whoever asks counts what a message takes. What may take long is evaluated in a fork, which ends
    after the seconds of ``limits``, or with one more than their rows.
    """

    def __init__(self, snapshot: OxigraphSnapshot, limits: Limits = NO_LIMITS) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self.lifted = False

    def select(self, query: ConditionQuery, bindings: Solution) -> list[dict[str, Term]]:
        return self._found(query, bindings, self._limits.rows)

    def ask(self, query: ConditionQuery, bindings: Solution) -> bool:
        return bool(self._found(query, bindings, 0))

    def _found(
        self, query: ConditionQuery, bindings: Solution, most: int | None
    ) -> list[dict[str, Term]]:
        """The solutions; of more than ``most`` one more."""
        seconds = self._limits.seconds
        stop = None if most is None else most + 1
        try:
            if seconds is None or self.lifted or self._steps(query, bindings) <= STEPS:
                return list(islice(self._solutions(query, bindings), None if self.lifted else stop))
            self._snapshot.sync(named=query.named)
            return run_apart(
                lambda: list(islice(self._solutions(query, bindings), stop)),
                seconds,
                what="a condition that is evaluated anew",
                setting=f"{self._limits.settings}_seconds",
            )
        except QueryError as error:
            raise RuleError(f"a condition cannot be evaluated: {error.message}") from None

    def _steps(self, query: ConditionQuery, bindings: Solution) -> float:
        index = self._snapshot.index

        def count(pattern: TriplePattern) -> int:
            s, p, o = (
                bindings.get(each.name) if isinstance(each, Variable) else each
                for each in (pattern.subject, pattern.predicate, pattern.object)
            )
            return index.most(s, p, o)

        return steps_of(query.query.form, count, len(index))

    def _solutions(self, query: ConditionQuery, bindings: Solution) -> Iterator[dict[str, Term]]:
        dataset = query.query.dataset
        found = self._snapshot.solutions(
            query.text,
            {} if query.compared else bindings,
            named=query.named,
            dataset=bool(dataset.default or dataset.named),
        )
        return _agreeing(query, bindings, found) if query.compared else found


def _agreeing(
    query: ConditionQuery, bindings: Solution, found: Iterable[dict[str, Term]]
) -> Iterator[dict[str, Term]]:
    """The solutions of a compared query that agree with values, within its LIMIT."""
    agreeing = (
        {**bindings, **each}
        for each in found
        if all(each.get(name, value) == value for name, value in bindings.items())
    )
    pattern = query.query.form.pattern
    if not isinstance(pattern, algebra.Slice):
        return agreeing
    end = None if pattern.limit is None else pattern.offset + pattern.limit
    return islice(agreeing, pattern.offset, end)
