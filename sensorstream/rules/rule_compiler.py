"""Semantic rules from syntax tree to functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from sensorstream.errors import LanguageError, Position
from sensorstream.language import syntax
from sensorstream.language.ontology_names import unknown_names
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.actions import Action, ActionCompiler
from sensorstream.rules.conditions import ConditionQuery, Solution
from sensorstream.rules.effects import RuleHost
from sensorstream.rules.lineage import Block, blocks, members_of, trigger_blocks
from sensorstream.rules.reading import ask_query, parsed_condition, select_query
from sensorstream.rules.triggers import (
    NO_SOLUTION,
    Solutions,
    Trigger,
    Wake,
    bound_by,
    compile_trigger,
    every,
    waits_for,
)

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
class CompiledRule:
    """One semantic rule, ready to run; conditions stand in the order of evaluation.

    ``waits_for`` is the class whose members must arrive or leave before the trigger has a solution.
    ``every`` is the length of time after which it is evaluated again.
    ``queries`` are the SPARQL queries of its conditions.
    """

    name: str
    position: Position
    trigger: Trigger
    waits_for: tuple[Wake, IRI] | None
    every: int | None
    conditions: tuple[Condition, ...]
    queries: tuple[ConditionQuery, ...]
    actions: tuple[Action, ...]


def compile_rules(
    files: Iterable[syntax.RuleFile], schema: Schema, timeline: Timeline
) -> tuple[CompiledRule, ...]:
    """The semantic rules of some files, in order.

    Raises:
        LanguageError: the first fault, with its position.
    """
    rules = []
    for file in files:
        if file.semantic_rules:
            for fault in unknown_names(file, schema):
                raise fault
        rules += [compile_rule(rule, file, schema, timeline) for rule in file.semantic_rules]
    return tuple(rules)


def rule_faults(
    files: Iterable[syntax.RuleFile], schema: Schema, timeline: Timeline
) -> Iterator[LanguageError]:
    """The first fault of each semantic rule, except names that the ontology does not declare."""
    for file in files:
        for rule in file.semantic_rules:
            try:
                compile_rule(rule, file, schema, timeline)
            except LanguageError as error:
                yield error


def compile_rule(
    rule: syntax.SemanticRule, file: syntax.RuleFile, schema: Schema, timeline: Timeline
) -> CompiledRule:
    """One rule of a file.

    Raises:
        LanguageError: invalid SPARQL, a variable without a value, an invalid length of time,
            a value that is not of its datatype, a reply that is not well-formed XML.
    """
    trigger = compile_trigger(rule, file, timeline)
    bound = bound_by(rule.trigger)
    # Conditions have no effects, so the cheap ones are evaluated first: often one of them fails.
    cheap: list[Condition] = []
    costly: list[Condition] = []
    queries: list[ConditionQuery] = []
    matched: list[Block] = list(trigger_blocks(rule, file))
    for condition in rule.conditions:
        match condition:
            case syntax.Exists():
                cheap.append(_exists(condition, file))
                if not condition.negated:
                    matched.append(members_of(file.resolve(condition.class_name)))
            case syntax.Count():
                cheap.append(_count(condition, file))
                matched.append(members_of(file.resolve(condition.class_name)))
            case syntax.Ask():
                query = ask_query(parsed_condition(condition.query, file), bound)
                queries.append(query)
                if not condition.negated:
                    matched += blocks(query.query.form)
                costly.append(_filter(query, keep=not condition.negated))
            case syntax.Select():
                query, returned = select_query(parsed_condition(condition.query, file), bound)
                if condition.negated:
                    query = replace(query, asks=True)
                    costly.append(_filter(query, keep=False))
                else:
                    matched += blocks(query.query.form)
                    costly.append(_join(query))
                    bound |= returned
                queries.append(query)
            case _:
                assert_never(condition)
    compiler = ActionCompiler(rule, file, bound, schema, timeline, tuple(matched))
    return CompiledRule(
        rule.name,
        rule.position,
        trigger,
        waits_for(rule, file),
        every(rule, timeline),
        (*cheap, *costly),
        tuple(queries),
        tuple(compiler.compile(action) for action in rule.actions),
    )


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
