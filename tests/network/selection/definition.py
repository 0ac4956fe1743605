"""TESLA's selection by its definition, over a finite stream: slow and direct.

Source: "DOTR", section 3; "TESLA", section 3. An event is a solution of a labelled query over the
graph of one time. What is taken: a trigger, then for each further label, in order, an event of its
scope that meets its conditions, the first or last of which is one that no other such event is
before or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyoxigraph as ox

from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import Literal, Term, Triple
from sensorstream.network.expressions.expression_functions import test_of, value_of
from sensorstream.sparql.dotr.dotr_syntax import (
    Between,
    Pick,
    ScopeAggregation,
    Selection,
    TimedRule,
    attribute,
)
from sensorstream.sparql.values import compare
from sensorstream.sparql.variable_scope import names_in

Event = tuple[int, frozenset[tuple[str, Term]]]
"""Its time, and its variables by the names that they have in the rule."""
Bound = dict[str, Event]
Firing = tuple[int, tuple[Term | None, ...]]


def events_of(
    rule: TimedRule, texts: Mapping[str, str], graphs: Mapping[int, Iterable[Triple]]
) -> dict[str, list[Event]]:
    """All events of each label: what its query finds in the graph of each time."""
    found: dict[str, list[Event]] = {each.label: [] for each in rule.selectors}
    for time, triples in graphs.items():
        store = ox.Store()
        lines = "".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in triples)
        store.load(input=lines.encode(), format=ox.RdfFormat.N_TRIPLES)
        for label in found:
            rows: Any = store.query(texts[label])
            names = [each.value for each in rows.variables]
            found[label] += {
                (
                    time,
                    frozenset(
                        (attribute(label, name), from_oxigraph(row[name]))
                        for name in names
                        if row[name] is not None
                    ),
                )
                for row in rows
            }
    return found


def firings(
    rule: TimedRule, texts: Mapping[str, str], graphs: Mapping[int, Iterable[Triple]]
) -> list[Firing]:
    """The time of each firing, and the values of ``with``."""
    events = events_of(rule, texts, graphs)
    told: list[Firing] = []
    consumed: set[tuple[str, Event]] = set()
    for now in sorted(graphs):
        fired: list[tuple[Bound, dict[str, Term | None]]] = []
        for trigger in events[rule.trigger.label]:
            if trigger[0] == now and _holds(
                rule, rule.trigger.label, {rule.trigger.label: trigger}
            ):
                bound = {rule.trigger.label: trigger}
                fired += _taken(rule, events, consumed, bound, 0)
        for bound, values in fired:
            row = {name: term for _, event in bound.values() for name, term in event} | values
            told.append((now, tuple(_value(each, row) for _, each in rule.values)))
            consumed.update((label, bound[label]) for label in rule.consumed)
    return told


def _taken(
    rule: TimedRule,
    events: Mapping[str, list[Event]],
    consumed: set[tuple[str, Event]],
    bound: Bound,
    number: int,
) -> Iterator[tuple[Bound, dict[str, Term | None]]]:
    selections = [each for each in rule.parts if isinstance(each, Selection)]
    if number == len(selections):
        values = _values(rule, events, bound)
        if values is not None:
            yield bound, values
        return
    part = selections[number]
    label = part.selector.label
    fits = [
        event
        for event in events[label]
        if _is_in(part.scope, event, bound)
        and (label, event) not in consumed
        and _holds(rule, label, {**bound, label: event})
    ]
    for event in fits:
        before = any(other[0] < event[0] for other in fits)
        after = any(other[0] > event[0] for other in fits)
        if (part.pick is Pick.FIRST and before) or (part.pick is Pick.LAST and after):
            continue
        yield from _taken(rule, events, consumed, {**bound, label: event}, number + 1)


def _values(
    rule: TimedRule, events: Mapping[str, list[Event]], bound: Bound
) -> dict[str, Term | None] | None:
    """The values of aggregates; None: the pattern does not hold."""
    values: dict[str, Term | None] = {}
    for part in rule.parts:
        if isinstance(part, Selection):
            continue
        label = part.selector.label
        fits = [
            event
            for event in events[label]
            if _is_in(part.scope, event, bound) and _holds(rule, label, {**bound, label: event})
        ]
        if not isinstance(part, ScopeAggregation):
            if fits:
                return None
        elif part.aggregate.name == "COUNT":
            values[part.variable] = _number(len(fits))
        else:
            values[part.variable] = _of(part, fits)
    row = {name: term for _, event in bound.values() for name, term in event} | values
    about = {each.variable for each in rule.parts if isinstance(each, ScopeAggregation)}
    for condition in rule.conditions:
        if names_in(condition) & about and not _is_true(condition, row):
            return None
    return values


def _of(part: ScopeAggregation, fits: list[Event]) -> Term | None:
    """SUM and MAX of integers."""
    name = next(iter(names_in(part.aggregate.expression)))
    terms = [term for _, event in fits for n, term in event if n == name]
    if part.aggregate.name == "SUM":
        return _number(sum(int(each.lexical) for each in terms if isinstance(each, Literal)))
    best: Term | None = None
    for each in terms:
        if best is None or compare(each, best) == 1:
            best = each
    return best


def _number(value: int) -> Term:
    return Literal(str(value), xsd.INTEGER)


def _is_in(scope: Any, event: Event, bound: Bound) -> bool:
    if isinstance(scope, Between):
        return bound[scope.start][0] <= event[0] <= bound[scope.end][0]
    end = bound[scope.anchor][0]
    return bool(end - scope.length.total_seconds() <= event[0] <= end)


def _holds(rule: TimedRule, label: str, bound: Bound) -> bool:
    """Whether the conditions hold that name a label, and besides it only what is bound."""
    row = {name: term for _, event in bound.values() for name, term in event}
    known = {name for each in rule.selectors if each.label in bound for name in each.names}
    own = {name for each in rule.selectors if each.label == label for name in each.names}
    return all(
        _is_true(condition, row)
        for condition in rule.conditions
        if names_in(condition) <= known and names_in(condition) & own
    )


def _is_true(condition: Any, row: Mapping[str, Term | None]) -> bool:
    names = sorted(names_in(condition))
    places = {name: place for place, name in enumerate(names)}
    return test_of(condition, places)(tuple(row.get(name) for name in names))


def _value(expression: Any, row: Mapping[str, Term | None]) -> Term | None:
    names = sorted(names_in(expression))
    places = {name: place for place, name in enumerate(names)}
    return value_of(expression, places)(tuple(row.get(name) for name in names))
