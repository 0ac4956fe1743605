"""Notes on rules over time and the Datalog rules beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Final

from sensorstream.analysis import filter_notes, name_notes
from sensorstream.analysis.filter_notes import never_matches
from sensorstream.analysis.folding import failures, truths
from sensorstream.analysis.note import Note, QueryContext
from sensorstream.analysis.value_kinds import Kinds, KindScope, all_kinds
from sensorstream.errors import Position
from sensorstream.model import rdf
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.xsd import XSD
from sensorstream.sparql.algebra import Construct, Expression, Query, TriplePattern
from sensorstream.sparql.dotr.dotr_syntax import (
    Absence,
    Between,
    ScopeAggregation,
    Selection,
    TimedProgram,
    TimedRule,
    attribute,
)
from sensorstream.sparql.query_parser import Parsed
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.text_places import Places
from sensorstream.sparql.variable_scope import names_in
from sensorstream.sparql.walk import variables

_ATTRIBUTE: Final = re.compile(r"\?(\w+)·(\w+)")
_NUMBER: Final = re.compile(rf'"([^"]*)"\^\^<{XSD}(?:integer|decimal)>')
_place = attrgetter("position.line", "position.column")


def rules_notes(
    program: TimedProgram, known: QueryContext, beside: Iterable[TimedProgram] = ()
) -> tuple[Note, ...]:
    """The notes on a text, in its order; names that it, and the texts ``beside`` it, make are
    declared.

    The codes are those of :func:`.query_notes`, and ``rule-never-fires``, ``scope-is-empty``,
    ``condition-never-holds`` and ``unused-value``.
    """
    declared = replace(known, schema=_with_made(known.schema, (program, *beside)))
    found: dict[Note, None] = {}
    for clause in program.clauses:
        body = Query(Construct((), clause.body))
        parsed = Parsed(body, Places(clause.position, {}, {}), program.prefixes)
        found |= dict.fromkeys(name_notes.undeclared_notes(parsed, declared))
    for rule in program.rules:
        for selector in rule.selectors:
            parsed = selector.reading()
            found |= dict.fromkeys(name_notes.undeclared_notes(parsed, declared))
            found |= dict.fromkeys(filter_notes.notes(parsed, known))
        found |= dict.fromkeys(_of_rule(rule, known))
    return tuple(sorted(found, key=_place))


def _with_made(schema: Schema, programs: Iterable[TimedProgram]) -> Schema:
    """An ontology with what rules make; one without any name stays so: it allows all."""
    if not (schema.classes or schema.object_properties or schema.datatype_properties):
        return schema
    classes, properties = set(schema.classes), set(schema.object_properties)
    for program in programs:
        heads = [head for clause in program.clauses for head in clause.head]
        for triple in (*heads, *(each for rule in program.rules for each in rule.template)):
            _add_made(triple, classes, properties)
    return replace(schema, classes=frozenset(classes), object_properties=frozenset(properties))


def _add_made(triple: TriplePattern, classes: set[IRI], properties: set[IRI]) -> None:
    if triple.predicate == rdf.TYPE:
        if isinstance(triple.object, IRI):
            classes.add(triple.object)
    elif isinstance(triple.predicate, IRI):
        properties.add(triple.predicate)


def _of_rule(rule: TimedRule, known: QueryContext) -> Iterator[Note]:
    asked = {each.selector.label: each for each in rule.parts if not isinstance(each, Selection)}
    for selector in rule.selectors:
        if not never_matches(selector.query.form.pattern, known):
            continue
        told = f"{selector.label} never has an event"
        yield _in_vain(rule, asked.get(selector.label), told, selector.position)
    yield from _of_scopes(rule)
    yield from _of_conditions(rule, known)
    used = {each.name for each in variables(rule.template)}
    for name, _ in rule.values:
        if name not in used:
            yield Note("unused-value", f"rule {rule.name}: 'define' has no ?{name}", rule.position)


def _of_scopes(rule: TimedRule) -> Iterator[Note]:
    """Scopes that begin after their end."""
    before = {rule.trigger.label: {rule.trigger.label}}
    for part in rule.parts:
        label, scope = part.selector.label, part.scope
        if isinstance(part, Selection):
            # Never later than the event that its scope is counted from, nor than that event's own.
            before[label] = {label, *before[part.scope.anchor]}
        elif isinstance(scope, Between) and scope.start in before[scope.end] - {scope.end}:
            yield Note(
                "scope-is-empty",
                f"{scope.end} is never later than {scope.start}: the scope of {label} is empty, or "
                f"one moment: expected 'between {scope.end} and {scope.start}'",
                part.selector.position,
            )


def _of_conditions(rule: TimedRule, known: QueryContext) -> Iterator[Note]:
    """Conditions that are never true."""
    kinds: dict[str, Kinds] = {
        each.variable: None for each in rule.parts if isinstance(each, ScopeAggregation)
    }
    for selector in rule.selectors:
        found = all_kinds((selector.query.form.pattern,), known.schema, {})
        kinds |= {attribute(selector.label, name): found.get(name) for name in selector.variables}
    scope = KindScope(kinds)
    asked = {
        name: each
        for each in rule.parts
        if not isinstance(each, Selection)
        for name in each.selector.names
    }
    for condition in rule.conditions:
        if True in truths(condition, scope):
            continue
        reasons = [fault for _, fault in failures(condition, scope)]
        told = ": ".join((f"'{_written(condition)}' never holds", *reasons[:1]))
        about = (asked[name] for name in sorted(names_in(condition)) if name in asked)
        yield _in_vain(rule, next(about, None), told, rule.position)


def _in_vain(
    rule: TimedRule, part: Absence | ScopeAggregation | None, reason: str, position: Position
) -> Note:
    """The note on a rule, or on its part that asks, if there is no event."""
    if part is None:
        return Note("rule-never-fires", f"rule {rule.name} cannot fire: {reason}", position)
    if isinstance(part, Absence):
        text = f"'not {part.selector.label}' excludes nothing: {reason}"
    else:
        text = f"?{part.variable} is that of no event: {reason}"
    return Note("condition-never-holds", text, rule.position)


def _written(condition: Expression) -> str:
    """The condition as a rule writes it."""
    text = _NUMBER.sub(r"\1", _ATTRIBUTE.sub(r"\1.?\2", part_text(condition)))
    return text[1:-1] if text.startswith("(") else text
