"""Printing: from algebra to text.

``parse_query(query_text(q)) == q`` for every query the parser can give, so an evaluator of plain
SPARQL that gets the text computes what the algebra means. The text is canonical: full IRIs,
literals in their N-Triples form, each compound expression in brackets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any, Final, TypeAlias, TypeVar

from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.tree_text import TreeText
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import (
    Aggregate,
    Expression,
    Operation,
    Path,
    Pattern,
    PatternTerm,
    Query,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.walk import patterns_in, replaced

_Node = TypeVar("_Node")
_INDENT: Final = "  "
_INFIX: Final = "({left} {operator} {right})"
_FORMS: Final[Mapping[type, str]] = {
    Variable: "?{name}",
    TriplePattern: "{subject} {predicate} {object}",
    # Paths: parts that are paths themselves stand in brackets
    algebra.Inverse: "^{path!p}",
    algebra.Sequence: "{left!p}/{right!p}",
    algebra.Alternative: "{left!p}|{right!p}",
    algebra.ZeroOrMore: "{path!p}*",
    algebra.OneOrMore: "{path!p}+",
    algebra.ZeroOrOne: "{path!p}?",
    # Expressions
    algebra.Or: "({left} || {right})",
    algebra.And: "({left} && {right})",
    algebra.Comparison: _INFIX,
    algebra.Arithmetic: _INFIX,
    algebra.Not: "(! {operand})",
    algebra.Sign: "({operator} {operand})",
    algebra.In: "({operand} IN ({choices:, }))",
    algebra.Call: "{name}({arguments:, })",
    algebra.FunctionCall: "{function}({arguments:, })",
    algebra.Exists: "EXISTS {pattern!g}",
    Aggregate: "{name}([{distinct}DISTINCT ]{expression!s}[ ; SEPARATOR = {separator!q}])",
    # Text before a group in braces
    algebra.Graph: "GRAPH {name}",
    algebra.Service: "SERVICE[{silent} SILENT] {endpoint}",
    algebra.Window: "WINDOW {name}",
    algebra.Stream: "STREAM {name}",
    algebra.Each: "EACH {member} IN {members}[ FROM {first} TO {last}]",
    # Operators between groups
    **{each: word for word, each in algebra.BETWEEN.items()},
    algebra.Seq: "SEQ{consumption!c}",
    # Clauses
    algebra.AlertClause: "ALERT {severity} {text!q}[ KEY {key!q}]",
    algebra.Registration: "REGISTER {relation!r} {name} AS",
    # Operations, or the text before their triples
    algebra.InsertData: "INSERT DATA",
    algebra.DeleteData: "DELETE DATA",
    algebra.DeleteWhere: "DELETE WHERE",
    algebra.Load: "LOAD[{silent} SILENT] {source}[ INTO GRAPH {target}]",
    algebra.Clear: "CLEAR[{silent} SILENT] {target!d}",
    algebra.Drop: "DROP[{silent} SILENT] {target!d}",
    algebra.Create: "CREATE[{silent} SILENT] {target!d}",
    algebra.Transfer: "{verb}[{silent} SILENT] {source!d} TO {target!d}",
}
_Part: TypeAlias = PatternTerm | Path | TriplePattern | Expression | Aggregate


def part_text(part: _Part) -> str:
    """A term, path, triple (without its dot), expression or aggregate."""
    match part:
        case IRI() | BlankNode() | Literal():
            return part.n3
        case algebra.Not(algebra.Exists() as operand):
            return f"NOT {part_text(operand)}"
        case algebra.Not(algebra.In(operand, choices)):
            return f"({part_text(operand)} NOT IN ({', '.join(map(part_text, choices))}))"
        case algebra.NegatedSet(forward, backward):
            members = [*(iri.n3 for iri in forward), *(f"^{iri.n3}" for iri in backward)]
            return f"!({'|'.join(members)})"
    return _TEXT.of(part)


def constraint_text(expression: Expression | Aggregate) -> str:
    """An expression in brackets."""
    written = part_text(expression)
    # Only compound expressions begin with a bracket, and it closes at their end.
    return written if written.startswith("(") else f"({written})"


def _primary(path: Path) -> str:
    written = part_text(path)
    return written if isinstance(path, IRI | algebra.NegatedSet) else f"({written})"


# Groups


def pattern_text(pattern: Pattern) -> str:
    """A pattern as a group in braces, over several lines."""
    return "\n".join(_braces("", content(pattern)))


def group_text(pattern: Pattern) -> str:
    """A pattern as a group in braces, on one line."""
    return " ".join(line.strip() for line in _braces("", content(pattern)))


def content(pattern: Pattern) -> Iterator[str]:
    """The text between the braces of the group that means ``pattern``."""
    if is_sub_select(pattern):
        parts = modified(pattern)
        yield select_text(parts)
        yield from where_lines(parts)
    elif isinstance(pattern, algebra.Filter):
        yield from _elements(pattern.pattern)
        yield f"FILTER {constraint_text(pattern.condition)}"
    else:
        yield from _elements(pattern)


def _elements(pattern: Pattern) -> Iterator[str]:
    """The elements of a group that has no filter of its own."""
    match pattern:
        case algebra.BGP(patterns):
            yield from _triple_lines(patterns)
        case algebra.Join(left, right):
            yield from _elements(left)
            yield from _element(right)
        case algebra.LeftJoin(left, right, condition):
            yield from _elements(left)
            yield from _braces("OPTIONAL", _optional(right, condition))
        case algebra.Minus(left, right):
            yield from _elements(left)
            yield from _braces("MINUS", content(right))
        case algebra.Extend(inner, variable, expression):
            yield from _elements(inner)
            yield f"BIND({part_text(expression)} AS {variable})"
        case _:
            yield from _element(pattern)


def _optional(pattern: Pattern, condition: Expression | None) -> Iterator[str]:
    yield from _elements(pattern)
    if condition is not None:
        yield f"FILTER {constraint_text(condition)}"


def _element(pattern: Pattern) -> Iterator[str]:
    """An element of a group, which joins with those before it."""
    match pattern:
        case (
            algebra.Graph()
            | algebra.Service()
            | algebra.Window()
            | algebra.Stream()
            | algebra.Each()
        ):
            yield from _braces(_TEXT.of(pattern), content(pattern.pattern))
        case algebra.Values():
            yield from _values(pattern)
        case algebra.OfPatterns() if pattern.word:
            yield from _combined(pattern)
        case _:
            yield from _braces("", content(pattern))


def _combined(pattern: algebra.OfPatterns) -> Iterator[str]:
    for name in ("left", "right"):
        side = getattr(pattern, name)
        if name == "right":
            yield _TEXT.of(pattern)
        if isinstance(pattern, algebra.WithOptional) and name not in pattern.kept:
            # The filter of the optional side must not merge with that of the operator.
            yield from _braces("", _optional(side, pattern.condition))
        elif name == "left" and isinstance(side, algebra.OfPatterns) and side.word:
            yield from _combined(side)
        else:
            yield from _braces("", content(side))


def _values(values: algebra.Values) -> Iterator[str]:
    columns = " ".join(map(str, values.variables))
    rows = (
        f"({' '.join('UNDEF' if value is None else value.n3 for value in row)})"
        for row in values.rows
    )
    yield from _braces(f"VALUES ({columns})", rows)


# Solution modifiers


@frozen
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
    """The clauses of a SELECT, or those after the group of any other query."""
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
    return replace(_grouped(pattern), limits=limits, mark=mark, columns=columns, order=order)


def _grouped(pattern: Pattern) -> Modified:
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
        return Modified(pattern)
    return Modified(
        below.pattern,
        computed=tuple(reversed(computed)),
        values=values,
        having=having,
        group=below,
    )


def select_text(parts: Modified) -> str:
    """The SELECT clause."""
    computed = {extend.variable: extend.expression for extend in parts.computed}
    items = [
        f"({part_text(_with_aggregates(computed[column], parts.group))} AS {column})"
        if column in computed
        else str(column)
        for column in parts.columns
    ]
    return " ".join(word for word in ("SELECT", parts.mark, *(items or "*")) if word)


def where_lines(parts: Modified) -> Iterator[str]:
    """The WHERE clause and all that follows it."""
    yield from _braces("WHERE", content(parts.where))
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
    written = part_text(key.expression)
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
        yield from (f"{'  ' * (level + 1)}{part_text(each)}" for each in pattern.patterns)
    for each in patterns_in(pattern):
        yield from algebra_lines(each, level + 1)


def _details(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case algebra.Filter(condition, _) | algebra.LeftJoin(_, _, condition) if (
            condition is not None
        ):
            yield part_text(condition)
        case algebra.Extend(_, variable, expression):
            yield f"{variable} = {part_text(expression)}"
        case algebra.Graph(name, _):
            yield part_text(name)
        case algebra.Project(_, columns):
            yield from map(str, columns)
        case algebra.Slice(_, offset, limit):
            yield f"{'all' if limit is None else limit} from {offset}"
        case algebra.Values(columns, rows):
            yield from map(str, columns)
            yield f"({len(rows)} rows)"
        case algebra.OrderBy(_, conditions):
            yield ", ".join(
                f"{part_text(each.expression)}{' descending' if each.descending else ''}"
                for each in conditions
            )
        case algebra.Group(_, keys, computed):
            by = f" by {', '.join(map(_key_and_name, keys))}" if keys else ""
            yield f"{', '.join(f'{v} = {part_text(of)}' for v, of in computed)}{by}".strip()


def _key_and_name(key: algebra.GroupKey) -> str:
    text = part_text(key.expression)
    named = key.variable is not None and not isinstance(key.expression, Variable)
    return f"{text} as {key.variable}" if named else text


# Queries


def query_text(query: Query) -> str:
    """The text of a query, over several lines."""
    return "\n".join(_lines(query)) + "\n"


def _lines(query: Query) -> Iterator[str]:
    form = query.form
    if query.base is not None:
        yield f"BASE {query.base.n3}"
    if query.registration is not None:
        yield _TEXT.of(query.registration)
    clauses = [*dataset_lines(query.dataset)]
    if query.report is not None:
        clauses.append(report_text(query.report))
    if query.alert is not None:
        clauses.append(_TEXT.of(query.alert))
    if query.valid_time is not None:
        clauses.append(valid_time_text(query.valid_time))
    if isinstance(form, algebra.Select):
        parts = modified(form.pattern)
        yield select_text(parts)
    else:
        is_whole = is_sub_select(form.pattern)
        parts = Modified(form.pattern) if is_whole else modified(form.pattern)
        if isinstance(form, algebra.Construct):
            yield from _braces("CONSTRUCT", _triple_lines(form.template))
        elif isinstance(form, algebra.Ask):
            yield "ASK"
        else:
            yield f"DESCRIBE {' '.join(map(part_text, form.terms)) or '*'}"
    yield from clauses
    if not (isinstance(form, algebra.Describe) and parts == Modified(algebra.BGP())):
        yield from where_lines(parts)


def dataset_lines(dataset: algebra.Dataset, word: str = "FROM") -> Iterator[str]:
    """The dataset clauses; ``word`` is FROM, or USING in an update."""
    yield from (f"{word} {iri.n3}" for iri in dataset.default)
    yield from (f"{word} NAMED {iri.n3}" for iri in dataset.named)
    yield from map(window_text, dataset.windows)


def window_text(window: algebra.WindowDefinition) -> str:
    """``FROM NAMED WINDOW <name> ON <stream> [RANGE PT10S STEP PT5S]``, or without NAMED."""
    named = "" if window.in_default else "NAMED "
    on = "" if window.stream is None else f" ON {window.stream.n3}"
    return f"FROM {named}WINDOW {window.name.n3}{on} [{extent_text(window)}]"


def extent_text(window: algebra.WindowDefinition) -> str:
    """The text between the brackets of a window's definition."""
    if window.kind is algebra.WindowKind.NOW:
        return "NOW"
    words: list[str] = []
    counts = isinstance(window.range, int) or isinstance(window.step, int)
    if isinstance(window.range, timedelta) and window.delay is not None:
        since = duration_text(window.range + window.delay)
        words.append(f"FROM NOW-{since} TO NOW-{duration_text(window.delay)}")
    elif isinstance(window.range, timedelta):
        words += ("RANGE", duration_text(window.range))
    elif isinstance(window.range, int):
        words += (window.unit.name, str(window.range))
    else:
        words += ("LANDMARK", window.unit.name) if counts else ("LANDMARK",)
    if window.instances_of is not None:
        words += ("OF", window.instances_of.n3)
    elif window.unit is algebra.WindowUnit.INDIVIDUALS and not counts:
        words += ("OF", "INDIVIDUALS")
    if window.kind is algebra.WindowKind.TUMBLING:
        words.append("TUMBLING")
    elif window.step is not None:
        words += ("STEP", _amount(window.step))
    for name, at in (
        ("STARTING AT", window.origin),
        ("START", window.start),
        ("END", window.end),
    ):
        if at is not None:
            words += (name, at.n3)
    return " ".join(words)


def _amount(amount: timedelta | int) -> str:
    return str(amount) if isinstance(amount, int) else duration_text(amount)


def duration_text(length: timedelta) -> str:
    """An ``xsd:dayTimeDuration`` in seconds, such as ``PT90S``."""
    microseconds = length // timedelta(microseconds=1)
    return f"PT{Decimal(microseconds).scaleb(-6).normalize():f}S"


def valid_time_text(time: algebra.ValidTime) -> str:
    """``AT "start"`` or ``DURING "start"/"end"``."""
    start = _time_text(time.start)
    return f"AT {start}" if time.end is None else f"DURING {start}/{_time_text(time.end)}"


def _time_text(time: str | Variable) -> str:
    return str(time) if isinstance(time, Variable) else Literal(time).n3


def report_text(report: algebra.ReportClause) -> str:
    """``REPORT …``."""
    match report.kind:
        case algebra.ReportKind.PERIOD:
            assert isinstance(report.every, timedelta), "a period is a length of time"
            return f"REPORT EVERY {duration_text(report.every)}"
        case algebra.ReportKind.TRIPLES:
            return f"REPORT EVERY {report.every} TRIPLES"
        case algebra.ReportKind.INSTANT:
            return "REPORT EVERY INSTANT"
        case _:
            return f"REPORT ON {report.kind.value}"


def operation_text(operation: Operation) -> str:
    """The text of one operation."""
    return "\n".join(_operation_lines(operation))


def _operation_lines(operation: Operation) -> Iterator[str]:
    match operation:
        case algebra.InsertData(quads) | algebra.DeleteData(quads) | algebra.DeleteWhere(quads):
            yield from _braces(_TEXT.of(operation), _quads(quads))
        case algebra.Modify():
            yield from _modify(operation)
        case _:
            yield _TEXT.of(operation)


def _modify(operation: algebra.Modify) -> Iterator[str]:
    if operation.base is not None:
        yield f"BASE {operation.base.n3}"
    if operation.graph is not None:
        yield f"WITH {operation.graph.n3}"
    if operation.delete is not None:
        yield from _braces("DELETE", _quads(operation.delete))
    if operation.insert is not None:
        yield from _braces("INSERT", _quads(operation.insert))
    yield from dataset_lines(operation.using, "USING")
    yield from _braces("WHERE", content(operation.pattern))


def _quads(quads: tuple[algebra.Quad, ...]) -> Iterator[str]:
    for graph, members in groupby(quads, key=lambda quad: quad.graph):
        lines = _triple_lines(quad.triple for quad in members)
        if graph is None:
            yield from lines
        else:
            yield from _braces(f"GRAPH {part_text(graph)}", lines)


# Lines


def _triple_lines(triples: Iterable[TriplePattern]) -> Iterator[str]:
    """The triples, each on a line."""
    for triple in triples:
        yield f"{part_text(triple)} ."


def _braces(before: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines in braces, indented; ``before`` stands before the first brace."""
    inner = [f"{_INDENT}{line}" for line in lines]
    opening = f"{before} {{" if before else "{"
    if inner:
        yield opening
        yield from inner
        yield "}"
    else:
        yield f"{opening} }}"


# Fields


def _field(value: Any) -> str:
    if isinstance(value, IRI | BlankNode | Literal):
        return value.n3
    return str(value) if isinstance(value, str) else part_text(value)


def _graph(graph: IRI | algebra.GraphSet | None) -> str:
    """The operand of an operation on whole graphs: one, some, or the default graph."""
    if isinstance(graph, algebra.GraphSet):
        return graph.value
    return f"GRAPH {graph.n3}" if isinstance(graph, IRI) else "DEFAULT"


_TEXT: Final = TreeText(
    _FORMS,
    {
        "": _field,
        "c": lambda of: "" if of is algebra.Consumption.UNRESTRICTED else f" {of.value}",
        "d": _graph,
        "g": group_text,
        "p": _primary,
        "q": lambda text: Literal(text).n3,
        "r": lambda of: "QUERY" if of is None else of.value,
        "s": lambda of: "*" if of is None else part_text(of),
    },
)
