"""Casts and arithmetic of a query's tree for Spark: numbers are those of :mod:`.numbers`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql import numbers
from sensorstream.spark.sparql.typed import (
    OF_NAME,
    Handler,
    Kind,
    Typed,
    Within,
    alike,
    as_number,
    call,
    cast,
    number,
    refused,
    text,
)

_ARITHMETIC: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: numbers.ADDED,
    exp.Sub: numbers.SUBTRACTED,
    exp.Mul: numbers.MULTIPLIED,
}
_ONE_NUMBER: Final[Mapping[type[exp.Expr], str]] = {
    exp.Abs: numbers.ABS,
    exp.Sign: numbers.SIGN,
    exp.Floor: numbers.FLOOR,
    exp.Ceil: numbers.CEIL,
    exp.Trunc: numbers.TRUNC,
    exp.Neg: numbers.NEGATED,
}
_SCIENTIFIC: Final = "9.9999999999999999EEEE"
_HOURS: Final = re.compile(r"(-?[0-9]+) hours")
# Decimal places of a quotient that is not rounded before.
_PLACES: Final = 36


def _cast(within: Within, node: exp.Cast) -> Typed:
    given, name = within.typed(node.this), node.to.this.value
    kind = OF_NAME.get(name)
    if kind is None:
        raise refused(node)
    if given.kind is Kind.NULL:
        return cast(given, kind)
    if kind is Kind.NUMBER:
        if isinstance(node.this, exp.Literal):
            return number(Decimal(node.this.this))
        return as_number(given)
    if name == "INTERVAL":
        found = _HOURS.fullmatch(node.this.this)
        if found is None:
            raise refused(node)
        return cast(text(str(int(found[1]) * 3_600_000_000)), Kind.INTEGER)
    if kind is Kind.MOMENT:
        return call(numbers.MICROS, kind, given)
    if given.kind is Kind.NUMBER:
        if kind is Kind.FLOAT:
            return cast(call(numbers.DOUBLE, Kind.DOUBLE, given), kind)
        if kind is Kind.DOUBLE:
            if given.value is not None and given.value.is_finite():
                return cast(text(repr(float(given.value))), Kind.DOUBLE)
            return call(numbers.DOUBLE, kind, given)
        given = call(numbers.TEXT, Kind.TEXT, given)
    if name == "INT":
        # Spark's places within texts are of this type.
        return Typed(exp.cast(given.tree, "INT"), kind)
    return cast(given, kind)


def _arithmetic(within: Within, node: exp.Binary) -> Typed:
    given = within.typed(node.this), within.typed(node.expression)
    (one, other), kind = alike(given)
    if kind is Kind.NUMBER:
        return call(_ARITHMETIC[type(node)], kind, one, other)
    return Typed(type(node)(this=one.tree, expression=other.tree), kind)


def _divided(within: Within, node: exp.Div) -> Typed:
    left = node.this.unnest()
    (one, other), kind = alike((within.typed(node.this), within.typed(node.expression)))
    if kind is Kind.NUMBER:
        # Rounding the dividend only tells how many places the quotient shall have.
        places = _PLACES
        if isinstance(left, exp.Round):
            places = int(left.args["decimals"].this)
        return call(numbers.DIVIDED, kind, one, other, exp.Literal.number(places))
    if kind in (Kind.DOUBLE, Kind.FLOAT):
        # Spark's quotient of floats is a double.
        return cast(Typed(exp.Div(this=one.tree, expression=other.tree), Kind.DOUBLE), kind)
    raise refused(node)


def _of_number(within: Within, node: exp.Expr) -> Typed:
    given = within.typed(node.this)
    if given.kind is Kind.NUMBER:
        if given.value is not None and isinstance(node, exp.Abs):
            return number(abs(given.value))
        return call(_ONE_NUMBER[type(node)], Kind.NUMBER, given)
    if isinstance(node, exp.Neg) and given.kind is Kind.INTEGER:
        return Typed(exp.Neg(this=given.tree), given.kind)
    raise refused(node)


def _rounded(within: Within, node: exp.Round) -> Typed:
    given = as_number(within.typed(node.this))
    return call(numbers.ROUND, Kind.NUMBER, given, within.typed(node.args["decimals"]))


def _written(within: Within, node: exp.TimeToStr) -> Typed:
    """TO_CHAR of a number with an exponent, or of the present."""
    form = node.args["format"].this
    if form == _SCIENTIFIC:
        return call(numbers.SCIENTIFIC, Kind.TEXT, within.typed(node.this))
    if node.find(exp.CurrentTimestamp) is None:
        raise refused(node)
    pattern = text("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
    return call("date_format", Kind.TEXT, exp.Anonymous(this="current_timestamp"), pattern)


def _anonymous(within: Within, node: exp.Anonymous) -> Typed:
    name, given = node.name.upper(), node.expressions
    if name == "TRIM_SCALE":
        # The same number; a key has no zeros at its end.
        return within.typed(given[0])
    if name == "PG_INPUT_IS_VALID":
        written = within.typed(given[0])
        if given[1].this == "date":
            written = call("concat", Kind.TEXT, written, text("T00:00:00Z"))
        micros = call(numbers.MICROS, Kind.MOMENT, written)
        missing = exp.Is(this=micros.tree, expression=exp.null())
        return Typed(exp.Not(this=missing), Kind.BOOLEAN)
    raise refused(node)


HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    exp.Cast: _cast,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    exp.Div: _divided,
    **dict.fromkeys(_ONE_NUMBER, _of_number),
    exp.Round: _rounded,
    exp.TimeToStr: _written,
    exp.Anonymous: _anonymous,
}
