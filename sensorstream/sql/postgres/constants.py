"""Literals in quotes, which get their type from where they stand."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.scope import refused
from sensorstream.sql.types import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    MOST_DIGITS,
    SPAN,
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
_INFINITE: Final = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity"}
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(?:\s?(Z|[+-]\d\d(?::?\d\d)?))?)?",
    re.ASCII | re.IGNORECASE,
)
_TRUTH: Final = {
    **dict.fromkeys(("t", "true", "y", "yes", "on", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "off", "0"), False),
}
_ENDS: Final = {Kind.INTEGER: 2**31, Kind.BIGINT: 2**63}
_PART: Final = re.compile(r"\s*([+-]?\d{1,9}(?:\.\d{1,6})?)\s*([a-zA-Z]+)\s*,?", re.ASCII)
_DAY: Final = 86_400_000_000
_MICROSECONDS: Final = {
    **dict.fromkeys(("microsecond", "microseconds", "us"), 1),
    **dict.fromkeys(("millisecond", "milliseconds", "ms"), 1_000),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), 1_000_000),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), 60_000_000),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), 3_600_000_000),
    **dict.fromkeys(("day", "days", "d"), _DAY),
    **dict.fromkeys(("week", "weeks", "w"), 7 * _DAY),
}
_NO_SPAN: Final = "of intervals, a number and a unit are on the list: '90 minutes'"


def unknown(node: exp.Expr) -> Typed:
    """A literal in quotes, or NULL."""
    return Typed(node.copy(), UNKNOWN)


def number(node: exp.Literal) -> Typed:
    """A number as written: an integer, a bigint, else a numeric."""
    text = node.name
    if text.isdigit() and int(text) < _ENDS[Kind.BIGINT]:
        return Typed(node.copy(), INTEGER if int(text) < _ENDS[Kind.INTEGER] else BIGINT)
    return _decimal(text, node)


def settle(value: Typed, kind: Kind, node: exp.Expr) -> Typed:
    """Give a literal of no type the type ``kind``; another value stays as it is.

    Raises:
        QueryError: it is written in a way that is not on the list.
    """
    if value.kind is not Kind.UNKNOWN:
        return value
    if isinstance(value.tree, exp.Null):
        if kind not in SPARK_NAMES:
            raise refused(node, f"NULL as {kind.value} is not on the list")
        return spark(f"CAST(NULL AS {SPARK_NAMES[kind]})", SqlType(kind))
    given = value.tree.name
    plain = given.strip().lower()
    match kind:
        case Kind.TEXT | Kind.UNKNOWN:
            return Typed(exp.Literal.string(given), TEXT)
        case Kind.INTEGER | Kind.BIGINT if _WHOLE.fullmatch(given):
            if not -_ENDS[kind] <= int(given) < _ENDS[kind]:
                raise refused(node, f"it is no {kind.value}")
            return _constant(str(int(given)), kind)
        case Kind.NUMERIC if _DOUBLE.fullmatch(given):
            return _decimal(given, node)
        case Kind.DOUBLE if _DOUBLE.fullmatch(given):
            return _constant(plain, kind)
        case Kind.DOUBLE if (name := _INFINITE.get(plain.lstrip("+-"))) is not None:
            sign = "-" if plain.startswith("-") else ""
            if name == "NaN" and sign:
                raise refused(node, "it is no double precision")
            return _constant(f"{sign}{name}", kind)
        case Kind.BOOLEAN if plain in _TRUTH:
            return Typed(exp.Boolean(this=_TRUTH[plain]), BOOLEAN)
        case Kind.BYTES if re.fullmatch(r"\\x([0-9a-fA-F]{2})*", given):
            return spark("UNHEX(:a)", SqlType(kind), exp.Literal.string(given[2:]))
        case Kind.MOMENT | Kind.LOCAL | Kind.DATE:
            return _moment(given, kind, node)
        case _:
            raise refused(node, f"this way to write a {kind.value} is not on the list")


def settled(value: Typed, node: exp.Expr) -> Typed:
    """A literal that nothing gives a type is a text."""
    return settle(value, Kind.TEXT, node)


def interval(node: exp.Expr) -> Typed:
    """``interval '1 day'``."""
    unit = node.args.get("unit")
    if unit is not None and not isinstance(unit, exp.Var):
        raise refused(node, "this interval is not on the list")
    return span(node.this, node, unit.name if unit else "")


def span(literal: exp.Expr, node: exp.Expr, unit: str = "") -> Typed:
    """An interval of days and shorter units.

    Time here is UTC, so a day has 24 hours. A month has no length, so it is refused.

    Raises:
        QueryError: it has other units, or is written in another way.
    """
    if not (isinstance(literal, exp.Literal) and literal.is_string):
        raise refused(node, "an interval is a literal here: interval '1 hour'")
    text = f"{literal.name} {unit}".strip()
    total = Decimal(0)
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise refused(node, _NO_SPAN)
        amount, length = Decimal(part.group(1)), _MICROSECONDS.get(part.group(2).lower())
        if length is None or (length >= _DAY and amount != amount.to_integral_value()):
            raise refused(
                node, f"'{part.group(2)}' is not on the list; write weeks, days, hours or less"
            )
        total += amount * length
        place = part.end()
    if not text or total != total.to_integral_value():
        raise refused(node, _NO_SPAN)
    sign = "-" if total < 0 else ""
    seconds, micros = divmod(abs(int(total)), 1_000_000)
    told = exp.Literal.string(f"{sign}{seconds}.{micros:06}")
    return Typed(exp.Interval(this=told, unit=exp.Var(this="SECOND")), SPAN)


def _constant(text: str, kind: Kind) -> Typed:
    return spark(f"CAST(:a AS {SPARK_NAMES[kind]})", SqlType(kind), exp.Literal.string(text))


def _decimal(text: str, node: exp.Expr) -> Typed:
    """A numeric constant, with the digits that it is written with."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise refused(node, "it is no number") from None
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise refused(node, "Spark has no such numeric; compare as double precision")
    scale = max(0, -exponent)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    if precision > MOST_DIGITS:
        raise refused(node, f"Spark has {MOST_DIGITS} digits; write it as double precision")
    plain = exp.Literal.string(format(value, "f"))
    return spark(f"CAST(:a AS DECIMAL({precision}, {scale}))", SqlType(Kind.NUMERIC, scale), plain)


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
            return _constant(day, kind)
        zone = "+00:00" if zone in (None, "Z", "z") else zone
        zone = zone if len(zone) > 3 else f"{zone}:00"
        zone = zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
        clock = clock or "00:00"
        clock = clock if clock.count(":") > 1 else f"{clock}:00"
        datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError as error:
        raise refused(node, f"it is no time: {error}") from error
    # PostgreSQL ignores a zone of a local time, too.
    return _constant(f"{day} {clock}" if kind is Kind.LOCAL else f"{day} {clock}{zone}", kind)
