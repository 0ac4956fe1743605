"""Arithmetic, the functions of SPARQL 1.1 and the casts (sections 17.3 to 17.5): a row for each.

Most are texts of SQL over the parts of their arguments a, b and c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.model import xsd
from sensorstream.model.xsd import FAMILIES
from sensorstream.sparql.values import RANKED
from sensorstream.sql.sparql.lexical_forms import (
    as_double,
    decimal_of,
    double_of,
    integer_of,
    number_text,
    rounded,
    single,
)
from sensorstream.sql.sparql.regexes import regex, replace
from sensorstream.sql.sparql.solution_relations import Frame
from sensorstream.sql.sparql.sql_terms import (
    NameValue,
    NumberValue,
    SqlTerm,
    StringValue,
    Truth,
    TypedLiteral,
    UnknownTerm,
    literal_of,
    said,
    time_of,
)
from sensorstream.sql.sql_fragments import all_of, constant, sql

_DIGITS: Final = 28
"""Decimal places of a quotient."""


def arithmetic(operator: str, left: SqlTerm, right: SqlTerm, frame: Frame) -> SqlTerm:
    """``left operator right``: exact for integers and decimals, IEEE 754 for the others."""
    a, b = left.number, right.number
    rank = sql("GREATEST(:a, :b)", a=left.rank, b=right.rank)
    if operator == "/":
        return _quotient(a, b, rank, frame)
    exact = sql(f":a {operator} :b", a=a, b=b)
    doubles = sql(
        # Where the exact result is far from the limits, so is every step of the other computation.
        "CASE WHEN :exact = 0 OR ABS(:exact) BETWEEN CAST('1e-300' AS DECIMAL) "
        "AND CAST('1e308' AS DECIMAL) THEN CAST(CAST(:fast AS TEXT) AS DECIMAL) ELSE :slow END",
        exact=exact,
        fast=sql(f":a {operator} :b", a=as_double(a), b=as_double(b)),
        slow=rounded(exact),
    )
    singles = _singles(operator, a, b, exact, single(exact))
    return NumberValue(_by_rank(rank, singles, doubles, exact), rank)


def _by_rank(rank: exp.Expr, singles: exp.Expr, doubles: exp.Expr, exact: exp.Expr) -> exp.Expr:
    return sql(
        "CASE :rank WHEN 2 THEN :singles WHEN 3 THEN :doubles ELSE :exact END",
        rank=rank,
        singles=singles,
        doubles=doubles,
        exact=exact,
    )


def _singles(operator: str, a: exp.Expr, b: exp.Expr, result: exp.Expr, slow: exp.Expr) -> exp.Expr:
    """The result on xsd:float; ``slow`` where an operand or the result is near its limits."""
    fits = "(:n = 0 OR ABS(:n) BETWEEN CAST('1e-36' AS DECIMAL) AND CAST('3e38' AS DECIMAL))"
    # The quotient of two floats is a double in Spark.
    form = "CAST(:a / :b AS REAL)" if operator == "/" else f":a {operator} :b"
    fast = sql(form, a=exp.cast(a, "REAL"), b=exp.cast(b, "REAL"))
    return sql(
        "CASE WHEN :of_a AND :of_b AND :of_result THEN CAST(CAST(:fast AS TEXT) AS DECIMAL) "
        "ELSE :slow END",
        of_a=sql(fits, n=a),
        of_b=sql(":b <> 0 AND :fits", b=b, fits=sql(fits, n=b)),
        of_result=sql(fits, n=result),
        fast=fast,
        slow=slow,
    )


def negative(value: SqlTerm) -> SqlTerm:
    """``- value``."""
    return NumberValue(of_type(sql("-:number", number=value.number), value.rank), value.rank)


def positive(value: SqlTerm) -> SqlTerm:
    """``+ value``."""
    return NumberValue(of_type(value.number, value.rank), value.rank)


def of_type(number: exp.Expr, rank: exp.Expr) -> exp.Expr:
    """A number as one of its type: a float has 24 bits."""
    return sql(
        "CASE :rank WHEN 2 THEN :single ELSE :number END",
        rank=rank,
        single=single(number),
        number=number,
    )


def quotient(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """The quotient of two exact numbers; null for a division by zero."""
    return sql(
        "CASE WHEN :b <> 0 THEN TRIM_SCALE(ROUND(QUOTIENT(:a, :b, :more), :digits)) END",
        a=a,
        b=b,
        digits=_DIGITS,
        more=_DIGITS + 8,
    )


def double_quotient(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """The quotient of two numbers as doubles (IEEE 754)."""
    return sql(
        "CASE WHEN :b = 0 THEN CASE WHEN :a > 0 AND :a <> CAST('NaN' AS DECIMAL) "
        "THEN CAST('Infinity' AS DECIMAL) WHEN :a < 0 THEN CAST('-Infinity' AS DECIMAL) "
        # Null where the dividend is no number.
        "ELSE :a + CAST('NaN' AS DECIMAL) END "
        "WHEN ABS(:a) BETWEEN CAST('1e-100' AS DECIMAL) AND CAST('1e100' AS DECIMAL) "
        "AND ABS(:b) BETWEEN CAST('1e-100' AS DECIMAL) AND CAST('1e100' AS DECIMAL) "
        "THEN CAST(CAST(CAST(:a AS DOUBLE PRECISION) / CAST(:b AS DOUBLE PRECISION) AS TEXT) "
        "AS DECIMAL) WHEN ABS(:b) = CAST('Infinity' AS DECIMAL) THEN "
        "CASE WHEN ABS(:a) < CAST('Infinity' AS DECIMAL) THEN 0 ELSE CAST('NaN' AS DECIMAL) END "
        "ELSE :slow END",
        a=a,
        b=b,
        slow=rounded(sql("QUOTIENT(:a, :b, 400)", a=a, b=b)),
    )


def _quotient(a: exp.Expr, b: exp.Expr, rank: exp.Expr, frame: Frame) -> SqlTerm:
    doubles = frame.computed(double_quotient(a, b))
    singles = _singles("/", a, b, doubles, single(doubles))
    number = _by_rank(rank, singles, doubles, quotient(a, b))
    return NumberValue(number, sql("GREATEST(:rank, 1)", rank=rank))


Function: TypeAlias = Callable[..., SqlTerm]
"""Gives a value of the frame and the arguments' values."""
_FAR: Final = 1_000_000_000
"""Beyond the length of any text that PostgreSQL holds."""
_FINITE: Final = "ABS(:number) < CAST('Infinity' AS DECIMAL)"


def _row(kind: Callable[..., SqlTerm], *texts: str, light: bool = True) -> Function:
    """A function made of texts, with a value of some kind; ``light``: they repeat arguments."""

    def function(frame: Frame, *values: SqlTerm) -> SqlTerm:
        given = dict(zip("abc", map(frame.light, values) if light else values, strict=False))
        return kind(*(said(text, **given) for text in texts))

    return function


# -- strings (section 17.4.3) ---------------------------------------------------------------------

# Whether two arguments are compatible (section 17.4.3.1.2).
_COMPATIBLE: Final = (
    "(NOT :a_chars IS NULL AND NOT :b_chars IS NULL "
    "AND (:b_language IS NULL OR :b_language = :a_language))"
)
_FOUND: Final = "(STRPOS(:a_chars, :b_chars) > 0)"
_TAGGED: Final = "(NOT :a_chars IS NULL AND :b_chars <> '' AND :a_language IS NULL)"


def _test(text: str) -> Function:
    return _row(Truth, f"CASE WHEN {_COMPATIBLE} THEN {text} END")


def _part(text: str) -> Function:
    """A text's part; without a match, a plain empty string."""
    return _row(
        StringValue,
        f"CASE WHEN {_COMPATIBLE} THEN CASE WHEN {_FOUND} THEN {text} ELSE '' END END",
        f"CASE WHEN {_FOUND} THEN :a_language END",
    )


def _concat(frame: Frame, *values: SqlTerm) -> SqlTerm:
    """CONCAT; the result has a language if all parts have it."""
    if not values:
        return StringValue(sql("''"))
    first, *rest = map(frame.light, values)
    text = first.chars
    for each in rest:
        text = sql(":a || :b", a=text, b=each.chars)
    same = all_of(
        *(sql(":a = :b", a=first.language, b=each.language) for each in rest),
        sql("NOT :a IS NULL", a=first.language),
    )
    return StringValue(
        text, sql("CASE WHEN :same THEN :language END", same=same, language=first.language)
    )


def _substr(
    frame: Frame, source: SqlTerm, start: SqlTerm, length: SqlTerm | None = None
) -> SqlTerm:
    """Characters from ``start``, counted from 1; both numbers are rounded (XPath)."""
    source, start = frame.light(source), frame.light(start)
    begin = _whole(start.number)
    text = source.chars
    if length is None:
        part = sql("SUBSTRING(:text, :begin)", text=text, begin=_place(begin))
        known = sql("NOT :begin IS NULL", begin=begin)
    else:
        size = _whole(frame.light(length).number)
        part = sql(
            "SUBSTRING(:text, :low, GREATEST(:high - :low, 0))",
            text=text,
            low=_place(begin),
            high=_place(sql(":begin + :size", begin=begin, size=size)),
        )
        known = sql("NOT :begin IS NULL AND NOT :size IS NULL", begin=begin, size=size)
    return StringValue(
        sql(
            "CASE WHEN :known THEN CASE WHEN :text IS NULL THEN NULL "
            "WHEN (:begin = CAST('NaN' AS DECIMAL) OR :begin > :far) THEN '' ELSE :part END END",
            known=known,
            text=text,
            begin=begin,
            far=_FAR,
            part=part,
        ),
        source.language,
    )


def _whole(number: exp.Expr) -> exp.Expr:
    return sql(f"CASE WHEN {_FINITE} THEN FLOOR(:number + 0.5) ELSE :number END", number=number)


def _place(number: exp.Expr) -> exp.Expr:
    """A place in a text; NaN is no place, as if far before its start."""
    return sql(
        "CAST(CASE WHEN :number = CAST('NaN' AS DECIMAL) THEN 1 "
        "ELSE GREATEST(LEAST(:number, :far), 1) END AS INT)",
        number=number,
        far=_FAR,
    )


# -- numbers (section 17.4.4) ---------------------------------------------------------------------


def _of_number(text: str) -> Function:
    def function(frame: Frame, value: SqlTerm) -> SqlTerm:
        value = frame.light(value)
        made = frame.computed(sql(text, number=value.number))
        return NumberValue(of_type(made, value.rank), value.rank)

    return function


def _rounding(text: str) -> Function:
    return _of_number(f"CASE WHEN {_FINITE} THEN {text} ELSE :number END")


# -- times (section 17.4.5) -----------------------------------------------------------------------

_ZONE: Final = "(Z|[+-][0-9]{2}:[0-9]{2}|)$"
_FIELDS: Final = {
    "YEAR": "^(-?[0-9]{4,})",
    "MONTH": "^-?[0-9]{4,}-([0-9]{2})",
    "DAY": "^-?[0-9]{4,}-[0-9]{2}-([0-9]{2})",
    "HOURS": "T([0-9]{2})",
    "MINUTES": "T[0-9]{2}:([0-9]{2})",
    "SECONDS": "T[0-9]{2}:[0-9]{2}:([0-9]{2}(?:[.][0-9]+)?)",
}


def summed(frame: Frame, a: SqlTerm, b: SqlTerm, way: int) -> SqlTerm:
    """``a + b`` of times and durations, or with a way of -1 ``a - b``."""
    text = (
        "CASE WHEN :a_is_time AND :b_is_time "
        "THEN store.time_sum(:a_text, :a_datatype, :b_text, :b_datatype, :way) END"
    )
    found = frame.computed(said(text, a=a, b=b, way=way), "text")
    return time_of(
        sql("SPLIT_PART(:found, ' ', 2)", found=found),
        sql("SPLIT_PART(:found, ' ', 1)", found=found),
    )


def negative_time(frame: Frame, value: SqlTerm) -> SqlTerm:
    """The same duration the other way."""
    text = "CASE WHEN :is_time THEN store.time_negative(:text, :datatype) END"
    return time_of(frame.computed(said(text, value), "text"), value.datatype)


def _time_part(frame: Frame, value: SqlTerm, name: str, form: str) -> exp.Expr:
    """A part of a moment as text; the lexical form of one that is stored shows it."""
    made = said(
        "CASE WHEN :datatype IN (:datetime, :stamp, :date) AND NOT :moment IS NULL "
        "AND NOT :text ~ 'T24:' THEN SUBSTRING(BTRIM(:text, :blanks) FROM :form) "
        "WHEN :is_time THEN store.time_part(:text, :datatype, :part) END",
        frame.light(value),
        form=form,
        part=name,
    )
    return frame.computed(made, "text")


def _field(name: str) -> Function:
    def function(frame: Frame, value: SqlTerm) -> SqlTerm:
        field = _time_part(frame, value, name, _FIELDS[name])
        rank = constant(1 if name == "SECONDS" else 0)
        return NumberValue(sql("CAST(:field AS DECIMAL)", field=field), rank)

    return function


def _of_zone(kind: Callable[[exp.Expr], SqlTerm], text: str) -> Function:
    """A function of a time's zone, which is empty without one; null for other values."""

    def function(frame: Frame, value: SqlTerm) -> SqlTerm:
        return kind(sql(text, zone=_time_part(frame, value, "TZ", _ZONE)))

    return function


# -- terms and hashes (sections 17.4.2 and 17.4.6) ------------------------------------------------


def _strdt(frame: Frame, text: SqlTerm, datatype: SqlTerm) -> SqlTerm:
    text, datatype = frame.light(text), frame.light(datatype)
    form = "CASE WHEN :type_kind = 0 AND :language IS NULL THEN :chars END"
    made = said(form, text, type=datatype)
    return literal_of(frame.computed(made, "text"), datatype.text)


def blank_node(frame: Frame) -> SqlTerm:
    """``BNODE()``."""
    label = frame.computed(sql("'b' || MD5(CAST(GEN_RANDOM_UUID() AS TEXT))"), "text")
    return UnknownTerm({"kind": constant(1), "text": label})


def _fresh(kind: Callable[..., SqlTerm], *texts: str) -> Function:
    """A value that is another one for each row."""
    return lambda frame: frame.light(kind(*map(sql, texts)))


def _hash(name: str) -> Function:
    return _row(StringValue, f"{name}(CASE WHEN :a_language IS NULL THEN :a_chars END)")


FUNCTIONS: Final[Mapping[str, Function]] = {
    "STR": _row(StringValue, "CASE WHEN :a_kind IN (0, 2) THEN :a_text END"),
    "LANG": _row(StringValue, "CASE WHEN :a_kind = 2 THEN COALESCE(:a_language, '') END"),
    "DATATYPE": _row(NameValue, ":a_datatype", light=False),
    "ISIRI": _row(Truth, ":a_kind = 0", light=False),
    "ISURI": _row(Truth, ":a_kind = 0", light=False),
    "ISBLANK": _row(Truth, ":a_kind = 1", light=False),
    "ISLITERAL": _row(Truth, ":a_kind = 2", light=False),
    "ISNUMERIC": _row(Truth, "CASE WHEN NOT :a_kind IS NULL THEN NOT :a_number IS NULL END"),
    "MD5": _hash("MD5"),
    **{name: _hash(f"HEX_{name}") for name in ("SHA256", "SHA384", "SHA512")},
    # Basic filtering (RFC 4647, section 3.3.1).
    "LANGMATCHES": _row(
        Truth,
        "CASE WHEN :b_chars = '*' THEN :a_chars <> '' ELSE LOWER(:a_chars) = LOWER(:b_chars) "
        "OR LEFT(LOWER(:a_chars), LENGTH(:b_chars) + 1) = LOWER(:b_chars) || '-' END",
    ),
    "STRLANG": _row(
        StringValue,
        f"CASE WHEN {_TAGGED} THEN :a_chars END",
        f"CASE WHEN {_TAGGED} THEN LOWER(:b_chars) END",
    ),
    "STRDT": _strdt,
    "STRLEN": _row(NumberValue, "CAST(LENGTH(:a_chars) AS DECIMAL)", "0", light=False),
    # The full case mapping of Unicode, whatever the database's collation is.
    "UCASE": _row(StringValue, 'UPPER(:a_chars COLLATE "pg_unicode_fast")', ":a_language"),
    "LCASE": _row(StringValue, 'LOWER(:a_chars COLLATE "pg_unicode_fast")', ":a_language"),
    # All but the unreserved characters of RFC 3986, as their UTF-8 bytes.
    "ENCODE_FOR_URI": _row(StringValue, "ENCODE_FOR_URI(:a_chars)", light=False),
    "CONTAINS": _test("STRPOS(:a_chars, :b_chars) > 0"),
    "STRSTARTS": _test("LEFT(:a_chars, LENGTH(:b_chars)) = :b_chars"),
    "STRENDS": _test("RIGHT(:a_chars, LENGTH(:b_chars)) = :b_chars"),
    "STRBEFORE": _part("LEFT(:a_chars, STRPOS(:a_chars, :b_chars) - 1)"),
    "STRAFTER": _part("SUBSTRING(:a_chars, STRPOS(:a_chars, :b_chars) + LENGTH(:b_chars))"),
    "CONCAT": _concat,
    "SUBSTR": _substr,
    "REGEX": regex,
    "REPLACE": replace,
    "ABS": _of_number("ABS(:number)"),
    # Half goes up, also below zero (XPath and XQuery Functions 3.1, section 4.4.4).
    "ROUND": _rounding("FLOOR(:number + 0.5)"),
    "CEIL": _rounding("CEIL(:number)"),
    "FLOOR": _rounding("FLOOR(:number)"),
    **{name: _field(name) for name in _FIELDS},
    "TZ": _of_zone(StringValue, "CASE WHEN :zone IN ('+00:00', '-00:00') THEN 'Z' ELSE :zone END"),
    "TIMEZONE": _of_zone(
        lambda text: TypedLiteral(text, xsd.DAY_TIME_DURATION),
        "CASE WHEN :zone = '' THEN NULL "
        "WHEN :zone IN ('Z', '+00:00', '-00:00') THEN 'PT0S' "
        "ELSE CASE WHEN LEFT(:zone, 1) = '-' THEN '-' ELSE '' END || 'PT' "
        "|| CASE WHEN SUBSTRING(:zone, 2, 2) = '00' THEN '' "
        "ELSE CAST(CAST(SUBSTRING(:zone, 2, 2) AS INT) AS TEXT) || 'H' END "
        "|| CASE WHEN SUBSTRING(:zone, 5, 2) = '00' THEN '' "
        "ELSE CAST(CAST(SUBSTRING(:zone, 5, 2) AS INT) AS TEXT) || 'M' END END",
    ),
    "NOW": lambda _: TypedLiteral(
        sql("NOW_TEXT(:form)", form='YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), xsd.DATE_TIME
    ),
    "RAND": _fresh(NumberValue, "CAST(CAST(RANDOM() AS TEXT) AS DECIMAL)", "3"),
    "UUID": _fresh(NameValue, "'urn:uuid:' || CAST(GEN_RANDOM_UUID() AS TEXT)"),
    "STRUUID": _fresh(StringValue, "CAST(GEN_RANDOM_UUID() AS TEXT)"),
}
"""Functions of values; :func:`blank_node` is BNODE without an argument."""


# -- casts (section 17.5) -------------------------------------------------------------------------

_READERS: Final = {
    xsd.INTEGER: integer_of,
    xsd.DECIMAL: decimal_of,
    xsd.FLOAT: double_of,
    xsd.DOUBLE: double_of,
}


def _cast_string(frame: Frame, value: SqlTerm) -> SqlTerm:
    value = frame.light(value)
    # Outside of these bounds XPath writes a double with an exponent (Functions 3.1, 19.1.2.2).
    number = said(
        "CASE WHEN :rank >= 2 AND ABS(:number) < CAST('Infinity' AS DECIMAL) AND (:number = 0 OR "
        "ABS(:number) >= 0.000001 AND ABS(:number) < 1000000) "
        "THEN CAST(TRIM_SCALE(:number) AS TEXT) ELSE :canonical END",
        value,
        canonical=number_text(value.number, value.rank),
    )
    return StringValue(
        said(
            "CASE WHEN :kind = 0 THEN :text WHEN :kind = 1 OR NOT :language IS NULL THEN NULL "
            "WHEN :datatype = :boolean THEN CASE BTRIM(:text, :blanks) WHEN 'true' THEN 'true' "
            "WHEN '1' THEN 'true' WHEN 'false' THEN 'false' WHEN '0' THEN 'false' END "
            "WHEN NOT :number IS NULL THEN :written ELSE :text END",
            value,
            written=number,
        )
    )


def _cast_number(target: str) -> Function:
    rank = RANKED.index(target)

    def function(frame: Frame, value: SqlTerm) -> SqlTerm:
        value = frame.light(value)
        number = value.number
        if rank < 2:
            number = sql("CASE WHEN ABS(:a) < CAST('Infinity' AS DECIMAL) THEN :a END", a=number)
        made = said(
            "CASE WHEN :datatype = :string THEN :read "
            "WHEN :datatype = :boolean THEN CASE WHEN :truth THEN 1 ELSE 0 END ELSE :number END",
            value,
            read=_READERS[target](value.text),
            number=number,
        )
        made = frame.computed(made)
        if rank == 0:
            made = sql("TRUNC(:number)", number=made)
        elif target == xsd.FLOAT:
            made = single(made)
        elif target == xsd.DOUBLE:
            made = rounded(made)
        return NumberValue(made, sql(str(rank)))

    return function


def _cast_time(target: str) -> Function:
    def function(frame: Frame, value: SqlTerm) -> SqlTerm:
        value = frame.light(value)
        # A string is read as the datatype that it shall have.
        form = "CASE WHEN :datatype = :string THEN :target ELSE :datatype END"
        datatype = said(form, value, target=target)
        read = time_of(value.text, frame.computed(datatype, "datatype"))
        text = "CASE WHEN :is_time THEN store.time_cast(:text, :datatype, :target) END"
        return TypedLiteral(frame.computed(said(text, read, target=target), "text"), target)

    return function


CASTS: Final[Mapping[str, Function]] = {
    xsd.STRING: _cast_string,
    xsd.BOOLEAN: _row(
        Truth,
        "CASE WHEN :a_datatype = :string THEN CASE WHEN BTRIM(:a_text, :blanks) "
        "IN ('true', 'false', '1', '0') THEN :a_text IN ('true', '1') END "
        "WHEN :a_datatype = :boolean OR NOT :a_number IS NULL THEN :a_truth END",
    ),
    **{target: _cast_number(target) for target in RANKED},
    **{target: _cast_time(target) for target in FAMILIES},
}
