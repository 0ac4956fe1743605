"""Filters that never hold, expressions that always fail, and variables without a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sensorstream.analysis.folding import KnownValue, failures, truths, value
from sensorstream.analysis.note import AnyParsed, Note, QueryContext
from sensorstream.analysis.value_kinds import Kinds, KindScope, all_kinds
from sensorstream.errors import Position
from sensorstream.model.terms import Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, Variable
from sensorstream.sparql.variable_scope import conjuncts, expressions
from sensorstream.sparql.walk import kept_in, nodes, patterns_in, replaced


def notes(parsed: AnyParsed, known: QueryContext) -> Iterator[Note]:
    """The codes ``unbound-variable``, ``filter-never-true``, ``expression-always-fails``."""
    for pattern in _patterns(parsed):
        yield from _notes(pattern, known, parsed)


def never_matches(pattern: Pattern, known: QueryContext) -> bool:
    """Whether a pattern has no solution with any data; False if in doubt."""
    match pattern:
        case algebra.BGP(triples):
            return any(isinstance(triple.subject, Literal) for triple in triples)
        case algebra.Values(_, rows):
            return not rows
        case algebra.Filter(condition, inner):
            bound = KindScope(all_kinds((inner,), known.schema, known.given))
            return True not in truths(condition, bound) or never_matches(inner, known)
        case algebra.Union(left, right):
            return never_matches(left, known) and never_matches(right, known)
        case algebra.Slice(inner, _, limit):
            return limit == 0 or never_matches(inner, known)
        case algebra.Group(inner, keys):
            return bool(keys) and never_matches(inner, known)
        case algebra.Project(inner, variables):
            return never_matches(inner, _within(known, variables))
    return any(never_matches(each, known) for each in kept_in(pattern))


def _patterns(parsed: AnyParsed) -> Iterator[Pattern]:
    meaning = parsed.meaning
    if isinstance(meaning, Query):
        yield meaning.form.pattern
        return
    for operation in meaning.operations:
        if isinstance(operation, algebra.Modify):
            yield operation.pattern


def _notes(pattern: Pattern, known: QueryContext, parsed: AnyParsed) -> Iterator[Note]:
    """The notes on a pattern; the variables of ``known`` may have a value from outside."""
    bound = all_kinds(patterns_in(pattern), known.schema, known.given)
    scope = KindScope(bound)
    match pattern:
        case algebra.Filter(condition=condition) | algebra.WithOptional(condition=condition) if (
            condition is not None
        ):
            yield from _of_condition(condition, scope, parsed)
        case algebra.Extend(_, variable, expression):
            yield from _of_value(variable, expression, scope, parsed)
        case algebra.Project(_, variables):
            # If a sub-select does not return the variable, its name means another variable there.
            known = _within(known, variables)
    for expression in expressions(pattern):
        for node in nodes(expression):
            if isinstance(node, algebra.Exists):
                yield from _notes(node.pattern, replace(known, given=bound), parsed)
    for inner in patterns_in(pattern):
        yield from _notes(inner, known, parsed)


def _within(known: QueryContext, variables: Iterable[Variable]) -> QueryContext:
    """The context within a sub-select of these variables."""
    names = {each.name for each in variables}
    given: dict[str, Kinds] = {n: each for n, each in known.given.items() if n in names}
    return replace(known, given=given)


def _of_condition(condition: Expression, scope: KindScope, parsed: AnyParsed) -> Iterator[Note]:
    for part in conjuncts(condition):
        place = parsed.places.first.get(part, parsed.position(condition))
        # Two filters of a group are one condition, but each part has its own position.
        is_whole = part is condition or part in parsed.places.first
        what = "this filter" if is_whole else "a part of this filter"
        missing = _missing(part, scope)
        if missing:
            yield _unbound(missing, what, place)
            continue
        never = True not in (possible := truths(part, scope))
        why = "always fails with an error" if possible == {None} else "is never true"
        told = f"{what} {why}: nothing passes the filter"
        for operation, fault in failures(part, scope):
            at = parsed.operation(operation, place)
            if never:
                yield Note("filter-never-true", f"{told}: {fault}", at)
            else:
                yield Note("expression-always-fails", f"within {what}, {fault}", at)
            never = False
        if never:
            yield Note("filter-never-true", told, place)


def _of_value(
    variable: Variable, expression: Expression, scope: KindScope, parsed: AnyParsed
) -> Iterator[Note]:
    place = parsed.position(variable)
    missing = _missing(expression, scope)
    if missing:
        yield _unbound(missing, f"the expression of {variable}", place)
        return
    never = value(expression, scope) is KnownValue.FAILS
    told = f"{variable} never has a value: its expression always fails with an error"
    for operation, fault in failures(expression, scope):
        at = parsed.operation(operation, place)
        text = f"{told}: {fault}" if never else f"within the expression of {variable}, {fault}"
        yield Note("expression-always-fails", text, at)
        never = False
    if never:
        yield Note("expression-always-fails", told, place)


def _missing(expression: Expression, scope: KindScope) -> list[str]:
    """The variables that have no value, except those inside BOUND, COALESCE or EXISTS."""

    def left_out(node: object) -> object | None:
        asks = isinstance(node, algebra.Call) and node.name in ("BOUND", "COALESCE")
        return () if asks or isinstance(node, algebra.Exists) else None

    asked = nodes(replaced(expression, left_out))
    return sorted({n.name for n in asked if isinstance(n, Variable) and n.name not in scope})


def _unbound(names: list[str], where: str, place: Position) -> Note:
    listed = ", ".join(f"?{name}" for name in names)
    has = "has" if len(names) == 1 else "have"
    return Note(
        "unbound-variable",
        f"{listed} {has} no value in {where}: no pattern of its group binds "
        f"{'it' if len(names) == 1 else 'them'}",
        place,
    )
