"""Literals, which get their type from where they stand, casts, and one type for several values.

The casts are those that give the same value in PostgreSQL and on Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.sql_scope import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    MOST_DIGITS,
    NUMBERS,
    QUOTIENT_SCALE,
    SPAN,
    SPARK_NAMES,
    TEXT,
    TIMES,
    UNKNOWN,
    PostgresType,
    SqlScope,
    SqlType,
    TypedSql,
    only,
    refused,
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
_ENDS: Final = {PostgresType.INTEGER: 2**31, PostgresType.BIGINT: 2**63}
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
_LOOSE: Final = SqlType(PostgresType.NUMERIC, QUOTIENT_SCALE, loose=True)
_TARGETS: Final[Mapping[exp.DType, PostgresType]] = {
    **{
        exp.DataType.build(kind.value, dialect="postgres").this: kind
        for kind in PostgresType
        if kind not in (PostgresType.ARRAY, PostgresType.UNKNOWN)
    },
    exp.DType.VARCHAR: PostgresType.TEXT,
}

_WHOLE_PATTERN: Final = r"^[ \\t\\n\\x0B\\f\\r]*[+-]?[0-9]+[ \\t\\n\\x0B\\f\\r]*\\z"
_WHOLE_CAST: Final = (
    f"CASE WHEN :a RLIKE '{_WHOLE_PATTERN}' THEN CAST(:a AS %s) "
    "WHEN :a IS NOT NULL THEN RAISE_ERROR('invalid input syntax for a whole number') END"
)
_DOUBLE_PATTERN: Final = (
    r"^[ \\t\\n\\x0B\\f\\r]*[+-]?(([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity)|"
    r"(?i:nan))[ \\t\\n\\x0B\\f\\r]*\\z"
)
# Casts that are the same by name; the texts of tests/spark/corpus prove each.
_ALIKE: Final[Mapping[PostgresType, tuple[PostgresType, ...]]] = {
    PostgresType.BOOLEAN: (PostgresType.INTEGER, PostgresType.TEXT),
    PostgresType.INTEGER: (
        PostgresType.BOOLEAN,
        PostgresType.BIGINT,
        PostgresType.DOUBLE,
        PostgresType.TEXT,
    ),
    PostgresType.BIGINT: (PostgresType.INTEGER, PostgresType.DOUBLE, PostgresType.TEXT),
    PostgresType.NUMERIC: (PostgresType.DOUBLE,),
    PostgresType.DATE: (PostgresType.TEXT, PostgresType.MOMENT, PostgresType.LOCAL),
    PostgresType.LOCAL: (PostgresType.TEXT, PostgresType.DATE, PostgresType.MOMENT),
    PostgresType.MOMENT: (PostgresType.DATE, PostgresType.LOCAL),
}
# PostgreSQL rounds where Spark cuts off; Java reads "1d" as a number.
_CASTS: Final[Mapping[tuple[PostgresType, PostgresType], str]] = {
    **{
        (given, to): f"CAST(:a AS {SPARK_NAMES[to]})"
        for given, several in _ALIKE.items()
        for to in several
    },
    (PostgresType.INTEGER, PostgresType.NUMERIC): "CAST(:a AS DECIMAL(10, 0))",
    (PostgresType.BIGINT, PostgresType.NUMERIC): "CAST(:a AS DECIMAL(19, 0))",
    (PostgresType.NUMERIC, PostgresType.INTEGER): "CAST(ROUND(:a, 0) AS INT)",
    (PostgresType.NUMERIC, PostgresType.BIGINT): "CAST(ROUND(:a, 0) AS BIGINT)",
    (PostgresType.DOUBLE, PostgresType.INTEGER): "CAST(RINT(:a) AS INT)",
    (PostgresType.DOUBLE, PostgresType.BIGINT): "CAST(RINT(:a) AS BIGINT)",
    (PostgresType.DOUBLE, PostgresType.NUMERIC): "SENSORSTREAM_NUMERIC(:a)",
    (PostgresType.TEXT, PostgresType.INTEGER): _WHOLE_CAST % "INT",
    (PostgresType.TEXT, PostgresType.BIGINT): _WHOLE_CAST % "BIGINT",
    (PostgresType.TEXT, PostgresType.DOUBLE): (
        f"CASE WHEN NOT (:a RLIKE '{_DOUBLE_PATTERN}') "
        "THEN RAISE_ERROR('invalid input syntax for type double precision') "
        "WHEN ABS(CAST(:a AS DOUBLE)) = DOUBLE('Infinity') AND NOT (LOWER(:a) LIKE '%inf%') "
        "THEN RAISE_ERROR('out of range for type double precision') "
        "ELSE CAST(:a AS DOUBLE) END"
    ),
    (PostgresType.MOMENT, PostgresType.TEXT): "CAST(:a AS STRING) || '+00'",
}
_READS_TIMES: Final = "PostgreSQL reads times in many ways; use a column that is a time"
_WAYS: Final[Mapping[tuple[PostgresType, PostgresType], str]] = {
    (PostgresType.TEXT, PostgresType.NUMERIC): (
        "Spark's numerics have a fixed number of digits; cast to double precision"
    ),
    (PostgresType.TEXT, PostgresType.MOMENT): _READS_TIMES,
    (PostgresType.TEXT, PostgresType.DATE): _READS_TIMES,
    (PostgresType.TEXT, PostgresType.BOOLEAN): "compare with the texts you mean",
    (PostgresType.DOUBLE, PostgresType.TEXT): "Spark writes other digits; leave it a number",
    (PostgresType.NUMERIC, PostgresType.TEXT): "Spark writes other zeros; leave it a number",
}


def unknown(node: exp.Expr) -> TypedSql:
    """A literal in quotes, or NULL."""
    return TypedSql(node.copy(), UNKNOWN)


def number(node: exp.Literal) -> TypedSql:
    """A number as written: an integer, a bigint, else a numeric."""
    text = node.name
    if text.isdigit() and int(text) < _ENDS[PostgresType.BIGINT]:
        return TypedSql(node.copy(), INTEGER if int(text) < _ENDS[PostgresType.INTEGER] else BIGINT)
    return _decimal(text, node)


def settle(value: TypedSql, kind: PostgresType, node: exp.Expr) -> TypedSql:
    """Give an untyped literal the type ``kind``; raises QueryError if its form is not listed."""
    if value.kind is not PostgresType.UNKNOWN:
        return value
    if isinstance(value.tree, exp.Null):
        if kind not in SPARK_NAMES:
            raise refused(node, f"NULL as {kind.value} is not on the list")
        return spark(f"CAST(NULL AS {SPARK_NAMES[kind]})", SqlType(kind))
    given = value.tree.name
    plain = given.strip().lower()
    match kind:
        case PostgresType.TEXT | PostgresType.UNKNOWN:
            return TypedSql(exp.Literal.string(given), TEXT)
        case PostgresType.INTEGER | PostgresType.BIGINT if _WHOLE.fullmatch(given):
            if not -_ENDS[kind] <= int(given) < _ENDS[kind]:
                raise refused(node, f"it is no {kind.value}")
            return _constant(str(int(given)), kind)
        case PostgresType.NUMERIC if _DOUBLE.fullmatch(given):
            return _decimal(given, node)
        case PostgresType.DOUBLE if _DOUBLE.fullmatch(given):
            return _constant(plain, kind)
        case PostgresType.DOUBLE if (name := _INFINITE.get(plain.lstrip("+-"))) is not None:
            sign = "-" if plain.startswith("-") else ""
            if name == "NaN" and sign:
                raise refused(node, "it is no double precision")
            return _constant(f"{sign}{name}", kind)
        case PostgresType.BOOLEAN if plain in _TRUTH:
            return TypedSql(exp.Boolean(this=_TRUTH[plain]), BOOLEAN)
        case PostgresType.BYTES if re.fullmatch(r"\\x([0-9a-fA-F]{2})*", given):
            return spark("UNHEX(:a)", SqlType(kind), exp.Literal.string(given[2:]))
        case PostgresType.MOMENT | PostgresType.LOCAL | PostgresType.DATE:
            return _moment(given, kind, node)
        case _:
            raise refused(node, f"this way to write a {kind.value} is not on the list")


def settled(value: TypedSql, node: exp.Expr) -> TypedSql:
    """Make a literal that nothing gives a type a text."""
    return settle(value, PostgresType.TEXT, node)


def interval(node: exp.Expr) -> TypedSql:
    """``interval '1 day'``."""
    unit = node.args.get("unit")
    if unit is not None and not isinstance(unit, exp.Var):
        raise refused(node, "this interval is not on the list")
    return span(node.this, node, unit.name if unit else "")


def span(literal: exp.Expr, node: exp.Expr, unit: str = "") -> TypedSql:
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
    return TypedSql(exp.Interval(this=told, unit=exp.Var(this="SECOND")), SPAN)


def _constant(text: str, kind: PostgresType) -> TypedSql:
    return spark(f"CAST(:a AS {SPARK_NAMES[kind]})", SqlType(kind), exp.Literal.string(text))


def _decimal(text: str, node: exp.Expr) -> TypedSql:
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
    return spark(
        f"CAST(:a AS DECIMAL({precision}, {scale}))", SqlType(PostgresType.NUMERIC, scale), plain
    )


def _moment(given: str, kind: PostgresType, node: exp.Expr) -> TypedSql:
    told = _MOMENT.fullmatch(given.strip())
    if told is None:
        raise refused(
            node, "of times, YYYY-MM-DD HH:MM:SS with Z or an offset from UTC is on the list"
        )
    day, clock, zone = told.groups()
    try:
        date.fromisoformat(day)
        if kind is PostgresType.DATE:
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
    return _constant(
        f"{day} {clock}" if kind is PostgresType.LOCAL else f"{day} {clock}{zone}", kind
    )


def cast(node: exp.Expr, scope: SqlScope) -> TypedSql:
    """``CAST(x AS type)``, ``x::type``, and a constant as ``type 'text'``."""
    only(node, "this", "to")
    target: exp.DataType = node.args["to"]
    kind = _TARGETS.get(target.this)
    if kind is None:
        raise refused(node, f"the type {target.sql('postgres')} is not on the list")
    if kind is PostgresType.SPAN:
        return span(node.this, node)
    value = scope.value(node.this)
    if target.expressions and kind is not PostgresType.NUMERIC:
        raise refused(node, "a type with a length is not on the list; write it without")
    value = settle(value, kind, node)
    if not target.expressions:
        return converted(value, kind, node)
    precision, scale = ([int(each.name) for each in target.expressions] + [0])[:2]
    if not 0 <= scale <= precision <= MOST_DIGITS:
        raise refused(node, "Spark's numerics have at most 38 digits, none before the point")
    if value.kind is PostgresType.DOUBLE and scale <= QUOTIENT_SCALE:
        value = rounded(value, scale)
    given = converted(value, PostgresType.NUMERIC, node).tree
    return spark(
        f"CAST(:a AS DECIMAL({precision}, {scale}))", SqlType(PostgresType.NUMERIC, scale), given
    )


def converted(value: TypedSql, kind: PostgresType, node: exp.Expr) -> TypedSql:
    """A value as another type; raises QueryError if the cast is not on the list."""
    if value.kind is kind:
        return value
    template = _CASTS.get((value.kind, kind))
    if template is None:
        way = _WAYS.get((value.kind, kind), "this cast is not on the list")
        raise refused(node, f"{value.kind.value} to {kind.value}: {way}")
    digits = (value.kind, kind) == (PostgresType.DOUBLE, PostgresType.NUMERIC)
    return spark(template, _LOOSE if digits else SqlType(kind), value.tree)


def as_text(value: TypedSql, node: exp.Expr) -> TypedSql:
    """A value as PostgreSQL writes it; raises :class:`QueryError` where Spark writes otherwise."""
    return converted(settled(value, node), PostgresType.TEXT, node)


def rounded(value: TypedSql, digits: int) -> TypedSql:
    """A double precision as a numeric with so many digits after the point."""
    return spark(f"SENSORSTREAM_ROUNDED(:a, {digits})", _LOOSE, value.tree)


def common(values: Sequence[TypedSql], node: exp.Expr) -> list[TypedSql]:
    """Cast values to the type that PostgreSQL chooses for them.

    Raises:
        QueryError: their types do not go together, or not in a way that is on the list.
    """
    kinds = {each.kind for each in values} - {PostgresType.UNKNOWN}
    order = next((each for each in (NUMBERS, TIMES) if kinds and kinds.issubset(each)), None)
    if order is not None:
        kind = max(kinds, key=order.index)
    elif len(kinds) > 1:
        names = " and ".join(sorted(each.value for each in kinds))
        raise refused(node, f"{names} do not go together; write a cast")
    else:
        kind = next(iter(kinds), PostgresType.TEXT)
    return [converted(settle(each, kind, node), kind, node) for each in values]


def united(values: Sequence[SqlType]) -> SqlType:
    """The type of a place that takes values of several types of one kind."""
    if values[0].kind is not PostgresType.NUMERIC:
        return values[0]
    scale = max(each.scale for each in values)
    # Spark gives all of them the digits of one; PostgreSQL lets each keep its own.
    loose = any(each.loose or each.scale != scale for each in values)
    return SqlType(PostgresType.NUMERIC, scale, loose=loose)


def ordered(value: TypedSql, node: exp.Expr, *, by_code_point: bool) -> None:
    """Refuse to compare by size a value that has no order, or another one.

    Raises:
        QueryError: it is a text and PostgreSQL does not compare texts by code point here, or a
            value without an order that is on the list.
    """
    if value.kind is PostgresType.TEXT and not by_code_point and not isinstance(node, exp.Collate):
        raise refused(
            node, 'the database sorts text by a language, Spark by code point: add collate "C"'
        )
    uncompared(value, node)


def uncompared(value: TypedSql, node: exp.Expr) -> None:
    """Refuse to compare arrays."""
    if value.kind is PostgresType.ARRAY:
        raise refused(node, "arrays are not compared")
