"""Which variables a pattern can bind (SPARQL 1.1, section 18.2.1), and which it only mentions."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.network.expressions.compile import variables_of
from sensorstream.sparql.algebra import (
    BGP,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    LeftJoin,
    Minus,
    Pattern,
    Project,
    Service,
    Values,
    Variable,
    Window,
)


def in_scope(pattern: Pattern) -> frozenset[str]:
    """The variables a solution of the pattern may bind."""
    match pattern:
        case BGP(patterns):
            return frozenset(variables_of(patterns))
        case Filter(_, inner) | Window(_, inner):
            return in_scope(inner)
        case Minus(left, _):
            return in_scope(left)
        case Extend(inner, variable, _):
            return in_scope(inner) | {variable.name}
        case Graph(name, inner) | Service(name, inner, _):
            own = {name.name} if isinstance(name, Variable) else frozenset()
            return in_scope(inner) | own
        case Values(variables, _):
            return frozenset(each.name for each in variables)
        case Project(_, variables):
            return frozenset(each.name for each in variables)
        case Group(_, keys, aggregates):
            named = {key.variable.name for key in keys if key.variable is not None}
            plain = {k.expression.name for k in keys if isinstance(k.expression, Variable)}
            return frozenset(named | plain | {variable.name for variable, _ in aggregates})
    return frozenset().union(*(in_scope(each) for each in children(pattern)))


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside a pattern, those in expressions left out."""
    if hasattr(pattern, "left"):
        return (pattern.left, pattern.right)  # type: ignore[union-attr]
    return (pattern.pattern,) if hasattr(pattern, "pattern") else ()


def expressions(pattern: Pattern) -> Iterator[Expression]:
    """The expressions that stand directly at a pattern."""
    match pattern:
        case Filter(condition, _):
            yield condition
        case Extend(_, _, expression):
            yield expression
        case LeftJoin(_, _, condition) if condition is not None:
            yield condition
        case Group(_, keys, aggregates):
            yield from (key.expression for key in keys)
            yield from (a.expression for _, a in aggregates if a.expression is not None)


def borrowed(pattern: Pattern, outer: frozenset[str]) -> frozenset[str]:
    """Outer variables that expressions within a pattern see only by substitution.

    EXISTS puts the values of the outer solution into its pattern (section 18.6). That is a
    join for variables the pattern binds; for those that only its expressions mention it is not.
    """
    here: set[str] = set()
    bound = frozenset().union(*(in_scope(each) for each in children(pattern)))
    for expression in expressions(pattern):
        here.update((frozenset(variables_of(expression)) - bound) & outer)
    for inner in children(pattern):
        here |= borrowed(inner, outer)
    return frozenset(here)


def existences(expression: object) -> tuple[Exists, ...]:
    """The EXISTS of an expression, those within other EXISTS left out."""
    if isinstance(expression, Exists):
        return (expression,)
    found: list[Exists] = []
    for name in getattr(expression, "__dataclass_fields__", ()):
        value = getattr(expression, name)
        for each in value if isinstance(value, tuple) else (value,):
            found.extend(existences(each))
    return tuple(found)
