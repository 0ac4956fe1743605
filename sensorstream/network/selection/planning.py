"""From rules over time to their plans.

Selectors that differ in a comparison with a constant are one: the comparison becomes a test of the
rule (section 5 of the paper, "number of rules"). That needs the compared variable to be selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

from sensorstream.dotr.syntax import (
    Absence,
    Aggregation,
    Between,
    Mode,
    Program,
    Rule,
    Scope,
    Selection,
    Selector,
    attribute,
)
from sensorstream.errors import NotIncremental, QueryError, UnsupportedQuery
from sensorstream.model.terms import IRI, Literal
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.selection.plan import Events, EventScope, RulePart, RulePlan, RulePlans
from sensorstream.network.sources import DEFAULT, INSTANT, Source, Sources
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Comparison, Expression, Filter, Project, Variable
from sensorstream.sparql.places import give_place
from sensorstream.sparql.scope import conjuncts, existences, names_in
from sensorstream.sparql.walk import replaced

Length: TypeAlias = Callable[[timedelta], int]
"""The units of the time line in a length of time."""


def plan_rules(program: Program, length: Length) -> RulePlans:
    """The plans of all rules of a text.

    Raises:
        UnsupportedQuery: a selector cannot be kept in step, or a condition names what is not
            known where it is asked.
    """
    selectors = [each for rule in program.rules for each in rule.selectors]
    parted = {each.position: _base(each) for each in selectors}
    made: dict[tuple[algebra.Pattern, Mode], Plan] = {}

    def solutions(selector: Selector, mode: Mode) -> Solutions:
        pattern, tests = parted[selector.position]
        if (pattern, mode) not in made:
            source = INSTANT if mode is Mode.INSTANT else DEFAULT
            try:
                made[pattern, mode] = plan_in_step(pattern, Sources(source), selector.query.base)
            except QueryError as error:
                raise _refusal(error, selector, source) from None
        return pattern, made[pattern, mode], tests

    return RulePlans(tuple(_planned(rule, solutions, length) for rule in program.rules))


def _refusal(error: QueryError, selector: Selector, source: Source) -> UnsupportedQuery:
    """Why a selector cannot be planned, at the place in its text."""
    query = selector.reading().meaning
    try:
        plan_in_step(query.form.pattern, Sources(source), query.base)
    except QueryError as again:
        error = again
        give_place(error, query.places)
    told = error.message
    if isinstance(error, NotIncremental):
        told = f"the selector cannot be kept in step: {told}"
    return UnsupportedQuery(told, position=error.position or selector.position)


def _base(selector: Selector) -> tuple[algebra.Pattern, tuple[Expression, ...]]:
    """The pattern of a selector without the comparisons that a rule can make itself."""
    pattern = selector.query.form.pattern
    if not isinstance(pattern, Project) or not isinstance(pattern.pattern, Filter):
        return pattern, ()
    inner: algebra.Pattern = pattern.pattern
    moved: list[Expression] = []
    stay: list[Expression] = []
    while isinstance(inner, Filter):
        for each in conjuncts(inner.condition):
            (moved if _is_moved(each, selector.variables) else stay).append(each)
        inner = inner.pattern
    for each in reversed(stay):
        inner = Filter(each, inner)

    def renamed(node: object) -> object | None:
        if isinstance(node, Variable):
            return Variable(attribute(selector.label, node.name))
        return None

    tests = tuple(replaced(each, renamed) for each in moved)
    return replace(pattern, pattern=inner), tests


def _is_moved(condition: Expression, visible: Iterable[str]) -> bool:
    if not isinstance(condition, Comparison):
        return False
    sides = (condition.left, condition.right)
    return any(isinstance(each, Variable) and each.name in visible for each in sides) and any(
        isinstance(each, Literal | IRI) for each in sides
    )


Solutions: TypeAlias = tuple[algebra.Pattern, Plan, tuple[Expression, ...]]
"""A selector's pattern, its plan, and the tests that the rule makes of its events."""
SolutionsOf: TypeAlias = Callable[[Selector, Mode], Solutions]


def _planned(rule: Rule, solutions: SolutionsOf, length: Length) -> RulePlan:
    tests, conditions = _shared_out(rule)

    def events(selector: Selector) -> Events:
        pattern, made, moved = solutions(selector, rule.mode)
        return Events(
            selector.label,
            rule.mode,
            made,
            pattern,
            selector.names,
            (*moved, *tests[selector.label]),
        )

    places = {rule.trigger.label: 0}
    # How long before the trigger the event of a label may be.
    ago = {rule.trigger.label: 0}
    keeps: dict[str, int] = {}

    def scope(selector: Selector, written: Scope) -> EventScope:
        label = selector.label
        if isinstance(written, Between):
            keeps[label] = ago[written.start]
            return EventScope(places[written.end], start=places[written.start])
        try:
            units = length(written.length)
        except UnsupportedQuery as error:
            error.position = selector.position
            raise
        keeps[label] = ago[written.anchor] + units
        return EventScope(places[written.anchor], units)

    taken: list[RulePart] = []
    values: list[RulePart] = []
    absent: list[RulePart] = []
    for part in rule.parts:
        label = part.selector.label
        span = scope(part.selector, part.scope)
        found = events(part.selector)
        match part:
            case Selection(pick):
                taken.append(RulePart(found, span, pick))
                places[label] = len(places)
                ago[label] = keeps[label]
            case Aggregation(variable, aggregate):
                values.append(RulePart(found, span, None, variable, aggregate))
            case Absence():
                absent.append(RulePart(found, span))
    # Absences last: they are asked of what is known by then.
    parts = (*taken, *values, *absent)
    return RulePlan(rule, events(rule.trigger), parts, conditions, tuple(keeps.items()))


def _shared_out(rule: Rule) -> tuple[dict[str, list[Expression]], tuple[Expression, ...]]:
    """The conditions of each label, which is the last they name, and those about aggregates."""
    labels = {name: each.label for each in rule.selectors for name in each.names}
    values = {each.variable for each in rule.parts if isinstance(each, Aggregation)}
    taken = [rule.trigger.label]
    taken += [each.selector.label for each in rule.parts if isinstance(each, Selection)]
    tests: dict[str, list[Expression]] = {each.label: [] for each in rule.selectors}
    last: list[Expression] = []
    for condition in rule.conditions:
        names = names_in(condition)
        about = {labels[name] for name in names if name in labels}
        own = sorted(about - set(taken))
        if existences(condition):
            raise UnsupportedQuery(
                "EXISTS has its place in a selector, not in 'where'", position=rule.position
            )
        if len(own) > 1 or (own and names & values):
            raise UnsupportedQuery(
                f"a condition about {' and '.join(own)} may also name only events that the rule "
                f"takes: {', '.join(taken)}",
                position=rule.position,
            )
        if own:
            tests[own[0]].append(condition)
        elif names & values:
            last.append(condition)
        else:
            tests[max(about, key=taken.index, default=taken[0])].append(condition)
    for name, expression in rule.values:
        for used in names_in(expression):
            if used not in values and labels[used] not in taken:
                raise UnsupportedQuery(
                    f"?{name} cannot be of {labels[used]}: expected one of {', '.join(taken)}, or "
                    "the ?variable of an aggregate",
                    position=rule.position,
                )
    return tests, tuple(last)
