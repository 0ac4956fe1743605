"""Conditions of semantic rules from syntax tree to functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from sensorstream.language import syntax
from sensorstream.model.terms import Term
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.conditions import ConditionQuery, Solution
from sensorstream.rules.effects import RuleHost
from sensorstream.rules.lineage import Block, blocks, members_of
from sensorstream.rules.reading import ask_query, parsed_condition, select_query
from sensorstream.rules.triggers import NO_SOLUTION, Solutions

Condition: TypeAlias = Callable[[RuleHost, Solutions], Solutions]
"""Keeps the solutions for which the condition holds; may bind further variables in each."""

_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = MappingProxyType(
    {
        "=": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)


@dataclass(frozen=True, slots=True)
class CompiledCondition:
    """A condition, ready to run.

    ``query``: its SPARQL; None: it costs little. ``returned`` are the variables that it gives a
    value, ``blocks`` the patterns that match what it found. ``negated``: it holds while the query
    has no solution.
    """

    test: Condition
    query: ConditionQuery | None = None
    returned: frozenset[str] = frozenset()
    blocks: tuple[Block, ...] = ()
    negated: bool = False


def compile_condition(
    condition: syntax.Condition, file: syntax.RuleFile, bound: frozenset[str]
) -> CompiledCondition:
    """A condition; the variables of ``bound`` have their value from what stands before it.

    Raises:
        LanguageError: invalid SPARQL, or a query of another form.
    """
    match condition:
        case syntax.Exists():
            members = () if condition.negated else (members_of(file.resolve(condition.class_name)),)
            return CompiledCondition(_exists(condition, file), blocks=members)
        case syntax.Count():
            counted = members_of(file.resolve(condition.class_name))
            return CompiledCondition(_count(condition, file), blocks=(counted,))
        case syntax.Ask():
            query = ask_query(parsed_condition(condition.query, file), bound)
            wanted = not condition.negated
            found = tuple(blocks(query.query.form)) if wanted else ()
            return CompiledCondition(
                _filter(query, keep=wanted), query, blocks=found, negated=not wanted
            )
        case syntax.Select():
            query, returned = select_query(parsed_condition(condition.query, file), bound)
            if condition.negated:
                query = replace(query, asks=True)
                return CompiledCondition(_filter(query, keep=False), query, negated=True)
            found = tuple(blocks(query.query.form))
            return CompiledCondition(_join(query), query, returned, found)
    assert_never(condition)


def _exists(condition: syntax.Exists, file: syntax.RuleFile) -> Condition:
    class_name, wanted = file.resolve(condition.class_name), not condition.negated

    def exists(host: RuleHost, solutions: Solutions) -> Solutions:
        found = host.kb.count(RDF_TYPE, class_name) > 0
        return solutions if found is wanted else NO_SOLUTION

    return exists


def _count(condition: syntax.Count, file: syntax.RuleFile) -> Condition:
    class_name, wanted = file.resolve(condition.class_name), not condition.negated
    compare, number = _COMPARE[condition.comparison], condition.number

    def count(host: RuleHost, solutions: Solutions) -> Solutions:
        holds = compare(host.kb.count(RDF_TYPE, class_name), number)
        return solutions if holds is wanted else NO_SOLUTION

    return count


def _filter(query: ConditionQuery, *, keep: bool) -> Condition:
    def condition(host: RuleHost, solutions: Solutions) -> Solutions:
        if not query.given:
            return solutions if host.evaluator.ask(query, {}) is keep else NO_SOLUTION
        return [s for s in solutions if host.evaluator.ask(query, _given(query, s)) is keep]

    return condition


def _join(query: ConditionQuery) -> Condition:
    def condition(host: RuleHost, solutions: Solutions) -> Solutions:
        if not query.given:
            found = host.evaluator.select(query, {})
            return [{**solution, **each} for solution in solutions for each in found]
        return [
            {**solution, **each}
            for solution in solutions
            for each in host.evaluator.select(query, _given(query, solution))
        ]

    return condition


def _given(query: ConditionQuery, solution: Solution) -> dict[str, Term]:
    # A variable of an OPTIONAL part may have no value; then the query may bind it.
    return {name: solution[name] for name in query.given if name in solution}
