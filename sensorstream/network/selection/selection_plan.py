"""The plans of rules over time: values without events and functions; which of them run together.

Selectors that differ in a comparison with a constant are one: the comparison becomes a test of the
rule (section 5 of the paper, "number of rules"). That needs the compared variable to be selected.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import timedelta
from typing import TypeAlias

from sensorstream.errors import NotIncremental, QueryError, UnsupportedQuery
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.terms import IRI, Literal
from sensorstream.network.plan.nodes import Plan, PlanOverOne
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import DEFAULT, INSTANT, Sources, TripleSource
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Comparison, Expression, Filter, Project, Variable
from sensorstream.sparql.dotr.dotr_syntax import (
    Absence,
    Between,
    Mode,
    Pick,
    Scope,
    ScopeAggregation,
    Selection,
    Selector,
    TimedProgram,
    TimedRule,
    attribute,
)
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.text_places import give_place
from sensorstream.sparql.variable_scope import conjuncts, existences, names_in
from sensorstream.sparql.walk import replaced


@frozen
class Events(PlanOverOne):
    """The events of a label: solutions of ``source`` that meet the tests.

    ``pattern`` is the pattern of the solutions, ``variables`` have their names in the expressions
    of the rule. The tests may also name variables of events taken before.
    """

    label: str
    mode: Mode
    pattern: algebra.Pattern
    variables: tuple[str, ...] = field()
    tests: tuple[Expression, ...]

    @property
    def text(self) -> str:
        return " ".join((f"Events {self.label}", *(f"[{part_text(t)}]" for t in self.tests)))


@frozen
class EventScope:
    """A span of time, both ends included, between times of events the rule has taken.

    It ends with the event at the place ``end``, and begins ``length`` before it, or with the event
    at ``start``.
    """

    end: int
    length: int = 0
    start: int | None = None


@frozen
class RulePart(Plan):
    """A part of a rule about the events of a scope.

    By ``pick`` it takes each, the first or the last. With an ``aggregate``, ``variable`` is its
    value over all of them. With neither, there must be none.
    """

    events: Events
    scope: EventScope
    pick: Pick | None = None
    variable: str = ""
    aggregate: Aggregate | None = None

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.events,)

    @property
    def variables(self) -> tuple[str, ...]:
        if self.pick is not None:
            return self.events.variables
        return (self.variable,) if self.aggregate is not None else ()

    @property
    def text(self) -> str:
        if self.pick is not None:
            return f"{self.pick.value} within {self.scope.length} units of time"
        return "not" if self.aggregate is None else f"?{self.variable} = {self.aggregate.name}"


@frozen
class RulePlan(Plan):
    """The pattern of a rule; ``conditions`` are on values of aggregates.

    ``keeps`` is the time an event of each label is needed, in units of the time line.
    """

    rule: TimedRule
    trigger: Events
    parts: tuple[RulePart, ...]
    conditions: tuple[Expression, ...]
    keeps: tuple[tuple[str, int], ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.trigger, *self.parts)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.rule.values)

    @property
    def text(self) -> str:
        kept = ", ".join(f"{label} for {length}" for label, length in self.keeps)
        conditions = [f"[{part_text(each)}]" for each in self.conditions]
        return " ".join(
            (f"Rule {self.rule.name}, on each {self.trigger.label}; keeps {kept or 'nothing'}",
             *conditions)
        )  # fmt: skip


@frozen
class RulePlans(Plan):
    """The patterns of one text."""

    patterns: tuple[RulePlan, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.patterns

    @property
    def variables(self) -> tuple[str, ...]:
        return ()

    @property
    def text(self) -> str:
        return "Rules over time"


def likeness(pattern: RulePlan) -> Hashable:
    """A key that is equal for rules that run together.

    They may differ in their names, and in tests of single events that they take.
    """
    rule = pattern.rule
    return (
        rule.mode,
        rule.template,
        rule.identifiers,
        rule.values,
        rule.consumed,
        _shape(pattern.trigger),
        tuple(
            part if part.pick is None else (part.pick, _shape(part.events), part.scope)
            for part in pattern.parts
        ),
        pattern.conditions,
        pattern.keeps,
    )


def _shape(events: Events) -> Hashable:
    cross = tuple(own_and_cross(events)[1])
    return events.label, events.source, events.pattern, events.variables, cross


def own_and_cross(events: Events) -> tuple[list[Expression], list[Expression]]:
    """The tests of an event alone, and those together with events taken before."""
    names = set(events.variables)
    own, cross = list[Expression](), list[Expression]()
    for test in events.tests:
        (own if names_in(test) <= names else cross).append(test)
    return own, cross


# -- from rules to their plans ---------------------------------------------------------------

Length: TypeAlias = Callable[[timedelta], int]
"""Converts a length of time to units of the time line."""


def plan_rules(program: TimedProgram, length: Length) -> RulePlans:
    """Plan all rules of a text.

    Raises UnsupportedQuery if a selector cannot be kept in step, or a condition names what is not
    known where it is tested.
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


def _refusal(error: QueryError, selector: Selector, source: TripleSource) -> UnsupportedQuery:
    """The error of a selector that cannot be planned, at the place in its text."""
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
    """The pattern of a selector without the comparisons that a rule can make itself; and these."""
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


def _planned(rule: TimedRule, solutions: SolutionsOf, length: Length) -> RulePlan:
    tests, conditions = _shared_out(rule)

    def events(selector: Selector) -> Events:
        pattern, made, moved = solutions(selector, rule.mode)
        return Events(
            made,
            selector.label,
            rule.mode,
            pattern,
            selector.names,
            (*moved, *tests[selector.label]),
        )

    places = {rule.trigger.label: 0}
    # The longest time between the event of a label and the trigger.
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
            case ScopeAggregation(variable, aggregate):
                values.append(RulePart(found, span, None, variable, aggregate))
            case Absence():
                absent.append(RulePart(found, span))
    # Absences last: they use all that is known by then.
    parts = (*taken, *values, *absent)
    return RulePlan(rule, events(rule.trigger), parts, conditions, tuple(keeps.items()))


def _shared_out(rule: TimedRule) -> tuple[dict[str, list[Expression]], tuple[Expression, ...]]:
    """The conditions by label, the last one they name, and those about aggregates."""
    labels = {name: each.label for each in rule.selectors for name in each.names}
    values = {each.variable for each in rule.parts if isinstance(each, ScopeAggregation)}
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
