"""A pattern of the algebra as lines for people: each operator above what it works on."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Variable
from sensorstream.sparql.printing.patterns import expression_text
from sensorstream.sparql.printing.term_text import node_text, triple_text
from sensorstream.sparql.scope import children


def algebra_lines(pattern: Pattern, level: int = 0) -> Iterator[str]:
    """The tree of a pattern, from the top."""
    yield f"{'  ' * level}{' '.join((type(pattern).__name__, *_details(pattern)))}"
    if isinstance(pattern, algebra.BGP):
        yield from (f"{'  ' * (level + 1)}{triple_text(each)}" for each in pattern.patterns)
    for each in children(pattern):
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
            by = f" by {', '.join(map(_key, keys))}" if keys else ""
            yield f"{', '.join(f'{v} = {expression_text(of)}' for v, of in computed)}{by}".strip()


def _key(key: algebra.GroupKey) -> str:
    text = expression_text(key.expression)
    named = key.variable is not None and not isinstance(key.expression, Variable)
    return f"{text} as {key.variable}" if named else text
