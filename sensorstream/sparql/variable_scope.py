"""The variables that a pattern can bind (SPARQL 1.1, section 18.2.1), or only mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.sparql import algebra, walk
from sensorstream.sparql.algebra import Expression, Pattern, Variable
from sensorstream.sparql.walk import kept_in, optional_in, patterns_in, variables, visible


def in_scope(pattern: Pattern) -> frozenset[str]:
    """The variables a solution of the pattern may bind."""
    return frozenset(each.name for each in visible(pattern))


def group_keys(pattern: Pattern) -> tuple[str, ...]:
    """The variables of a query's solutions that are keys of its GROUP BY; empty without it."""
    renamed: dict[str, str] = {}
    above = algebra.Modifier | algebra.Project | algebra.Extend | algebra.Filter
    while isinstance(pattern, above):
        if isinstance(pattern, algebra.Extend) and isinstance(pattern.expression, Variable):
            renamed[pattern.expression.name] = pattern.variable.name
        pattern = pattern.pattern
    if not isinstance(pattern, algebra.Group):
        return ()
    keys = [each.variable.name for each in pattern.keys if each.variable is not None]
    return (*keys, *(renamed[each] for each in keys if each in renamed))


def certain(pattern: Pattern) -> frozenset[str]:
    """The variables that every solution of the pattern binds."""
    match pattern:
        case algebra.BGP():
            return names_in(pattern)
        case algebra.Union(left, right):
            return certain(left) & certain(right)
        case algebra.Graph(name, inner):
            return certain(inner) | names_in(name)
        case algebra.Values(columns, rows):
            return frozenset(
                each.name
                for place, each in enumerate(columns)
                if all(row[place] is not None for row in rows)
            )
        case algebra.Project(inner, columns):
            return certain(inner) & {each.name for each in columns}
        case algebra.Group(inner, keys, _):
            return certain(inner) & plain_keys(keys)
        case algebra.Service():
            return frozenset()
    return frozenset().union(*map(certain, kept_in(pattern)))


def plain_keys(keys: Iterable[algebra.GroupKey]) -> frozenset[str]:
    """The keys of a grouping that are variables of its pattern."""
    return frozenset(
        key.expression.name
        for key in keys
        if isinstance(key.expression, Variable) and key.variable in (None, key.expression)
    )


def names_in(node: object) -> frozenset[str]:
    """The variables that a node mentions at any depth."""
    return frozenset(each.name for each in variables(node))


def own_names(expression: object) -> frozenset[str]:
    """The variables of an expression, without those of patterns in it."""
    if isinstance(expression, Variable):
        return frozenset((expression.name,))
    if isinstance(expression, algebra.Exists):
        return frozenset()
    return frozenset().union(*map(own_names, walk.children(expression)))


def expressions(pattern: object) -> Iterator[Expression]:
    """The expressions that stand directly at a pattern."""
    match pattern:
        case algebra.Filter(condition, _):
            yield condition
        case algebra.Extend(_, _, expression):
            yield expression
        case algebra.LeftJoin(_, _, condition) if condition is not None:
            yield condition
        case algebra.Group(_, keys, aggregates):
            yield from (key.expression for key in keys)
            yield from (a.expression for _, a in aggregates if a.expression is not None)


def borrowed(pattern: Pattern, outer: frozenset[str]) -> frozenset[str]:
    """Outer variables that expressions within a pattern see only by substitution.

    EXISTS puts the values of the outer solution into its pattern (section 18.6). That is a join for
    variables the pattern binds, but not for variables that only its expressions mention, nor for
    those of an optional part or of MINUS that the part before may leave unbound: with other values
    of them the part would not be missing. The meaning of BIND to an outer variable is also
    undefined then.
    """
    here: set[str] = set()
    bound = frozenset().union(*(in_scope(each) for each in patterns_in(pattern)))
    if isinstance(pattern, algebra.Extend) and pattern.variable.name in outer:
        here.add(pattern.variable.name)
    for expression in expressions(pattern):
        here.update((names_in(expression) - bound) & outer)
    for other in optional_in(pattern):
        here.update((in_scope(other) & outer).difference(*map(certain, kept_in(pattern))))
    for inner in patterns_in(pattern):
        here |= borrowed(inner, outer)
    return frozenset(here)


def existences(expression: object) -> tuple[algebra.Exists, ...]:
    """The EXISTS of an expression, or of several; those within other EXISTS are left out."""
    if isinstance(expression, algebra.Exists):
        return (expression,)
    return tuple(found for each in walk.children(expression) for found in existences(each))


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The parts of a condition that must all be true, left to right."""
    if isinstance(condition, algebra.And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition
