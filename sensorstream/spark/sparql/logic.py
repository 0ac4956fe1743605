"""Columns, constants, comparisons and conditions of a query's tree for Spark."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql.typed import (
    Handler,
    Kind,
    Typed,
    Within,
    alike,
    call,
    number,
    refused,
    text,
)


def _leaf(within: Within, node: exp.Expr) -> Typed:
    match node:
        case exp.Column():
            return Typed(node.copy(), within.kind(node))
        case exp.Null():
            return Typed(exp.null(), Kind.NULL)
        case exp.Boolean():
            return Typed(node.copy(), Kind.BOOLEAN)
        case exp.Literal(is_string=True):
            return text(node.this)
        case exp.Literal() if node.this.isdigit():
            return Typed(node.copy(), Kind.INTEGER)
    return number(Decimal(node.this))


def _paren(within: Within, node: exp.Paren) -> Typed:
    inner = within.typed(node.this)
    return Typed(exp.Paren(this=inner.tree), inner.kind, inner.value)


def _logical(within: Within, node: exp.Binary) -> Typed:
    return Typed(
        type(node)(this=within.tree(node.this), expression=within.tree(node.expression)),
        Kind.BOOLEAN,
    )


def _missing(within: Within, node: exp.Is) -> Typed:
    test: exp.Expr = exp.Is(this=within.tree(node.this), expression=exp.null())
    if not isinstance(node.expression, exp.Null):
        raise refused(node)
    if node.args.get("negate"):
        test = exp.Not(this=exp.Paren(this=test))
    return Typed(test, Kind.BOOLEAN)


def _not(within: Within, node: exp.Not) -> Typed:
    return Typed(exp.Not(this=within.tree(node.this)), Kind.BOOLEAN)


def _exists(within: Within, node: exp.Exists) -> Typed:
    return Typed(exp.Exists(this=within.query(node.this)), Kind.BOOLEAN)


def _compared(within: Within, node: exp.Binary) -> Typed:
    (one, other), _ = alike((within.typed(node.this), within.typed(node.expression)))
    return Typed(type(node)(this=one.tree, expression=other.tree), Kind.BOOLEAN)


def _distinct(within: Within, node: exp.NullSafeNEQ) -> Typed:
    (one, other), _ = alike((within.typed(node.this), within.typed(node.expression)))
    same = exp.NullSafeEQ(this=one.tree, expression=other.tree)
    return Typed(exp.Not(this=exp.Paren(this=same)), Kind.BOOLEAN)


def _between(within: Within, node: exp.Between) -> Typed:
    parts = (node.this, node.args["low"], node.args["high"])
    (this, low, high), _ = alike(map(within.typed, parts))
    return Typed(exp.Between(this=this.tree, low=low.tree, high=high.tree), Kind.BOOLEAN)


def _in(within: Within, node: exp.In) -> Typed:
    (this, *choices), _ = alike(map(within.typed, (node.this, *node.expressions)))
    found = exp.In(this=this.tree, expressions=[each.tree for each in choices])
    return Typed(found, Kind.BOOLEAN)


def _case(within: Within, node: exp.Case) -> Typed:
    given = node.args["ifs"]
    compared = node.this and within.typed(node.this)
    tests = [within.typed(each.this) for each in given]
    if compared:
        (compared, *tests), _ = alike((compared, *tests))
    default = node.args.get("default")
    results, kind = alike(
        [within.typed(each.args["true"]) for each in given]
        + ([within.typed(default)] if default is not None else [])
    )
    ifs = [exp.If(this=t.tree, true=r.tree) for t, r in zip(tests, results, strict=False)]
    made = exp.Case(
        this=compared.tree if compared else None,
        ifs=ifs,
        default=None if default is None else results[-1].tree,
    )
    return Typed(made, kind)


def _chosen(within: Within, node: exp.Coalesce | exp.Greatest | exp.Least) -> Typed:
    given, kind = alike(map(within.typed, (node.this, *node.expressions)))
    return call(node.sql_name().lower(), kind, *given)


HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    **dict.fromkeys((exp.Column, exp.Null, exp.Boolean, exp.Literal), _leaf),
    exp.Paren: _paren,
    **dict.fromkeys((exp.And, exp.Or), _logical),
    exp.Is: _missing,
    exp.Not: _not,
    exp.Exists: _exists,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _compared),
    exp.NullSafeNEQ: _distinct,
    exp.Between: _between,
    exp.In: _in,
    exp.Case: _case,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _chosen),
}
