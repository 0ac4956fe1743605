"""Which rules run together."""

from __future__ import annotations

from collections.abc import Hashable

from sensorstream.network.selection.plan import Events, Pattern, Taken
from sensorstream.sparql.algebra import Expression
from sensorstream.sparql.scope import names_in


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
