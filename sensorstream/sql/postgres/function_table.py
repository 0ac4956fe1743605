"""Functions and operators that mean the same on Spark: PostgreSQL's name and Spark's text.

An operator is named as between its operands. A row that does not say enough has a function of
:mod:`.function_rows`. A name that is not here is refused; ``WAYS`` has the way out for those that
people miss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from sensorstream.sql.postgres import function_rows as bodies
from sensorstream.sql.postgres.function_rows import (
    ALL,
    ANY,
    AS_DOUBLE,
    AS_MOMENT,
    AS_TEXT,
    EXACT,
    MANY,
    NUMBER,
    TEXT_OR_BYTES,
    TEXTS,
    TRUTH,
    FunctionRow,
    Of,
    WrittenLiteral,
    of,
    row,
)
from sensorstream.sql.postgres.sql_scope import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LOCAL,
    MOMENT,
    NUMBERS,
    NUMERIC,
    TEXT,
    TIMES,
    PostgresType,
    SqlType,
)

Table: TypeAlias = Mapping[str, tuple[FunctionRow, ...]]
# Characters that Java changes to several others, and PostgreSQL to one or none.
_CASED: Final = (
    "CASE WHEN :a RLIKE '[%s]' "
    "THEN RAISE_ERROR('Spark changes the case of a letter here otherwise than PostgreSQL') "
    "ELSE %s(:a) END"
)
_LOWER: Final = _CASED % (r"\\u0130\\u03A3", "LOWER")
_UPPER: Final = _CASED % (
    r"\\u00DF\\u0149\\u01F0\\u0345\\u0390\\u03B0\\u0587"
    r"\\u1E96-\\u1E9A\\u1F50-\\u1FFF\\uFB00-\\uFB17",
    "UPPER",
)
_CHANGED: Final = Of((PostgresType.TEXT,), PostgresType.TEXT, cased=True)
_BYTES: Final = of(PostgresType.BYTES)
_HEX: Final = WrittenLiteral("the form", words={"hex": "hex"})
_UTF8: Final = WrittenLiteral("the encoding", words={"utf8": "UTF-8", "utf-8": "UTF-8"})
_START: Final = WrittenLiteral("the start", 1)
_LENGTH: Final = WrittenLiteral("the length", 0)
_CHARACTERS: Final = WrittenLiteral("the number of characters", 0)
_FILLING: Final = WrittenLiteral("the filling")
_TRIMMED: Final = WrittenLiteral("the characters to trim")
_REPLACED: Final = WrittenLiteral("what is replaced", once=True)
_REPLACEMENT: Final = WrittenLiteral("the replacement", empty=True)
_UNITS: Final = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
_UNIT: Final = WrittenLiteral(
    "the unit",
    words={each: each for each in _UNITS}
    | {"microseconds": "microsecond", "milliseconds": "millisecond"},
)
# Spark gives a bigint; doubles from 2^53 on are whole, and NaN is not less.
_TOWARDS: Final = "CASE WHEN ABS(:a) < 9007199254740992 THEN CAST(%s(:a) AS DOUBLE) ELSE :a END"
_DOWN: Final = row(NUMERIC, "FLOOR", EXACT) + row(DOUBLE, _TOWARDS % "FLOOR", AS_DOUBLE)
_UP: Final = row(NUMERIC, "CEIL", EXACT) + row(DOUBLE, _TOWARDS % "CEIL", AS_DOUBLE)
_ROOT: Final = (
    "CASE WHEN :a < 0 THEN RAISE_ERROR('cannot take square root of a negative number') "
    "ELSE SQRT(:a) END"
)
_INEXACT: Final = "of exact numbers it has other digits; cast to double precision"
_ROOTED: Final = Of(
    (PostgresType.DOUBLE, PostgresType.INTEGER, PostgresType.BIGINT),
    PostgresType.DOUBLE,
    to=PostgresType.DOUBLE,
    why=_INEXACT,
)
_LENGTH_OF: Final = row(INTEGER, "LENGTH", TEXT_OR_BYTES)
_PART_OF: Final = row(TEXT, "SUBSTRING", TEXTS, _START, _LENGTH, optional=1)

_UTC: Final = WrittenLiteral("the zone", words={"utc": "UTC"})
_LOCAL: Final = of(PostgresType.LOCAL)
_MOMENT: Final = of(PostgresType.MOMENT)
_SPAN: Final = of(PostgresType.SPAN)
_DAY: Final = of(PostgresType.DATE)
_AS_LOCAL: Final = of(PostgresType.DATE, to=PostgresType.LOCAL)
_COMMON: Final = row(None, bodies.calculated, ALL, ALL)

# Spark's week days begin with 1 for Sunday, or with 0 for Monday.
_OF_DATES: Final = {
    "year": "YEAR(:a)",
    "isoyear": "EXTRACT(YEAROFWEEK FROM :a)",
    "quarter": "QUARTER(:a)",
    "month": "MONTH(:a)",
    "week": "WEEKOFYEAR(:a)",
    "day": "DAY(:a)",
    "doy": "DAYOFYEAR(:a)",
    "dow": "DAYOFWEEK(:a) - 1",
    "isodow": "WEEKDAY(:a) + 1",
}
_OF_CLOCKS: Final = {"hour": "HOUR(:a)", "minute": "MINUTE(:a)"}
_WITH_CLOCK: Final = of(PostgresType.LOCAL, PostgresType.MOMENT)
_MICROSECONDS: Final = (
    "CAST(UNIX_MICROS(CAST(:a AS TIMESTAMP)) AS DECIMAL(20, 0)) * CAST('0.000001' AS DECIMAL(7, 6))"
)
_FIELD: Final = "CAST(%s AS DECIMAL(10, 0))"
_TO_MICROSECONDS: Final = SqlType(PostgresType.NUMERIC, 6)

# In a name of two words the second is the name of a field.
OPERATORS: Final[Table] = {
    **{
        f"extract {field}": row(NUMERIC, _FIELD % cell, of(*TIMES))
        for field, cell in _OF_DATES.items()
    },
    **{
        f"extract {field}": row(NUMERIC, _FIELD % cell, _WITH_CLOCK)
        for field, cell in _OF_CLOCKS.items()
    },
    "extract second": row(
        _TO_MICROSECONDS, "CAST(EXTRACT(SECOND FROM :a) AS DECIMAL(8, 6))", _WITH_CLOCK
    ),
    "extract epoch": row(
        _TO_MICROSECONDS, "CAST(CAST(:a AS INTERVAL SECOND) AS DECIMAL(18, 6))", _SPAN
    )
    + row(_TO_MICROSECONDS, _MICROSECONDS, _WITH_CLOCK),
    **dict.fromkeys(bodies.COMPARISONS, row(BOOLEAN, bodies.compared, ALL, ALL)),
    "+": row(DATE, "DATE_ADD", _DAY, of(PostgresType.INTEGER))
    + row(LOCAL, ":a + :b", _AS_LOCAL, _SPAN)
    + row(None, ":a + :b", of(PostgresType.LOCAL, PostgresType.MOMENT, PostgresType.SPAN), _SPAN)
    + row(LOCAL, ":b + :a", _SPAN, _AS_LOCAL)
    + row(LOCAL, ":b + :a", _SPAN, _LOCAL)
    + row(MOMENT, ":b + :a", _SPAN, _MOMENT)
    + _COMMON,
    "-": row(DATE, "DATE_SUB", _DAY, of(PostgresType.INTEGER))
    + row(LOCAL, ":a - :b", _AS_LOCAL, _SPAN)
    + row(None, ":a - :b", of(PostgresType.LOCAL, PostgresType.MOMENT, PostgresType.SPAN), _SPAN)
    + _COMMON,
    "*": _COMMON,
    "/": _COMMON,
    "%": _COMMON,
    "minus": row(None, "- :a", of(*NUMBERS)),
    "not": row(BOOLEAN, "NOT :a", TRUTH),
    "||": row(TEXT, ":a || :b", AS_TEXT, AS_TEXT),
    "at time zone": row(LOCAL, "CAST(:a AS TIMESTAMP_NTZ)", _MOMENT, _UTC)
    + row(MOMENT, "CAST(:a AS TIMESTAMP)", _LOCAL, _UTC),
    "current_date": row(DATE, "CURRENT_DATE()"),
}
PLAIN: Final[Table] = {
    **dict.fromkeys(("length", "char_length", "character_length"), _LENGTH_OF),
    "octet_length": row(INTEGER, "OCTET_LENGTH", TEXT_OR_BYTES),
    "lower": row(TEXT, _LOWER, _CHANGED),
    "upper": row(TEXT, _UPPER, _CHANGED),
    "substr": _PART_OF,
    "substring": _PART_OF,
    "left": row(TEXT, "LEFT", TEXTS, _CHARACTERS),
    "right": row(TEXT, "RIGHT", TEXTS, _CHARACTERS),
    **dict.fromkeys(("strpos", "position"), row(INTEGER, "INSTR", TEXTS, TEXTS)),
    "lpad": row(TEXT, "LPAD(:a, :b, ' ')", TEXTS, _LENGTH)
    + row(TEXT, "LPAD", TEXTS, _LENGTH, _FILLING),
    "rpad": row(TEXT, "RPAD(:a, :b, ' ')", TEXTS, _LENGTH)
    + row(TEXT, "RPAD", TEXTS, _LENGTH, _FILLING),
    "btrim": row(TEXT, "BTRIM(:a, ' ')", TEXTS) + row(TEXT, "BTRIM", TEXTS, _TRIMMED),
    "ltrim": row(TEXT, "TRIM(LEADING ' ' FROM :a)", TEXTS)
    + row(TEXT, "TRIM(LEADING :b FROM :a)", TEXTS, _TRIMMED),
    "rtrim": row(TEXT, "TRIM(TRAILING ' ' FROM :a)", TEXTS)
    + row(TEXT, "TRIM(TRAILING :b FROM :a)", TEXTS, _TRIMMED),
    "split_part": row(
        TEXT,
        "SPLIT_PART",
        TEXTS,
        WrittenLiteral("the delimiter"),
        WrittenLiteral("the part's number", 1),
    ),
    "repeat": row(TEXT, "REPEAT", TEXTS, WrittenLiteral("the number of times", 0)),
    "replace": row(TEXT, "REPLACE", TEXTS, TEXTS, TEXTS),
    "reverse": row(TEXT, "REVERSE", TEXTS),
    "starts_with": row(BOOLEAN, "STARTSWITH", TEXTS, TEXTS),
    "translate": row(TEXT, "TRANSLATE", TEXTS, _REPLACED, _REPLACEMENT),
    "concat": row(TEXT, bodies.concatenated, ANY, optional=MANY),
    "concat_ws": row(TEXT, bodies.concatenated, TEXTS, ANY, optional=MANY),
    "md5": row(TEXT, "MD5(CAST(:a AS BINARY))", TEXT_OR_BYTES),
    "encode": row(TEXT, "LOWER(HEX(:a))", _BYTES, _HEX),
    "convert_from": row(TEXT, "DECODE", _BYTES, _UTF8),
    "abs": row(None, "ABS", NUMBER),
    "sign": row(NUMERIC, "CAST(SIGN(:a) AS DECIMAL(1, 0))", EXACT) + row(DOUBLE, "SIGN", AS_DOUBLE),
    "floor": _DOWN,
    "ceil": _UP,
    "ceiling": _UP,
    # A double half way goes to the even neighbour.
    "round": row(NUMERIC, "ROUND(:a, 0)", EXACT)
    + row(DOUBLE, "RINT", AS_DOUBLE)
    + row(NUMERIC, bodies.rounded_to, NUMBER, WrittenLiteral("the number of digits", 0)),
    "sqrt": row(DOUBLE, _ROOT, _ROOTED),
    "mod": _COMMON,
    "coalesce": row(None, bodies.of_common, ALL, optional=MANY),
    "greatest": row(None, bodies.of_common, ALL, optional=MANY),
    "least": row(None, bodies.of_common, ALL, optional=MANY),
    "nullif": row(None, bodies.null_if, ALL, ALL),
    "now": row(MOMENT, "CURRENT_TIMESTAMP()"),
    "date_trunc": row(
        LOCAL,
        "DATE_TRUNC",
        _UNIT,
        of(PostgresType.LOCAL, to=PostgresType.MOMENT),
        then="CAST(:a AS TIMESTAMP_NTZ)",
    )
    + row(MOMENT, "DATE_TRUNC", _UNIT, AS_MOMENT),
    "grouping": row(INTEGER, bodies.grouping, ANY, optional=MANY),
}

_DISPERSED: Final = Of((PostgresType.DOUBLE,), why=_INEXACT)
_SORTED: Final = Of(
    tuple(
        each
        for each in ANY.kinds
        if each not in (PostgresType.BOOLEAN, PostgresType.BYTES, PostgresType.ARRAY)
    ),
    PostgresType.TEXT,
    sorted=True,
)
_CONDITION: Final = Of((PostgresType.BOOLEAN,), why=TRUTH.why)

# ``MOVING``: the aggregates that may stand over a window, too. ``AGGREGATES``: all.
MOVING: Final[Table] = {
    "count": row(BIGINT, "COUNT(*)") + row(BIGINT, "COUNT", ANY),
    # The sum of bigints is a numeric without bounds in PostgreSQL, a bigint in Spark.
    "sum": row(BIGINT, "SUM", of(PostgresType.INTEGER))
    + row(DOUBLE, "SUM", of(PostgresType.DOUBLE))
    + row(None, "SUM", of(PostgresType.NUMERIC, PostgresType.BIGINT, to=PostgresType.NUMERIC)),
    "avg": row(DOUBLE, "AVG", of(PostgresType.DOUBLE)) + row(NUMERIC, bodies.mean, of(*NUMBERS)),
    "min": row(None, "MIN", _SORTED),
    "max": row(None, "MAX", _SORTED),
}
AGGREGATES: Final[Table] = {
    **MOVING,
    "bool_and": row(BOOLEAN, "BOOL_AND", _CONDITION),
    "bool_or": row(BOOLEAN, "BOOL_OR", _CONDITION),
    **dict.fromkeys(("stddev", "stddev_samp"), row(DOUBLE, "STDDEV_SAMP", _DISPERSED)),
    "stddev_pop": row(DOUBLE, "STDDEV_POP", _DISPERSED),
    **dict.fromkeys(("variance", "var_samp"), row(DOUBLE, "VAR_SAMP", _DISPERSED)),
    "var_pop": row(DOUBLE, "VAR_POP", _DISPERSED),
    "array_agg": row(None, bodies.collected, ANY),
    "string_agg": row(TEXT, bodies.collected, TEXTS, TEXTS),
    "percentile_cont": row(DOUBLE, bodies.percentile, ALL),
    "percentile_disc": row(DOUBLE, bodies.percentile, ALL),
}
# ``SORTING``: their result depends on an order; ``WITHIN``: the order stands in WITHIN GROUP.
SORTING: Final = ("array_agg", "string_agg", "percentile_cont", "percentile_disc")
WITHIN: Final = SORTING[2:]

# ``FRAMED``: functions of the rows of a frame; ``OVER_WINDOWS``: also those without a frame.
FRAMED: Final[Table] = {
    "first_value": row(None, "FIRST_VALUE", ANY),
    "last_value": row(None, "LAST_VALUE", ANY),
    "nth_value": row(None, "NTH_VALUE", ANY, WrittenLiteral("the place", 1)),
}
_OFFSET: Final = WrittenLiteral("the offset", 0)
OVER_WINDOWS: Final[Table] = {
    **FRAMED,
    "row_number": row(BIGINT, "ROW_NUMBER", then="CAST(:a AS BIGINT)"),
    "rank": row(BIGINT, "RANK", then="CAST(:a AS BIGINT)"),
    "dense_rank": row(BIGINT, "DENSE_RANK", then="CAST(:a AS BIGINT)"),
    "percent_rank": row(DOUBLE, "PERCENT_RANK"),
    "cume_dist": row(DOUBLE, "CUME_DIST"),
    "ntile": row(INTEGER, "NTILE", WrittenLiteral("the number of buckets", 1)),
    "lag": row(None, bodies.neighbour, ANY, _OFFSET, ALL, optional=2),
    "lead": row(None, bodies.neighbour, ANY, _OFFSET, ALL, optional=2),
}
WAYS: Final = {
    "date_part": "write extract(field from time)",
    "every": "write bool_and",
    "to_char": "leave it a time or a number",
    "age": "subtract the times",
    "json_agg": "write array_agg",
    "random": "its answers are never the same",
}
