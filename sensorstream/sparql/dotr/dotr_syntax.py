"""The meaning of DOTR rules.

In the expressions of a rule the variable ``?x`` of the selector ``Smoke`` is named ``Smoke·x``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from sensorstream.errors import Position
from sensorstream.model.frozen import field, frozen
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Pattern, Query, TriplePattern
from sensorstream.sparql.query_parser import Parsed

Reading: TypeAlias = Callable[[], Parsed[Query]]
"""A function that reads a query again, to get the places of its parts."""


class Mode(Enum):
    """The data that a selector matches at a moment."""

    INSTANT = "instant"
    """Background knowledge, the events of the moment, and what follows from both."""
    WINDOW = "window"
    """The knowledge base with its window: a solution is an event when it becomes one."""


class Pick(Enum):
    """The choice of events in a scope that a rule takes."""

    EACH = "each"
    FIRST = "first"
    LAST = "last"


@frozen
class Selector:
    """A labelled query: each of its solutions at a moment is an event of that moment."""

    label: str
    reading: Reading = field(compare=False)
    query: Query
    variables: tuple[str, ...]
    position: Position

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its variables in the expressions of the rule."""
        return tuple(attribute(self.label, each) for each in self.variables)


def attribute(label: str, variable: str) -> str:
    """The name of a selector's variable in the expressions of a rule."""
    return f"{label}·{variable}"


@frozen
class Within:
    """A length of time up to the event of a label, both ends included."""

    length: timedelta
    anchor: str


@frozen
class Between:
    """The time from the event of a label to that of another, both ends included."""

    start: str
    end: str


Scope: TypeAlias = Within | Between


@frozen
class Selection:
    """``each|first|last E within D from F``."""

    pick: Pick
    selector: Selector
    scope: Within


@frozen
class Absence:
    """``not E within D from F``, ``not E between F and G``."""

    selector: Selector
    scope: Scope


@frozen
class ScopeAggregation:
    """``avg(E(…).?x) as ?name within D from F``: a value over all events of a scope."""

    variable: str
    aggregate: Aggregate
    selector: Selector
    scope: Scope


Part: TypeAlias = Selection | Absence | ScopeAggregation


@frozen
class TimedRule:
    """``define … from … where … with … consuming …``.

    ``identifiers`` are the blank nodes of the template that stand for identifiers, new for each
    graph. A condition decides about the last of its labels in the order of ``from``.
    """

    name: str
    mode: Mode
    template: tuple[TriplePattern, ...]
    identifiers: frozenset[str]
    trigger: Selector
    parts: tuple[Part, ...]
    conditions: tuple[Expression, ...]
    values: tuple[tuple[str, Expression], ...]
    consumed: tuple[str, ...]
    position: Position
    alert: algebra.AlertClause | None = None
    """The alert that each of its graphs raises; its variables are those of ``template``."""

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """The selectors of the rule, the trigger first."""
        return (self.trigger, *(each.selector for each in self.parts))


@frozen
class DatalogClause:
    """A Datalog rule: for each solution of the body the triples of the head hold."""

    head: tuple[TriplePattern, ...]
    body: Pattern
    position: Position = field(compare=False)


@frozen
class TimedProgram:
    """The Datalog rules and rules over time of a text."""

    clauses: tuple[DatalogClause, ...]
    rules: tuple[TimedRule, ...]
    prefixes: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The prefixes that it declares, without the colon."""
