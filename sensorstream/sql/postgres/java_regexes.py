"""Regular expressions that mean the same in PostgreSQL and in Java."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.function_rows import ListedCall, answered
from sensorstream.sql.postgres.function_table import (
    AGGREGATES,
    FRAMED,
    MOVING,
    OPERATORS,
    OVER_WINDOWS,
    PLAIN,
    SORTING,
    WITHIN,
)
from sensorstream.sql.postgres.sql_scope import (
    BOOLEAN,
    PostgresType,
    SqlScope,
    TypedSql,
    one_of,
    only,
    refused,
    spark,
    whole,
)
from sensorstream.sql.postgres.typed_values import (
    cast,
    common,
    interval,
    number,
    ordered,
    settle,
    settled,
    united,
    unknown,
)

_PART: Final = re.compile(
    r"(?P<atom>\\[.^$*+?()\[\]{}|\\]|\[\^?(?:[A-Za-z0-9 _/:#.]-[A-Za-z0-9]|[A-Za-z0-9 _/:#.])+\]"
    r"|[A-Za-z0-9 _/:#@=,;<>&%~'\"!.-])"
    r"|(?P<repeat>[*+?]|\{\d{1,3}(?:,\d{0,3})?\})|(?P<open>\((?!\?))|(?P<close>\))|(?P<end>\$)|[|^]"
)


def regular_expression(given: str, node: exp.Expr) -> str:
    """Translate an expression for Java; it matches the same texts, perhaps at another place.

    Raises:
        QueryError: it has something that the two read differently, or that is not on the list.
    """
    told: list[str] = []
    place, repeatable, depth = 0, False, 0
    while place < len(given):
        part = _PART.match(given, place)
        kind = part.lastgroup if part else None
        if part is None or (kind == "repeat" and not repeatable) or (kind == "close" and not depth):
            raise refused(node, f"'{given[place:]}' of this pattern is not on the list; try LIKE")
        # Java's dollar also matches before a last line break.
        told.append(r"\z" if kind == "end" else part.group())
        depth += (kind == "open") - (kind == "close")
        place, repeatable = part.end(), kind in ("atom", "close")
    if depth:
        raise refused(node, "this pattern is not on the list; try LIKE")
    return f"(?s){''.join(told)}"


Rule = Callable[[exp.Expr, SqlScope], TypedSql]
_BOTH: Final = ("this", "expression")
# Syntax that is another form of a call of the table: its name there, and the arguments.
_CALLS: Final[Mapping[type[exp.Expr], tuple[str, tuple[str, ...]]]] = {
    exp.Add: ("+", _BOTH),
    exp.Sub: ("-", _BOTH),
    exp.Mul: ("*", _BOTH),
    exp.Div: ("/", _BOTH),
    exp.Mod: ("%", _BOTH),
    exp.EQ: ("=", _BOTH),
    exp.NEQ: ("<>", _BOTH),
    exp.LT: ("<", _BOTH),
    exp.LTE: ("<=", _BOTH),
    exp.GT: (">", _BOTH),
    exp.GTE: (">=", _BOTH),
    exp.NullSafeEQ: ("is not distinct from", _BOTH),
    exp.NullSafeNEQ: ("is distinct from", _BOTH),
    exp.DPipe: ("||", _BOTH),
    exp.Neg: ("minus", ("this",)),
    exp.Not: ("not", ("this",)),
    exp.AtTimeZone: ("at time zone", ("this", "zone")),
    exp.Extract: ("extract", ("expression",)),
    exp.CurrentDate: ("current_date", ()),
    exp.CurrentTimestamp: ("now", ()),
    # They come from JOIN USING, and from literals side by side.
    exp.Coalesce: ("coalesce", ("this", "expressions")),
    exp.Concat: ("concat", ("expressions",)),
}


def _operator(node: exp.Expr, scope: SqlScope) -> TypedSql:
    """Translate syntax that is another form of a call of the table."""
    name, keys = _CALLS[type(node)]
    only(node, *_BOTH, *keys, "typed", "safe", "coalesce")
    if isinstance(node, exp.Extract):
        name = f"extract {node.this.name.lower()}"
    given: list[exp.Expr] = []
    for key in keys:
        part = node.args[key]
        given += part if isinstance(part, list) else [part]
    rows = OPERATORS.get(name) or PLAIN.get(name)
    if rows is None:
        raise refused(node, f"{name} is not on the list")
    return answered(rows, ListedCall(name, node, given), scope)


def truth(node: exp.Expr, scope: SqlScope) -> exp.Expr:
    """A condition."""
    value = settle(scope.value(node), PostgresType.BOOLEAN, node)
    return one_of((PostgresType.BOOLEAN,), value, node, "it is no condition").tree


def _not_if(negate: object, test: TypedSql) -> TypedSql:
    return spark("NOT :a", BOOLEAN, test.tree) if negate else test


def _between(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "low", "high")
    low = _operator(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()), scope)
    high = _operator(exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()), scope)
    return spark(":a AND :b", BOOLEAN, low.tree, high.tree)


def _in(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "expressions", "query")
    needle = scope.value(node.this)
    if node.args.get("query"):
        found = _one_column(node.args["query"].this, node, scope)
        needle = settle(needle, found.kind, node)
        if needle.kind is not found.kind:
            raise refused(node, f"a {needle.kind.value} among {found.kind.value}: cast one")
        return TypedSql(exp.In(this=needle.tree, query=found.tree), BOOLEAN)
    first, *rest = common([needle, *map(scope.value, node.expressions)], node)
    return TypedSql(exp.In(this=first.tree, expressions=[each.tree for each in rest]), BOOLEAN)


def _tuple(node: exp.Expr, _: SqlScope) -> TypedSql:
    raise refused(node, "rows are not compared; compare their columns")


def _one_column(query: exp.Expr, node: exp.Expr, scope: SqlScope) -> TypedSql:
    tree, columns = scope.query(query, scope.inner())
    if len(columns) != 1:
        raise refused(node, "a query as a value, or after IN, has one column")
    return TypedSql(exp.Subquery(this=tree), columns[0][1])


def _subquery(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this")
    return _one_column(node.this, node, scope)


def _exists(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this")
    return TypedSql(exp.Exists(this=scope.query(node.this, scope.inner())[0]), BOOLEAN)


def _connected(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "expression")
    # A loop, because long chains lean to the left and would nest calls as deeply as the tree.
    parts: list[exp.Expr] = []
    here: exp.Expr = node
    while type(here) is type(node):
        parts.append(here.args["expression"])
        here = here.args["this"]
    trees: list[exp.Expr] = [exp.paren(truth(each, scope)) for each in (here, *reversed(parts))]
    return TypedSql(reduce(lambda a, b: type(node)(this=a, expression=b), trees), BOOLEAN)


def _is(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "expression", "negate")
    what = node.expression
    if isinstance(what, exp.Null):
        given = settled(scope.value(node.this), node).tree
        test = spark(":a IS NULL", BOOLEAN, given)
    elif isinstance(what, exp.Boolean):
        told = "TRUE" if what.this else "FALSE"
        test = spark(f":a <=> {told}", BOOLEAN, truth(node.this, scope))
    else:
        raise refused(node, "write is null, is true or is false")
    return _not_if(node.args.get("negate"), test)


def _paren(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this")
    value = scope.value(node.this)
    return (
        value if value.kind is PostgresType.UNKNOWN else TypedSql(exp.paren(value.tree), value.type)
    )


def _case(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "ifs", "default")
    subject, default = node.args.get("this"), node.args.get("default")
    tests: list[exp.Expr] = []
    for each in node.args["ifs"]:
        only(each, "this", "true")
        test = each.this
        if subject:
            test = exp.EQ(this=subject.copy(), expression=test.copy())
        tests.append(truth(test, scope))
    values = [*(each.args["true"] for each in node.args["ifs"]), default or exp.null()]
    results = common([scope.value(each) for each in values], node)
    built = exp.Case(
        ifs=[exp.If(this=t, true=r.tree) for t, r in zip(tests, results, strict=False)],
        default=results[-1].tree,
    )
    return TypedSql(built, united([each.type for each in results]))


def _collate(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "expression")
    if node.expression.name not in ("C", "ucs_basic"):
        raise refused(node, 'the only collation on the list is "C"')
    return settled(scope.value(node.this), node)


def _column(node: exp.Expr, scope: SqlScope) -> TypedSql:
    assert isinstance(node, exp.Column)
    table, type_ = scope.column(node)
    return TypedSql(exp.column(node.name, table, quoted=True), type_)


def _literal(node: exp.Expr, _: SqlScope) -> TypedSql:
    assert isinstance(node, exp.Literal)
    return unknown(node) if node.is_string else number(node)


def _like(node: exp.Expr, scope: SqlScope) -> TypedSql:
    escape = "\\"
    if isinstance(node, exp.Escape):
        only(node, "this", "expression")
        escape, node = node.expression.name, node.this
    only(node, "this", "expression", "negate")
    text, pattern = _text_and_pattern(node, scope)
    pattern = _pattern(pattern, escape, node)
    if isinstance(node, exp.ILike):
        if not pattern.isascii():
            raise refused(node, "the pattern of ILIKE must be ASCII")
        pattern = pattern.lower()
        text = answered(PLAIN["lower"], ListedCall("lower", node, [node.this]), scope)
    given = exp.Literal.string(pattern)
    return _not_if(node.args.get("negate"), spark(":a LIKE :b", BOOLEAN, text.tree, given))


def _matches(node: exp.Expr, scope: SqlScope) -> TypedSql:
    only(node, "this", "expression")
    text, pattern = _text_and_pattern(node, scope)
    given = exp.Literal.string(regular_expression(pattern, node))
    return spark(":a RLIKE :b", BOOLEAN, text.tree, given)


def _text_and_pattern(node: exp.Expr, scope: SqlScope) -> tuple[TypedSql, str]:
    pattern: exp.Expr = node.expression
    if not (isinstance(pattern, exp.ByteString) or pattern.is_string):
        raise refused(node, "the pattern must be a literal")
    text = settled(scope.value(node.args["this"]), node)
    return one_of((PostgresType.TEXT,), text, node), pattern.name


def _pattern(given: str, escape: str, node: exp.Expr) -> str:
    """The pattern of LIKE with a backslash before literal signs, and nowhere else."""
    if len(escape) > 1:
        raise refused(node, "the escape must be one character")
    told: list[str] = []
    rest = iter(given)
    for each in rest:
        if escape and each == escape:
            plain = next(rest, None)
            if plain is None:
                raise refused(node, "the pattern ends with its escape character")
            told.append(f"\\{plain}" if plain in "%_\\" else plain)
        else:
            told.append("\\\\" if each == "\\" else each)
    return "".join(told)


def order_by(order: exp.Expr, scope: SqlScope) -> exp.Order:
    """The keys of an order, each with the place of NULL that PostgreSQL gives it."""
    return exp.Order(expressions=[by_value(each, scope) for each in order.expressions])


def by_value(given: exp.Expr, scope: SqlScope) -> exp.Ordered:
    """A key of an order that is an expression; refused where both systems sort it otherwise."""
    only(given, "this", "desc", "nulls_first")
    value = settled(scope.value(given.this), given)
    free = scope.by_code_point or isinstance(given.this, exp.Collate)
    ordered(value, given, by_code_point=free)
    return ordered_by(value.tree, given)


def ordered_by(tree: exp.Expr, given: exp.Expr) -> exp.Ordered:
    """A key of an order, whose expression is in Spark's SQL already."""
    return exp.Ordered(
        this=tree.copy(),
        desc=bool(given.args.get("desc")),
        nulls_first=bool(given.args.get("nulls_first")),
    )


def _called(node: exp.Expr, scope: SqlScope) -> TypedSql:
    """A function, or an aggregate of a group."""
    if node.name in PLAIN:
        return answered(PLAIN[node.name], ListedCall(node.name, node, node.expressions), scope)
    call = _aggregate(node, "a function on the list, not over a window")
    return answered(AGGREGATES[call.name], call, scope)


def _filtered(node: exp.Expr, scope: SqlScope) -> TypedSql:
    """``agg(...) FILTER (WHERE ...)``."""
    only(node, "this", "expression")
    call = _aggregate(node.this, "FILTER belongs to an aggregate on the list")
    where = exp.Where(this=truth(node.expression.this, scope))

    def around(tree: exp.Expr) -> exp.Expr:
        return exp.Filter(this=tree, expression=where.copy())

    return answered(AGGREGATES[call.name], replace(call, around=around), scope)


def _aggregate(node: exp.Expr, expected: str) -> ListedCall:
    """A call of an aggregate; the order may be that of its values or that within a group."""
    order: list[exp.Expr] = []
    inner = node
    if isinstance(node, exp.WithinGroup):
        inner, order = node.this, node.expression.expressions
    if not isinstance(inner, exp.AnonymousAggFunc) or inner.name not in AGGREGATES:
        raise refused(node, f"expected {expected}")
    if (inner is not node) is not (inner.name in WITHIN):
        raise refused(node, "this is not on the list, or not without a group it is within")
    given = [each for each in inner.expressions if not isinstance(each, exp.Star)]
    if given and isinstance(given[-1], exp.Order):
        order = given[-1].expressions
        given[-1] = given[-1].this
    if order and inner.name not in SORTING:
        raise refused(node, "its result does not depend on an order; leave ORDER BY out")
    distinct = bool(given) and isinstance(given[0], exp.Distinct)
    if distinct:
        given[:1] = given[0].expressions
    return ListedCall(inner.name, node, given, distinct=distinct, order=order)


def _windowed(node: exp.Expr, scope: SqlScope) -> TypedSql:
    """``f(...) OVER (...)``."""
    only(node, "this", "partition_by", "order", "spec", "over", "alias", "first")
    given = node
    if node.args.get("alias"):
        named = scope.windows.get(node.args["alias"].name)
        if named is None or any(node.args.get(each) for each in ("partition_by", "order", "spec")):
            raise refused(node, "write the window out in OVER")
        given = named
    function, order = node.this, given.args.get("order")
    name = function.name
    if not isinstance(function, exp.AnonymousAggFunc) or name not in {**OVER_WINDOWS, **MOVING}:
        raise refused(node, "this function is not on the list over a window")
    if name in OVER_WINDOWS:
        if not order:
            raise refused(node, "without an order its result is left open; add ORDER BY")
        if given.args.get("spec") and name not in FRAMED:
            raise refused(node, "it takes no frame; leave that out")
        call = ListedCall(name, function, function.expressions)
    else:
        call = _aggregate(function, "")
        if call.distinct:
            raise refused(node, "this function is not on the list over a window")
    window = exp.Window(
        partition_by=[
            settled(scope.value(each), each).tree.copy()
            for each in given.args.get("partition_by") or ()
        ],
        order=order_by(order, scope) if order else None,
        spec=_frame(given.args.get("spec"), node),
    )

    def around(tree: exp.Expr) -> exp.Expr:
        over = window.copy()
        over.set("this", tree)
        return over

    return answered({**OVER_WINDOWS, **MOVING}[name], replace(call, around=around), scope)


def _frame(spec: exp.Expr | None, node: exp.Expr) -> exp.Expr | None:
    if spec is None:
        return None
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind")).upper()
    for each in (spec.args.get("start"), spec.args.get("end")):
        if isinstance(each, exp.Expr):
            if kind != "ROWS":
                raise refused(node, "a frame with numbers counts ROWS here")
            whole(each, 0, node, "a bound of the frame")
    if kind not in ("ROWS", "RANGE"):
        raise refused(node, "frames are of ROWS or RANGE here")
    copied = spec.copy()
    if not copied.args.get("end"):
        copied.set("end", "CURRENT ROW")
    return copied


_RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **dict.fromkeys(_CALLS, _operator),
    **dict.fromkeys((exp.Anonymous, exp.AnonymousAggFunc, exp.WithinGroup), _called),
    exp.Filter: _filtered,
    exp.Window: _windowed,
    exp.Between: _between,
    exp.In: _in,
    exp.Tuple: _tuple,
    exp.And: _connected,
    exp.Or: _connected,
    exp.Is: _is,
    exp.Paren: _paren,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _like,
    exp.RegexpLike: _matches,
    exp.Case: _case,
    exp.Cast: cast,
    exp.Collate: _collate,
    exp.Column: _column,
    exp.Literal: _literal,
    # E'…': the parser has replaced its escapes.
    exp.ByteString: lambda node, _: unknown(exp.Literal.string(node.name)),
    exp.Null: lambda node, _: unknown(node),
    exp.Boolean: lambda node, _: TypedSql(node.copy(), BOOLEAN),
    exp.Interval: lambda node, _: interval(node),
    exp.Subquery: _subquery,
    exp.Exists: _exists,
}


def read(node: exp.Expr, scope: SqlScope) -> TypedSql:
    """An expression for Spark; raises :class:`QueryError` where it is refused."""
    rule = _RULES.get(type(node))
    if rule is None:
        raise refused(node, "it is not on the list of what means the same on Spark")
    return rule(node, scope)
