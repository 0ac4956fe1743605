"""Conversions between lexical forms and values in SQL, as in :mod:`sensorstream.model.xsd`."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from sensorstream.model.xsd import FAMILIES, INTEGER_BOUNDS
from sensorstream.sql.sql_fragments import all_of, any_of, constant, free, sql

_WHOLE: Final = r"^[+-]?[0-9]+$"
_DECIMAL: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$"
_DOUBLE: Final = r"^(([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN))$"
_CLOCK: Final = r"(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?|24:00:00(\.0+)?)"
_ZONE: Final = r"(Z|[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
_DAY: Final = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
DATE_TIME: Final = f"^{_DAY}T{_CLOCK}{_ZONE}?$"
STAMP: Final = f"^{_DAY}T{_CLOCK}{_ZONE}$"
DATE: Final = f"^{_DAY}{_ZONE}?$"
_LARGEST: Final = "1.7976931348623157e308"
_LEAST: Final = "5e-324"
# Limits of rounding to the least xsd:float and to infinity: the middles beyond its ends.
_LEAST_SINGLE: Final = "7.0064923216240853547e-46"
_LARGEST_SINGLE: Final = "340282356779733661637539395458142568448"


def number_of(text: exp.Expr, datatype: exp.Expr) -> exp.Expr:
    """The number of a lexical form; null if it is not valid, or the datatype not numeric."""
    return sql(
        "CASE WHEN :is_whole THEN :whole_number "
        "WHEN :datatype = :decimal THEN :decimal_number "
        "WHEN :datatype IN (:float, :double) THEN :double_number END",
        datatype=datatype,
        is_whole=exp.In(
            this=datatype.copy(), expressions=[constant(each) for each in sorted(INTEGER_BOUNDS)]
        ),
        whole_number=_whole(text, datatype),
        decimal_number=decimal_of(text),
        double_number=double_of(text),
    )


def integer_of(text: exp.Expr) -> exp.Expr:
    """The number of a lexical form of xsd:integer; null if it is not one."""
    return _matched(text, _WHOLE)


def decimal_of(text: exp.Expr) -> exp.Expr:
    """The number of a lexical form of xsd:decimal; null if it is not one."""
    return _matched(text, _DECIMAL)


def double_of(text: exp.Expr) -> exp.Expr:
    """The number of a lexical form of xsd:double; null if it is not one.

    An exponent of more than three digits gives zero or infinity without computing it.
    """
    trimmed = sql("BTRIM(:text, :blanks)", text=text)
    finite = rounded(sql("CAST(:text AS DECIMAL)", text=trimmed))
    return sql(
        "CASE WHEN NOT :text ~ :form THEN NULL "
        "WHEN :text ~ 'NaN$' THEN CAST('NaN' AS DECIMAL) "
        "WHEN :text ~ '^-INF$' THEN CAST('-Infinity' AS DECIMAL) "
        "WHEN :text ~ 'INF$' THEN CAST('Infinity' AS DECIMAL) "
        "WHEN :text ~ '[eE][+]?0*[1-9][0-9]{3}' OR LENGTH(:text) > 400 THEN NULL "
        "WHEN :text ~ '[eE]-0*[1-9][0-9]{3}' THEN 0 "
        "ELSE :finite END",
        text=trimmed,
        form=_DOUBLE,
        finite=finite,
    )


def rounded(number: exp.Expr) -> exp.Expr:
    """A number rounded to a double, as the shortest decimal that reads back as it."""
    return sql("CAST(CAST(:double AS TEXT) AS DECIMAL)", double=as_double(number))


def as_double(number: exp.Expr) -> exp.Expr:
    """A number as a double: what is too large is infinite, what is too small is zero."""
    return sql(
        "CASE WHEN ABS(:number) < :least AND :number <> 0 THEN CAST(0 AS DOUBLE PRECISION) "
        "WHEN ABS(:number) > :largest AND ABS(:number) < CAST('Infinity' AS DECIMAL) "
        "THEN CAST(SIGN(:number) * CAST('Infinity' AS DECIMAL) AS DOUBLE PRECISION) "
        "ELSE CAST(:number AS DOUBLE PRECISION) END",
        number=number,
        least=exp.cast(constant(_LEAST), "DECIMAL"),
        largest=exp.cast(constant(_LARGEST), "DECIMAL"),
    )


def single(number: exp.Expr) -> exp.Expr:
    """A number rounded to an xsd:float, as the shortest decimal that reads back as it."""
    return sql(
        "CASE WHEN ABS(:number) <= :least THEN 0 "
        "WHEN ABS(:number) >= :largest AND ABS(:number) < CAST('Infinity' AS DECIMAL) "
        "THEN SIGN(:number) * CAST('Infinity' AS DECIMAL) "
        "ELSE CAST(CAST(CAST(:number AS REAL) AS TEXT) AS DECIMAL) END",
        number=number,
        least=exp.cast(constant(_LEAST_SINGLE), "DECIMAL"),
        largest=exp.cast(constant(_LARGEST_SINGLE), "DECIMAL"),
    )


def number_text(number: exp.Expr, rank: exp.Expr) -> exp.Expr:
    """The canonical form of a number: ``7``, ``7.5``, ``7.5E0``."""
    return sql(
        "CASE WHEN :rank <= 1 THEN CAST(TRIM_SCALE(:number) AS TEXT) "
        "ELSE CASE WHEN :number = CAST('NaN' AS DECIMAL) THEN 'NaN' "
        "WHEN :number = CAST('Infinity' AS DECIMAL) THEN 'INF' "
        "WHEN :number = CAST('-Infinity' AS DECIMAL) THEN '-INF' "
        "WHEN :number = 0 THEN '0.0E0' "
        "ELSE REPLACE(REGEXP_REPLACE(LTRIM(SCIENTIFIC(:number)), "
        r"'0*e[+]?(-?)0*([0-9]+)$', 'E\1\2'), '.E', '.0E') END END",
        rank=rank,
        number=number,
    )


def moment_of(text: exp.Expr, datatype: exp.Expr) -> exp.Expr:
    """The instant of a dateTime, or of the start of a date; null for all else.

    Without a zone it is read as UTC; digits beyond the microsecond are cut.
    """
    trimmed = sql("BTRIM(:text, :blanks)", text=text)
    written = sql(
        "CASE :datatype WHEN :date THEN SUBSTRING(:text, 1, 10) || 'T00:00:00' "
        r"ELSE SUBSTRING(:text FROM '^[^Z.+]{19}(?:\.[0-9]{1,6})?') END "
        "|| COALESCE(SUBSTRING(SUBSTRING(:text, 11) FROM :zone), 'Z')",
        datatype=datatype,
        text=trimmed,
        zone=f"{_ZONE}$",
    )
    return sql(
        "CASE WHEN CASE :datatype WHEN :datetime THEN :text ~ :datetimes "
        "WHEN :stamp THEN :text ~ :stamps WHEN :date THEN :text ~ :dates END "
        "AND IS_MOMENT(:written) THEN CAST(:written AS TIMESTAMPTZ) END",
        datatype=datatype,
        text=trimmed,
        datetimes=DATE_TIME,
        stamps=STAMP,
        dates=DATE,
        written=written,
    )


def is_of_time(datatype: exp.Expr) -> exp.Expr:
    """Whether a datatype is one of moments or durations; null without a datatype."""
    names = [constant(each) for each in sorted(FAMILIES)]
    return exp.In(this=free(datatype), expressions=names)


def _matched(text: exp.Expr, form: str) -> exp.Expr:
    return sql(
        "CASE WHEN BTRIM(:text, :blanks) ~ :form THEN CAST(BTRIM(:text, :blanks) AS DECIMAL) END",
        text=text,
        form=form,
    )


def _whole(text: exp.Expr, datatype: exp.Expr) -> exp.Expr:
    number = integer_of(text)
    out_of_range = []
    for name, bounds in INTEGER_BOUNDS.items():
        beyond = [
            sql(f":number {sign} CAST(:end AS DECIMAL)", number=number, end=str(end))
            for sign, end in zip("<>", bounds, strict=True)
            if end is not None
        ]
        if beyond:
            is_of = sql(":datatype = :name", datatype=datatype, name=name)
            out_of_range.append(all_of(is_of, any_of(*beyond)))
    return sql(
        "CASE WHEN :wrong THEN NULL ELSE :number END", wrong=any_of(*out_of_range), number=number
    )
