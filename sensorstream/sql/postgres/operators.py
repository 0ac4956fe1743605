"""Expressions that are no calls, and operators as calls: conditions, patterns, queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.casts import cast, common, united
from sensorstream.sql.postgres.constants import interval, number, settle, settled, unknown
from sensorstream.sql.postgres.regexes import regular_expression
from sensorstream.sql.postgres.rows import Call, answered
from sensorstream.sql.postgres.scope import Scope, one_of, only, refused
from sensorstream.sql.postgres.table import OPERATORS, PLAIN
from sensorstream.sql.types import BOOLEAN, Kind, Typed, spark

Rule = Callable[[exp.Expr, Scope], Typed]
_BOTH: Final = ("this", "expression")
# What is a call of the table in other words: its name there, and the arguments.
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
    exp.Extract: ("extract", _BOTH),
    exp.CurrentDate: ("current_date", ()),
    exp.CurrentTimestamp: ("now", ()),
    # Of JOIN USING, and of literals side by side.
    exp.Coalesce: ("coalesce", ("this", "expressions")),
    exp.Concat: ("concat", ("expressions",)),
}


def operator(node: exp.Expr, scope: Scope) -> Typed:
    """What is a call of the table in other words."""
    name, keys = _CALLS[type(node)]
    only(node, *keys, "typed", "safe", "coalesce")
    given: list[exp.Expr] = []
    for key in keys:
        part = node.args[key]
        given += part if isinstance(part, list) else [part]
    return answered((OPERATORS.get(name) or PLAIN[name]), Call(name, node, given), scope)


def truth(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A condition."""
    value = settle(scope.value(node), Kind.BOOLEAN, node)
    return one_of((Kind.BOOLEAN,), value, node, "it is no condition").tree


def _not_if(negate: object, test: Typed) -> Typed:
    return spark("NOT :a", BOOLEAN, test.tree) if negate else test


def _between(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "low", "high")
    low = operator(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()), scope)
    high = operator(exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()), scope)
    return spark(":a AND :b", BOOLEAN, low.tree, high.tree)


def _in(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expressions", "query")
    needle = scope.value(node.this)
    if node.args.get("query"):
        found = _one_column(node.args["query"].this, node, scope)
        needle = settle(needle, found.kind, node)
        if needle.kind is not found.kind:
            raise refused(node, f"a {needle.kind.value} among {found.kind.value}: cast one")
        return Typed(exp.In(this=needle.tree, query=found.tree), BOOLEAN)
    first, *rest = common([needle, *map(scope.value, node.expressions)], node)
    return Typed(exp.In(this=first.tree, expressions=[each.tree for each in rest]), BOOLEAN)


def _tuple(node: exp.Expr, _: Scope) -> Typed:
    raise refused(node, "rows are not compared; compare their columns")


def _one_column(query: exp.Expr, node: exp.Expr, scope: Scope) -> Typed:
    tree, columns = scope.query(query, scope.inner())
    if len(columns) != 1:
        raise refused(node, "a query as a value, or after IN, has one column")
    return Typed(exp.Subquery(this=tree), columns[0][1])


def _subquery(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    return _one_column(node.this, node, scope)


def _exists(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    return Typed(exp.Exists(this=scope.query(node.this, scope.inner())[0]), BOOLEAN)


def _connected(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    # Long chains lean to the left, so this is a loop: the depth of the tree is not that of a call.
    parts: list[exp.Expr] = []
    here: exp.Expr = node
    while type(here) is type(node):
        parts.append(here.args["expression"])
        here = here.args["this"]
    trees: list[exp.Expr] = [exp.paren(truth(each, scope)) for each in (here, *reversed(parts))]
    return Typed(reduce(lambda a, b: type(node)(this=a, expression=b), trees), BOOLEAN)


def _is(node: exp.Expr, scope: Scope) -> Typed:
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


def _paren(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = scope.value(node.this)
    return value if value.kind is Kind.UNKNOWN else Typed(exp.paren(value.tree), value.type)


def _case(node: exp.Expr, scope: Scope) -> Typed:
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
    return Typed(built, united([each.type for each in results]))


def _collate(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    if node.expression.name not in ("C", "ucs_basic"):
        raise refused(node, 'the only collation on the list is "C"')
    return settled(scope.value(node.this), node)


def _column(node: exp.Expr, scope: Scope) -> Typed:
    assert isinstance(node, exp.Column)
    table, type_ = scope.column(node)
    return Typed(exp.column(node.name, table, quoted=True), type_)


def _literal(node: exp.Expr, _: Scope) -> Typed:
    assert isinstance(node, exp.Literal)
    return unknown(node) if node.is_string else number(node)


def _like(node: exp.Expr, scope: Scope) -> Typed:
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
        text = answered(PLAIN["lower"], Call("lower", node, [node.this]), scope)
    given = exp.Literal.string(pattern)
    return _not_if(node.args.get("negate"), spark(":a LIKE :b", BOOLEAN, text.tree, given))


def _matches(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    text, pattern = _text_and_pattern(node, scope)
    given = exp.Literal.string(regular_expression(pattern, node))
    return spark(":a RLIKE :b", BOOLEAN, text.tree, given)


def _text_and_pattern(node: exp.Expr, scope: Scope) -> tuple[Typed, str]:
    pattern: exp.Expr = node.expression
    if not (isinstance(pattern, exp.ByteString) or pattern.is_string):
        raise refused(node, "the pattern must be a literal")
    text = settled(scope.value(node.args["this"]), node)
    return one_of((Kind.TEXT,), text, node), pattern.name


def _pattern(given: str, escape: str, node: exp.Expr) -> str:
    """The pattern of LIKE with a backslash before what it means as it is, and nowhere else."""
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


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **dict.fromkeys(_CALLS, operator),
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
    exp.Boolean: lambda node, _: Typed(node.copy(), BOOLEAN),
    exp.Interval: lambda node, _: interval(node),
    exp.Subquery: _subquery,
    exp.Exists: _exists,
}
