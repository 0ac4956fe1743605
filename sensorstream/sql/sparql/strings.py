"""The functions of strings (SPARQL 1.1, section 17.4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.sql.sparql.fragments import all_of, sql
from sensorstream.sql.sparql.frames import Frame
from sensorstream.sql.sparql.values import Number, Text, Truth, Value, said

_FAR: Final = 1_000_000_000
"""Beyond the length of any text that PostgreSQL holds."""


def strlen(value: Value, frame: Frame) -> Value:
    """STRLEN."""
    return Number(sql("CAST(LENGTH(:text) AS DECIMAL)", text=value.chars), sql("0"))


def _mapping(text: str) -> Callable[[Value, Frame], Value]:
    def function(value: Value, frame: Frame) -> Value:
        value = frame.light(value)
        return Text(sql(text, text=value.chars), value.language)

    return function


def encode_for_uri(value: Value, frame: Frame) -> Value:
    """ENCODE_FOR_URI: all but the unreserved characters of RFC 3986, as their UTF-8 bytes."""
    return Text(sql("ENCODE_FOR_URI(:text)", text=value.chars))


def _comparing(text: str) -> Callable[[Value, Value, Frame], Value]:
    def function(one: Value, other: Value, frame: Frame) -> Value:
        one, other = frame.light(one), frame.light(other)
        return Truth(
            said(
                f"CASE WHEN :compatible THEN {text} END",
                compatible=_compatible(one, other),
                a=one,
                b=other,
            )
        )

    return function


def _compatible(one: Value, other: Value) -> exp.Expr:
    """Whether two arguments go together (section 17.4.3.1.2)."""
    return said(
        "NOT :a_chars IS NULL AND NOT :b_chars IS NULL "
        "AND (:b_language IS NULL OR :b_language = :a_language)",
        a=one,
        b=other,
    )


def strbefore(one: Value, other: Value, frame: Frame) -> Value:
    """STRBEFORE; without a match, a plain empty string."""
    return _part(one, other, frame, "LEFT(:a_chars, STRPOS(:a_chars, :b_chars) - 1)")


def strafter(one: Value, other: Value, frame: Frame) -> Value:
    """STRAFTER; without a match, a plain empty string."""
    return _part(
        one, other, frame, "SUBSTRING(:a_chars, STRPOS(:a_chars, :b_chars) + LENGTH(:b_chars))"
    )


def _part(one: Value, other: Value, frame: Frame, text: str) -> Value:
    one, other = frame.light(one), frame.light(other)
    is_found = said("STRPOS(:a_chars, :b_chars) > 0", a=one, b=other)
    return Text(
        said(
            f"CASE WHEN :compatible THEN CASE WHEN :found THEN {text} ELSE '' END END",
            compatible=_compatible(one, other),
            found=is_found,
            a=one,
            b=other,
        ),
        said("CASE WHEN :found THEN :language END", one, found=is_found),
    )


def concat(values: list[Value], frame: Frame) -> Value:
    """CONCAT: with a language if all parts have it."""
    if not values:
        return Text(sql("''"))
    values = [frame.light(each) for each in values]
    text = values[0].chars
    for each in values[1:]:
        text = sql(":a || :b", a=text, b=each.chars)
    first, *rest = values
    same = all_of(
        *(sql(":a = :b", a=first.language, b=each.language) for each in rest),
        sql("NOT :a IS NULL", a=first.language),
    )
    return Text(text, sql("CASE WHEN :same THEN :language END", same=same, language=first.language))


def substr(source: Value, start: Value, length: Value | None, frame: Frame) -> Value:
    """SUBSTR: characters from ``start``, counted from 1; both numbers are rounded (XPath)."""
    source, start = frame.light(source), frame.light(start)
    begin = _rounded(start.number)
    text = source.chars
    if length is None:
        part = sql("SUBSTRING(:text, :begin)", text=text, begin=_place(begin))
        known = sql("NOT :begin IS NULL", begin=begin)
    else:
        length = frame.light(length)
        size = _rounded(length.number)
        end = sql(":begin + :size", begin=begin, size=size)
        part = sql(
            "SUBSTRING(:text, :low, GREATEST(:high - :low, 0))",
            text=text,
            low=_place(begin),
            high=_place(end),
        )
        known = sql("NOT :begin IS NULL AND NOT :size IS NULL", begin=begin, size=size)
    nothing = sql(":begin = CAST('NaN' AS DECIMAL) OR :begin > :far", begin=begin, far=_FAR)
    return Text(
        sql(
            "CASE WHEN :known THEN CASE WHEN :text IS NULL THEN NULL WHEN :nothing THEN '' "
            "ELSE :part END END",
            known=known,
            text=text,
            nothing=nothing,
            part=part,
        ),
        source.language,
    )


def _rounded(number: exp.Expr) -> exp.Expr:
    return sql(
        "CASE WHEN ABS(:number) < CAST('Infinity' AS DECIMAL) THEN FLOOR(:number + 0.5) "
        "ELSE :number END",
        number=number,
    )


def _place(number: exp.Expr) -> exp.Expr:
    """A place in a text; NaN is no place, as if far before its start."""
    return sql(
        "CAST(CASE WHEN :number = CAST('NaN' AS DECIMAL) THEN 1 "
        "ELSE GREATEST(LEAST(:number, :far), 1) END AS INT)",
        number=number,
        far=_FAR,
    )


MAPPINGS: Final[Mapping[str, Callable[[Value, Frame], Value]]] = {
    # The full case mapping of Unicode, whatever the database's collation is.
    "UCASE": _mapping('UPPER(:text COLLATE "pg_unicode_fast")'),
    "LCASE": _mapping('LOWER(:text COLLATE "pg_unicode_fast")'),
}
TESTS: Final[Mapping[str, Callable[[Value, Value, Frame], Value]]] = {
    "CONTAINS": _comparing("STRPOS(:a_chars, :b_chars) > 0"),
    "STRSTARTS": _comparing("LEFT(:a_chars, LENGTH(:b_chars)) = :b_chars"),
    "STRENDS": _comparing("RIGHT(:a_chars, LENGTH(:b_chars)) = :b_chars"),
}
