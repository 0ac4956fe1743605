"""Filters that never hold, expressions that always fail, and variables without a value."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.analysis.folding import Value, truths, value
from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.errors import Position
from sensorstream.model.terms import Literal
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Call,
    EqualsOptional,
    Exists,
    Expression,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Modify,
    OptionalSeq,
    Pattern,
    Project,
    Query,
    Slice,
    Union,
    Values,
    Variable,
)
from sensorstream.sparql.scope import children, expressions, in_scope
from sensorstream.sparql.walk import nodes, replaced


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``unbound-variable``, ``filter-never-true``, ``expression-always-fails``."""
    for pattern in _patterns(parsed):
        yield from _notes(pattern, known.given, parsed)


def never_matches(pattern: Pattern, given: frozenset[str]) -> bool:
    """Whether a pattern has no solution with any data; False if in doubt."""
    match pattern:
        case BGP(triples):
            return any(isinstance(triple.subject, Literal) for triple in triples)
        case Values(_, rows):
            return not rows
        case Filter(condition, inner):
            bound = in_scope(inner) | given
            return True not in truths(condition, bound) or never_matches(inner, given)
        case Union(left, right):
            return never_matches(left, given) and never_matches(right, given)
        case Slice(inner, _, limit):
            return limit == 0 or never_matches(inner, given)
        case Group(inner, keys):
            return bool(keys) and never_matches(inner, given)
        case Project(inner, variables):
            return never_matches(inner, given & {each.name for each in variables})
        case OptionalSeq(_, right):
            return never_matches(right, given)
        case Join(left, right):
            return never_matches(left, given) or never_matches(right, given)
    # The first operand must match, as in OPTIONAL and MINUS.
    return any(never_matches(each, given) for each in children(pattern)[:1])


def _patterns(parsed: AnyParsed) -> Iterator[Pattern]:
    meaning = parsed.meaning
    if isinstance(meaning, Query):
        yield meaning.form.pattern
        return
    for operation in meaning.operations:
        if isinstance(operation, Modify):
            yield operation.pattern


def _notes(pattern: Pattern, outer: frozenset[str], parsed: AnyParsed) -> Iterator[Note]:
    """The notes on a pattern whose variables ``outer`` may have a value from outside."""
    bound = outer.union(*map(in_scope, children(pattern)))
    match pattern:
        case Filter(condition, _):
            yield from _of_condition(condition, bound, parsed)
        case (
            LeftJoin(condition=condition)
            | OptionalSeq(condition=condition)
            | EqualsOptional(condition=condition)
        ) if condition is not None:
            yield from _of_condition(condition, bound, parsed)
        case Extend(_, variable, expression):
            yield from _of_value(variable, expression, bound, parsed)
        case Project(_, variables):
            # In a sub-select that does not return the variable, the name means another variable.
            outer &= frozenset(each.name for each in variables)
    for expression in expressions(pattern):
        for node in nodes(expression):
            if isinstance(node, Exists):
                yield from _notes(node.pattern, bound, parsed)
    for inner in children(pattern):
        yield from _notes(inner, outer, parsed)


def _of_condition(
    condition: Expression, bound: frozenset[str], parsed: AnyParsed
) -> Iterator[Note]:
    for part in _conjuncts(condition):
        place = parsed.places.get(part, parsed.position(condition))
        # Two filters of a group are one condition, but each part has its own position.
        is_whole = part is condition or part in parsed.places
        what = "this filter" if is_whole else "a part of this filter"
        missing = _missing(part, bound)
        if missing:
            yield _unbound(missing, what, place)
            continue
        possible = truths(part, bound)
        if True not in possible:
            why = "always fails with an error" if possible == {None} else "is never true"
            yield Note(
                "filter-never-true",
                f"{what} {why}: nothing passes the filter",
                place,
            )


def _of_value(
    variable: Variable, expression: Expression, bound: frozenset[str], parsed: AnyParsed
) -> Iterator[Note]:
    place = parsed.position(variable)
    missing = _missing(expression, bound)
    if missing:
        yield _unbound(missing, f"the expression of {variable}", place)
    elif value(expression, bound) is Value.FAILS:
        yield Note(
            "expression-always-fails",
            f"{variable} never has a value: its expression always fails with an error",
            place,
        )


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _missing(expression: Expression, bound: frozenset[str]) -> list[str]:
    """The variables that have no value, except those inside BOUND, COALESCE or EXISTS."""

    def left_out(node: object) -> object | None:
        asks = isinstance(node, Call) and node.name in ("BOUND", "COALESCE")
        return () if asks or isinstance(node, Exists) else None

    asked = nodes(replaced(expression, left_out))
    return sorted({node.name for node in asked if isinstance(node, Variable)} - bound)


def _unbound(names: list[str], where: str, place: Position) -> Note:
    listed = ", ".join(f"?{name}" for name in names)
    has = "has" if len(names) == 1 else "have"
    return Note(
        "unbound-variable",
        f"{listed} {has} no value in {where}: no pattern of its group binds "
        f"{'it' if len(names) == 1 else 'them'}",
        place,
    )
