"""Operators: comparison, logic, conditions, and what a value may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.casts import as_text
from sensorstream.spark.translation.coercion import common, ordered, united
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.types import BOOLEAN, TEXT, Kind, SqlType, Typed, call, spark

Rule = Callable[[exp.Expr, Scope], Typed]
_COMPARISONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_UNORDERED: Final = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)


def _pair(node: exp.Expr, scope: Scope) -> list[Typed]:
    only(node, "this", "expression")
    left, right = node.args["this"], node.args["expression"]
    return common([_scalar(left, scope), _scalar(right, scope)], node)


def _scalar(node: exp.Expr, scope: Scope) -> Typed:
    if isinstance(node, exp.Tuple):
        raise refused(node, "rows are not compared; compare their columns")
    return scope.value(node)


def _compared(node: exp.Expr, scope: Scope) -> Typed:
    left, right = _pair(node, scope)
    if not isinstance(node, _UNORDERED):
        collated = [node.args["this"], node.args["expression"]]
        free = scope.by_code_point or any(isinstance(each, exp.Collate) for each in collated)
        ordered(left, node, by_code_point=free)
    elif left.kind is Kind.ARRAY:
        raise refused(node, "arrays are not compared")
    if isinstance(node, exp.NullSafeNEQ):
        return spark("NOT (:l <=> :r)", BOOLEAN, l=left.tree, r=right.tree)
    return spark(f":l {_COMPARISONS[type(node)]} :r", BOOLEAN, l=left.tree, r=right.tree)


def _between(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "low", "high")
    low = _compared(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()), scope)
    high = _compared(exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()), scope)
    return spark(":l AND :h", BOOLEAN, l=low.tree, h=high.tree)


def _in(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expressions", "query")
    needle = _scalar(node.this, scope)
    if node.args.get("query"):
        tree, columns = scope.query(node.args["query"].this, scope.inner())
        if len(columns) != 1:
            raise refused(node, "rows are not compared; compare their columns")
        needle = constants.settle(needle, columns[0][1].kind, node)
        if needle.kind is not columns[0][1].kind:
            raise refused(node, f"a {needle.kind.value} among {columns[0][1].kind.value}: cast one")
        return Typed(exp.In(this=needle.tree, query=exp.Subquery(this=tree)), BOOLEAN)
    values = common([needle, *(_scalar(each, scope) for each in node.expressions)], node)
    return Typed(
        exp.In(this=values[0].tree, expressions=[each.tree for each in values[1:]]), BOOLEAN
    )


def truth(value: Typed, node: exp.Expr) -> Typed:
    """A condition."""
    value = constants.settle(value, Kind.BOOLEAN, node)
    if value.kind is not Kind.BOOLEAN:
        raise refused(node, "it is no condition")
    return value


def _connected(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    # Long chains lean to the left, so this is a loop: the depth of the tree is not that of a call.
    parts: list[exp.Expr] = []
    here: exp.Expr = node
    while type(here) is type(node):
        parts.append(here.args["expression"])
        here = here.args["this"]
    trees = [truth(scope.value(each), each).tree for each in (here, *reversed(parts))]
    joined: exp.Expr = exp.paren(trees[0])
    for each in trees[1:]:
        joined = type(node)(this=joined, expression=exp.paren(each))
    return Typed(joined, BOOLEAN)


def _not(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    return spark("NOT :x", BOOLEAN, x=truth(scope.value(node.this), node.this).tree)


def _is(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression", "negate")
    value, what = scope.value(node.this), node.expression
    if isinstance(what, exp.Null):
        test = spark(":x IS NULL", BOOLEAN, x=constants.settled(value, node).tree)
    elif isinstance(what, exp.Boolean):
        told = "TRUE" if what.this else "FALSE"
        test = spark(f":x <=> {told}", BOOLEAN, x=truth(value, node.this).tree)
    else:
        raise refused(node, "write is null, is true or is false")
    return spark("NOT :x", BOOLEAN, x=test.tree) if node.args.get("negate") else test


def _paren(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = scope.value(node.this)
    if value.kind is Kind.UNKNOWN:
        return value
    return Typed(exp.paren(value.tree), value.type)


def _joined(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression", "safe")
    left, right = scope.value(node.args["this"]), scope.value(node.args["expression"])
    if Kind.ARRAY in (left.kind, right.kind):
        raise refused(node, "arrays are not joined")
    texts = [as_text(constants.settled(each, node), node) for each in (left, right)]
    return spark(":l || :r", TEXT, l=texts[0].tree, r=texts[1].tree)


def _case(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "ifs", "default")
    tests: list[exp.Expr] = []
    for each in node.args["ifs"]:
        only(each, "this", "true")
        test = each.this
        if node.args.get("this"):
            test = exp.EQ(this=node.args["this"].copy(), expression=test.copy())
        tests.append(truth(scope.value(test), test).tree)
    results = [scope.value(each.args["true"]) for each in node.args["ifs"]]
    default = node.args.get("default")
    results.append(scope.value(default) if default is not None else constants.unknown(exp.null()))
    results = common(results, node)
    built = exp.Case(
        ifs=[exp.If(this=t, true=r.tree) for t, r in zip(tests, results, strict=False)],
        default=results[-1].tree,
    )
    return Typed(built, _of_many(results))


def _of_many(values: list[Typed]) -> SqlType:
    return united([each.type for each in values])


def _coalesce(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expressions", "is_nvl", "is_null")
    values = common([scope.value(each) for each in (node.this, *node.expressions)], node)
    return call("COALESCE", _of_many(values), *(each.tree for each in values))


def _nullif(node: exp.Expr, scope: Scope) -> Typed:
    first = constants.settled(scope.value(node.args["this"]), node)
    left, right = _pair(node, scope)
    return spark(
        "CASE WHEN :l = :r THEN NULL ELSE :x END",
        first.type,
        l=left.tree,
        r=right.tree,
        x=first.tree,
    )


def _extreme(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expressions", "ignore_nulls")
    values = common([scope.value(each) for each in (node.this, *node.expressions)], node)
    for each in values:
        ordered(each, node, by_code_point=scope.by_code_point)
    name = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
    return call(name, _of_many(values), *(each.tree for each in values))


def _collate(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    if node.expression.name not in ("C", "ucs_basic"):
        raise refused(node, 'the only collation on the list is "C"')
    return constants.settled(scope.value(node.this), node)


def _column(node: exp.Expr, scope: Scope) -> Typed:
    assert isinstance(node, exp.Column)
    table, type_ = scope.column(node)
    return Typed(exp.column(node.name, table, quoted=True), type_)


def _literal(node: exp.Expr, _: Scope) -> Typed:
    assert isinstance(node, exp.Literal)
    return constants.unknown(node) if node.is_string else constants.number(node)


def _subquery(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    tree, columns = scope.query(node.this, scope.inner())
    if len(columns) != 1:
        raise refused(node, "a query as a value has one column")
    return Typed(exp.Subquery(this=tree), columns[0][1])


def _exists(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    tree, _ = scope.query(node.this, scope.inner())
    return Typed(exp.Exists(this=tree), BOOLEAN)


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **dict.fromkeys((*_COMPARISONS, exp.NullSafeNEQ), _compared),
    exp.Between: _between,
    exp.In: _in,
    exp.And: _connected,
    exp.Or: _connected,
    exp.Not: _not,
    exp.Is: _is,
    exp.Paren: _paren,
    exp.DPipe: _joined,
    exp.Case: _case,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Collate: _collate,
    exp.Column: _column,
    exp.Literal: _literal,
    # E'…': the parser has replaced its escapes.
    exp.ByteString: lambda node, _: constants.unknown(exp.Literal.string(node.name)),
    exp.Null: lambda node, _: constants.unknown(node),
    exp.Boolean: lambda node, _: Typed(node.copy(), BOOLEAN),
    exp.Subquery: _subquery,
    exp.Exists: _exists,
}
