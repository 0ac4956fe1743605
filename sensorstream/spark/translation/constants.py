"""Literals in quotes, which get their type from where they stand."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    LOCAL,
    MOMENT,
    SPARK_NAMES,
    TEXT,
    UNKNOWN,
    Kind,
    SqlType,
    Typed,
    spark,
)

_WHOLE: Final = re.compile(r"\s*[+-]?[0-9]+\s*")
_DOUBLE: Final = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(?:\s?(Z|[+-]\d\d(?::?\d\d)?))?)?",
    re.ASCII | re.IGNORECASE,
)
_TRUTH: Final = {
    **dict.fromkeys(("t", "true", "y", "yes", "on", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "off", "0"), False),
}
_INT_END: Final = 2**31
_BIGINT_END: Final = 2**63
_MOST_DIGITS: Final = 38


def number(node: exp.Literal) -> Typed:
    """A number as written: an integer, a bigint, else a numeric."""
    text = node.name
    if text.isdigit() and int(text) < _BIGINT_END:
        return Typed(node.copy(), INTEGER if int(text) < _INT_END else BIGINT)
    return decimal(text, node)


def decimal(text: str, node: exp.Expr) -> Typed:
    """A numeric constant, with the digits that it is written with."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise refused(node, "it is no number") from None
    if not value.is_finite():
        raise refused(node, "Spark has no such numeric; compare as double precision")
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    if max(len(digits) + max(exponent, 0), scale) > _MOST_DIGITS:
        raise refused(node, f"Spark has {_MOST_DIGITS} digits; write it as double precision")
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    plain = exp.Literal.string(format(value, "f"))
    to = exp.DataType.build(f"decimal({precision}, {scale})", dialect="spark")
    return Typed(exp.Cast(this=plain, to=to), SqlType(Kind.NUMERIC, scale))


def text(value: str) -> Typed:
    """A text constant."""
    return Typed(exp.Literal.string(value), TEXT)


def settle(value: Typed, kind: Kind, node: exp.Expr) -> Typed:
    """Give a literal of no type the type ``kind``; another value stays as it is.

    Raises:
        QueryError: it is written in a way that is not on the list.
    """
    if value.kind is not Kind.UNKNOWN:
        return value
    if isinstance(value.tree, exp.Null):
        return _null(kind, node)
    given = value.tree.name
    match kind:
        case Kind.TEXT | Kind.UNKNOWN:
            return text(given)
        case Kind.INTEGER | Kind.BIGINT if _WHOLE.fullmatch(given):
            return _whole(int(given), kind, node)
        case Kind.NUMERIC if _DOUBLE.fullmatch(given):
            return decimal(given, node)
        case Kind.DOUBLE:
            return _double(given, node)
        case Kind.BOOLEAN if given.strip().lower() in _TRUTH:
            return Typed(exp.Boolean(this=_TRUTH[given.strip().lower()]), BOOLEAN)
        case Kind.BYTES if re.fullmatch(r"\\x([0-9a-fA-F]{2})*", given):
            return spark("UNHEX(:text)", BYTES, text=exp.Literal.string(given[2:]))
        case Kind.MOMENT | Kind.LOCAL | Kind.DATE:
            return _moment(given, kind, node)
        case _:
            raise refused(node, f"this way to write a {kind.value} is not on the list")


def settled(value: Typed, node: exp.Expr) -> Typed:
    """A literal that nothing gives a type is a text."""
    return settle(value, Kind.TEXT, node)


def unknown(node: exp.Expr) -> Typed:
    """A literal in quotes, or NULL."""
    return Typed(node.copy(), UNKNOWN)


def _null(kind: Kind, node: exp.Expr) -> Typed:
    if kind is Kind.NUMERIC:
        return spark("CAST(NULL AS DECIMAL(38, 0))", SqlType(Kind.NUMERIC))
    if kind not in SPARK_NAMES:
        raise refused(node, f"NULL as {kind.value} is not on the list")
    return spark(f"CAST(NULL AS {SPARK_NAMES[kind]})", SqlType(kind))


def _whole(value: int, kind: Kind, node: exp.Expr) -> Typed:
    end = _INT_END if kind is Kind.INTEGER else _BIGINT_END
    if not -end <= value < end:
        raise refused(node, f"it is no {kind.value}")
    tree = exp.Literal.string(str(value))
    return spark(f"CAST(:value AS {SPARK_NAMES[kind]})", SqlType(kind), value=tree)


def _double(given: str, node: exp.Expr) -> Typed:
    names = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity"}
    plain = given.strip().lower()
    sign = "-" if plain.startswith("-") else ""
    name = names.get(plain.lstrip("+-"))
    if name is None and not _DOUBLE.fullmatch(given):
        raise refused(node, "this way to write a double precision is not on the list")
    if name == "NaN" and sign:
        raise refused(node, "it is no double precision")
    told = exp.Literal.string(f"{sign}{name}" if name else plain)
    return spark("CAST(:told AS DOUBLE)", DOUBLE, told=told)


def _moment(given: str, kind: Kind, node: exp.Expr) -> Typed:
    told = _MOMENT.fullmatch(given.strip())
    if told is None:
        raise refused(
            node, "of times, YYYY-MM-DD HH:MM:SS with Z or an offset from UTC is on the list"
        )
    day, clock, zone = told.groups()
    try:
        date.fromisoformat(day)
        if kind is Kind.DATE:
            return spark("CAST(:day AS DATE)", DATE, day=exp.Literal.string(day))
        zone = "+00:00" if zone in (None, "Z", "z") else zone
        zone = zone if len(zone) > 3 else f"{zone}:00"
        zone = zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
        clock = clock or "00:00"
        clock = clock if clock.count(":") > 1 else f"{clock}:00"
        datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError as error:
        raise refused(node, f"it is no time: {error}") from error
    if kind is Kind.LOCAL:
        # PostgreSQL ignores a zone here, too.
        local = exp.Literal.string(f"{day} {clock}")
        return spark("CAST(:local AS TIMESTAMP_NTZ)", LOCAL, local=local)
    moment = exp.Literal.string(f"{day} {clock}{zone}")
    return spark("CAST(:moment AS TIMESTAMP)", MOMENT, moment=moment)
