"""The plan of a rule over time, a value without events and functions; which run together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

from sensorstream.dotr.syntax import Mode, Pick, Rule
from sensorstream.network.plan.nodes import Plan
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression
from sensorstream.sparql.printing import part_text
from sensorstream.sparql.scope import names_in


@dataclass(frozen=True, slots=True)
class Events(Plan):
    """The events of a label: solutions of ``solutions`` that meet the tests.

    ``pattern`` is what they are solutions of, ``names`` are those of its variables in the
    expressions of the rule. The tests may also name variables of events taken before.
    """

    label: str
    mode: Mode
    solutions: Plan
    pattern: algebra.Pattern
    names: tuple[str, ...]
    tests: tuple[Expression, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.solutions,)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def text(self) -> str:
        return " ".join((f"Events {self.label}", *(f"[{part_text(t)}]" for t in self.tests)))


@dataclass(frozen=True, slots=True)
class Scope:
    """A span of time, both ends included; times are those of events the rule has taken.

    It ends with the event at the place ``end``, and begins ``length`` before it, or with the
    event at ``start``.
    """

    end: int
    length: int = 0
    start: int | None = None


@dataclass(frozen=True, slots=True)
class _OfScope(Plan):
    """A part of a rule that is about the events of a scope."""

    events: Events
    scope: Scope

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.events,)

    @property
    def variables(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Taken(_OfScope):
    """Each, the first or the last event of a scope."""

    pick: Pick

    @property
    def variables(self) -> tuple[str, ...]:
        return self.events.names

    @property
    def text(self) -> str:
        return f"{self.pick.value} within {self.scope.length} units of time"


@dataclass(frozen=True, slots=True)
class Absent(_OfScope):
    """No event of a scope."""

    @property
    def text(self) -> str:
        return "not"


@dataclass(frozen=True, slots=True)
class Aggregated(_OfScope):
    """A value over all events of a scope."""

    variable: str
    aggregate: Aggregate

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)

    @property
    def text(self) -> str:
        return f"?{self.variable} = {self.aggregate.name}"


Part: TypeAlias = Taken | Aggregated | Absent


@dataclass(frozen=True, slots=True)
class Pattern(Plan):
    """The pattern of a rule. ``conditions`` are about values of aggregates.

    ``keeps`` is how long an event of each label is needed, in units of the time line.
    """

    rule: Rule
    trigger: Events
    parts: tuple[Part, ...]
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


@dataclass(frozen=True, slots=True)
class Patterns(Plan):
    """All patterns of one text."""

    patterns: tuple[Pattern, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.patterns

    @property
    def variables(self) -> tuple[str, ...]:
        return ()

    @property
    def text(self) -> str:
        return "Rules over time"


def likeness(pattern: Pattern) -> Hashable:
    """What rules have in common that run together.

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
            (part.pick, _shape(part.events), part.scope) if isinstance(part, Taken) else part
            for part in pattern.parts
        ),
        pattern.conditions,
        pattern.keeps,
    )


def _shape(events: Events) -> Hashable:
    cross = tuple(own_and_cross(events)[1])
    return events.label, events.solutions, events.pattern, events.names, cross


def own_and_cross(events: Events) -> tuple[list[Expression], list[Expression]]:
    """The tests of an event by itself, and those together with what was taken before."""
    names = set(events.names)
    own, cross = list[Expression](), list[Expression]()
    for test in events.tests:
        (own if names_in(test) <= names else cross).append(test)
    return own, cross
