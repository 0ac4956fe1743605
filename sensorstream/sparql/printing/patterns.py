"""Expressions, graph patterns and solution modifiers to text: each may hold the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Pattern, Variable
from sensorstream.sparql.printing.term_text import braces, node_text, triple_lines, triple_text
from sensorstream.sparql.walk import patterns_in, replaced

_Node = TypeVar("_Node")

# Expressions


def expression_text(expression: Expression | Aggregate) -> str:
    """An expression or aggregate; compound ones stand in brackets."""
    match expression:
        case Variable() | IRI() | Literal():
            return node_text(expression)
        case algebra.Or(left, right):
            return _infix(left, "||", right)
        case algebra.And(left, right):
            return _infix(left, "&&", right)
        case algebra.Comparison(operator, left, right) | algebra.Arithmetic(operator, left, right):
            return _infix(left, operator, right)
        case algebra.Not(algebra.Exists(pattern)):
            return f"NOT EXISTS {group_text(pattern)}"
        case algebra.Not(algebra.In(operand, choices)):
            return f"({expression_text(operand)} NOT IN ({_list(choices)}))"
        case algebra.Not(operand):
            return f"(! {expression_text(operand)})"
        case algebra.Sign(operator, operand):
            return f"({operator} {expression_text(operand)})"
        case algebra.In(operand, choices):
            return f"({expression_text(operand)} IN ({_list(choices)}))"
        case algebra.Call(name, arguments):
            return f"{name}({_list(arguments)})"
        case algebra.FunctionCall(function, arguments):
            return f"{function.n3}({_list(arguments)})"
        case algebra.Exists(pattern):
            return f"EXISTS {group_text(pattern)}"
        case Aggregate():
            return _aggregate_text(expression)


def _infix(left: Expression, operator: str, right: Expression) -> str:
    return f"({expression_text(left)} {operator} {expression_text(right)})"


def _list(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(map(expression_text, expressions))


def _aggregate_text(aggregate: Aggregate) -> str:
    of = "*" if aggregate.expression is None else expression_text(aggregate.expression)
    separator = ""
    if aggregate.separator is not None:
        separator = f" ; SEPARATOR = {Literal(aggregate.separator).n3}"
    distinct = "DISTINCT " if aggregate.distinct else ""
    return f"{aggregate.name}({distinct}{of}{separator})"


def constraint_text(expression: Expression | Aggregate) -> str:
    """An expression in brackets."""
    written = expression_text(expression)
    # Only compound expressions begin with a bracket, and it closes at their end.
    return written if written.startswith("(") else f"({written})"


# Groups


def pattern_text(pattern: Pattern) -> str:
    """A pattern as a group in braces, over several lines."""
    return "\n".join(braces("", content(pattern)))


def group_text(pattern: Pattern) -> str:
    """A pattern as a group in braces, on one line."""
    return " ".join(line.strip() for line in braces("", content(pattern)))


def content(pattern: Pattern) -> Iterator[str]:
    """The text between the braces of the group that means ``pattern``."""
    if is_sub_select(pattern):
        yield from select_lines(pattern)
    elif isinstance(pattern, algebra.Filter):
        yield from _elements(pattern.pattern)
        yield f"FILTER {constraint_text(pattern.condition)}"
    else:
        yield from _elements(pattern)


def _elements(pattern: Pattern) -> Iterator[str]:
    """The elements of a group that has no filter of its own."""
    match pattern:
        case algebra.BGP(patterns):
            yield from triple_lines(patterns)
        case algebra.Join(left, right):
            yield from _elements(left)
            yield from _element(right)
        case algebra.LeftJoin(left, right, condition):
            yield from _elements(left)
            yield from braces("OPTIONAL", _optional(right, condition))
        case algebra.Minus(left, right):
            yield from _elements(left)
            yield from braces("MINUS", content(right))
        case algebra.Extend(inner, variable, expression):
            yield from _elements(inner)
            yield f"BIND({expression_text(expression)} AS {variable})"
        case _:
            yield from _element(pattern)


def _optional(pattern: Pattern, condition: Expression | None) -> Iterator[str]:
    yield from _elements(pattern)
    if condition is not None:
        yield f"FILTER {constraint_text(condition)}"


def _element(pattern: Pattern) -> Iterator[str]:
    """One element of a group, which joins with those before it."""
    match pattern:
        case algebra.Graph(name, inner):
            yield from braces(f"GRAPH {node_text(name)}", content(inner))
        case algebra.Service(endpoint, inner, silent):
            word = "SERVICE SILENT" if silent else "SERVICE"
            yield from braces(f"{word} {node_text(endpoint)}", content(inner))
        case algebra.Window(name, inner):
            yield from braces(f"WINDOW {node_text(name)}", content(inner))
        case algebra.Stream(name, inner):
            yield from braces(f"STREAM {node_text(name)}", content(inner))
        case algebra.Each(member, members, inner, first, last):
            ends = "" if first is None else f" FROM {first} TO {last}"
            yield from braces(f"EACH {member} IN {node_text(members)}{ends}", content(inner))
        case algebra.Values():
            yield from _values(pattern)
        case (
            algebra.Union()
            | algebra.Seq()
            | algebra.Equals()
            | algebra.OptionalSeq()
            | algebra.EqualsOptional()
        ):
            yield from _combined(pattern)
        case _:
            yield from braces("", content(pattern))


_COMBINING = {
    algebra.Union: "UNION",
    algebra.Seq: "SEQ",
    algebra.Equals: "EQUALS",
    algebra.OptionalSeq: "OPTIONALSEQ",
    algebra.EqualsOptional: "EQUALSOPTIONAL",
}


def _combined(
    pattern: algebra.Union
    | algebra.Seq
    | algebra.Equals
    | algebra.OptionalSeq
    | algebra.EqualsOptional,
) -> Iterator[str]:
    left, right = pattern.left, pattern.right
    if isinstance(pattern, algebra.OptionalSeq):
        # The optional side: its filter must not merge with that of the operator.
        yield from braces("", _optional(left, pattern.condition))
    elif isinstance(
        left,
        algebra.Union | algebra.Seq | algebra.Equals | algebra.OptionalSeq | algebra.EqualsOptional,
    ):
        yield from _combined(left)
    else:
        yield from braces("", content(left))
    policy = ""
    if (
        isinstance(pattern, algebra.Seq)
        and pattern.consumption is not algebra.Consumption.UNRESTRICTED
    ):
        policy = f" {pattern.consumption.value}"
    yield f"{_COMBINING[type(pattern)]}{policy}"
    if isinstance(pattern, algebra.EqualsOptional):
        yield from braces("", _optional(right, pattern.condition))
    else:
        yield from braces("", content(right))


def _values(values: algebra.Values) -> Iterator[str]:
    columns = " ".join(map(str, values.variables))
    rows = (
        f"({' '.join('UNDEF' if value is None else value.n3 for value in row)})"
        for row in values.rows
    )
    yield from braces(f"VALUES ({columns})", rows)


# Solution modifiers


@dataclass(frozen=True, slots=True)
class Modified:
    """A SELECT pattern taken apart into its clauses."""

    where: Pattern
    limits: algebra.Slice | None = None
    mark: str = ""
    columns: tuple[Variable, ...] = ()
    order: tuple[algebra.OrderCondition, ...] = ()
    computed: tuple[algebra.Extend, ...] = ()
    values: algebra.Values | None = None
    having: Expression | None = None
    group: algebra.Group | None = None


def is_sub_select(pattern: Pattern) -> bool:
    """Whether a pattern is the pattern of a SELECT."""
    if isinstance(pattern, algebra.Slice):
        pattern = pattern.pattern
    if isinstance(pattern, algebra.Distinct | algebra.Reduced):
        pattern = pattern.pattern
    return isinstance(pattern, algebra.Project)


def modified(pattern: Pattern) -> Modified:
    """The clauses of a SELECT, or those that may follow any other query's group."""
    limits: algebra.Slice | None = None
    mark = ""
    columns: tuple[Variable, ...] = ()
    order: tuple[algebra.OrderCondition, ...] = ()
    if isinstance(pattern, algebra.Slice):
        limits, pattern = pattern, pattern.pattern
    if isinstance(pattern, algebra.Distinct | algebra.Reduced):
        mark, pattern = type(pattern).__name__.upper(), pattern.pattern
    if isinstance(pattern, algebra.Project):
        columns, pattern = pattern.variables, pattern.pattern
    if isinstance(pattern, algebra.OrderBy):
        order, pattern = pattern.conditions, pattern.pattern
    where, computed, values, having, group = _grouped(pattern)
    return Modified(where, limits, mark, columns, order, computed, values, having, group)


def _grouped(
    pattern: Pattern,
) -> tuple[
    Pattern,
    tuple[algebra.Extend, ...],
    algebra.Values | None,
    Expression | None,
    algebra.Group | None,
]:
    """The content of WHERE, GROUP BY and HAVING; without a group, of WHERE only."""
    below: Pattern = pattern
    computed: list[algebra.Extend] = []
    values: algebra.Values | None = None
    having: Expression | None = None
    while isinstance(below, algebra.Extend):
        computed.append(below)
        below = below.pattern
    if isinstance(below, algebra.Join) and isinstance(below.right, algebra.Values):
        values, below = below.right, below.left
    while isinstance(below, algebra.Filter):
        condition, below = below.condition, below.pattern
        having = condition if having is None else algebra.And(condition, having)
    if not isinstance(below, algebra.Group):
        return pattern, (), None, None, None
    return below.pattern, tuple(reversed(computed)), values, having, below


def select_lines(pattern: Pattern) -> Iterator[str]:
    """A SELECT from its first word to its last, without dataset clauses."""
    parts = modified(pattern)
    yield select_text(parts)
    yield from where_lines(parts)


def select_text(parts: Modified) -> str:
    """The SELECT clause."""
    computed = {extend.variable: extend.expression for extend in parts.computed}
    items = [
        f"({expression_text(_with_aggregates(computed[column], parts.group))} AS {column})"
        if column in computed
        else str(column)
        for column in parts.columns
    ]
    return " ".join(word for word in ("SELECT", parts.mark, *(items or "*")) if word)


def where_lines(parts: Modified) -> Iterator[str]:
    """The WHERE clause and all that follows it."""
    yield from braces("WHERE", content(parts.where))
    if parts.group is not None and parts.group.keys:
        yield f"GROUP BY {' '.join(map(_key, parts.group.keys))}"
    if parts.having is not None:
        yield f"HAVING {constraint_text(_with_aggregates(parts.having, parts.group))}"
    if parts.order:
        conditions = (_with_aggregates(condition, parts.group) for condition in parts.order)
        yield f"ORDER BY {' '.join(map(_order, conditions))}"
    if parts.limits is not None:
        if parts.limits.limit is not None:
            yield f"LIMIT {parts.limits.limit}"
        if parts.limits.offset:
            yield f"OFFSET {parts.limits.offset}"
    if parts.values is not None:
        yield from _values(parts.values)


def _key(key: algebra.GroupKey) -> str:
    written = expression_text(key.expression)
    if key.variable is None:
        return f"({written})"
    return str(key.variable) if key.variable == key.expression else f"({written} AS {key.variable})"


def _order(condition: algebra.OrderCondition) -> str:
    if condition.descending:
        return f"DESC{constraint_text(condition.expression)}"
    if isinstance(condition.expression, Variable):
        return str(condition.expression)
    return f"ASC{constraint_text(condition.expression)}"


def _with_aggregates(node: _Node, group: algebra.Group | None) -> _Node:
    if group is None:
        return node
    named = dict(group.aggregates)
    return replaced(node, lambda part: named.get(part) if isinstance(part, Variable) else None)


def algebra_lines(pattern: Pattern, level: int = 0) -> Iterator[str]:
    """The tree of a pattern, from the top."""
    yield f"{'  ' * level}{' '.join((type(pattern).__name__, *_details(pattern)))}"
    if isinstance(pattern, algebra.BGP):
        yield from (f"{'  ' * (level + 1)}{triple_text(each)}" for each in pattern.patterns)
    for each in patterns_in(pattern):
        yield from algebra_lines(each, level + 1)


def _details(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case algebra.Filter(condition, _) | algebra.LeftJoin(_, _, condition) if (
            condition is not None
        ):
            yield expression_text(condition)
        case algebra.Extend(_, variable, expression):
            yield f"{variable} = {expression_text(expression)}"
        case algebra.Graph(name, _):
            yield node_text(name)
        case algebra.Project(_, columns):
            yield from map(str, columns)
        case algebra.Slice(_, offset, limit):
            yield f"{'all' if limit is None else limit} from {offset}"
        case algebra.Values(columns, rows):
            yield from map(str, columns)
            yield f"({len(rows)} rows)"
        case algebra.OrderBy(_, conditions):
            yield ", ".join(
                f"{expression_text(each.expression)}{' descending' if each.descending else ''}"
                for each in conditions
            )
        case algebra.Group(_, keys, computed):
            by = f" by {', '.join(map(_key_and_name, keys))}" if keys else ""
            yield f"{', '.join(f'{v} = {expression_text(of)}' for v, of in computed)}{by}".strip()


def _key_and_name(key: algebra.GroupKey) -> str:
    text = expression_text(key.expression)
    named = key.variable is not None and not isinstance(key.expression, Variable)
    return f"{text} as {key.variable}" if named else text
