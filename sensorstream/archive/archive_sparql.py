"""Functions that a query's tree of SPARQL needs in DuckDB, over the archive.

:mod:`sensorstream.history.migrations` says what each gives; those of times are the network's. A
number is the list of doubles that :func:`.doubles` describes, because DuckDB's decimals have 38
digits only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
    InvalidOperation,
)
from functools import wraps
from typing import Any, Final, TypeAlias

import duckdb
from duckdb.func import FunctionNullHandling
from sqlglot import exp

from sensorstream.model import xsd
from sensorstream.model.numerals import EXACT, doubles
from sensorstream.model.terms import Literal, Term
from sensorstream.model.xsd import NUMERIC_TYPES
from sensorstream.sparql.functions import FUNCTIONS as BUILTINS
from sensorstream.sparql.values import (
    calculated_time,
    signed_time,
    time_cast,
    time_key,
    time_of,
    time_order,
)
from sensorstream.sparql.values import number as literal_value
from sensorstream.sql.dialect_writer import rewritten_expression
from sensorstream.sql.dialects import DUCKDB, ExpressionKind
from sensorstream.sql.sparql.lexical_forms import moment_of

_Row: TypeAlias = tuple[str, Callable[..., Any], list[Any], str]
"""A function: its name, what computes it, the types of its arguments, the type of its result."""
_TEXT: Final = "VARCHAR"
_NUMBER: Final = "DOUBLE[]"
_QUOTIENT_DIGITS: Final = 36

# -- numbers ----------------------------------------------------------------------------------


def number(found: list[float]) -> Decimal:
    """The number of a list."""
    total = Decimal(repr(found[0]))
    for each in found[1:]:
        total = EXACT.add(total, Decimal(repr(each)))
    return total


def number_of_text(text: str | None) -> list[float] | None:
    """The number of a lexical form; null if it is none."""
    try:
        return None if text is None else doubles(Decimal(text))
    except InvalidOperation:
        return None


def plain_text(found: list[float]) -> str:
    """The text of a number without an exponent and without zeros at the end: ``7``, ``7.5``."""
    value = number(found)
    if not value.is_finite():
        return {"NaN": "NaN", "Infinity": "Infinity"}.get(str(value), "-Infinity")
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("", "-0") else text


def scientific_text(found: list[float]) -> str:
    """The text of a number with 16 digits after the point and an exponent."""
    return f"{number(found):.16e}"


def _calculated(
    calculate: Callable[[Decimal, Decimal], Decimal],
) -> Callable[[list[float], list[float]], list[float]]:
    """A function of two decimals as one of lists."""
    return lambda one, other: doubles(calculate(number(one), number(other)))


add: Final = _calculated(EXACT.add)
subtract: Final = _calculated(EXACT.subtract)
multiply: Final = _calculated(EXACT.multiply)


def _divided(dividend: Decimal, divisor: Decimal) -> Decimal:
    """The quotient: at least 36 digits after the point, and at least 36 in all."""
    digits = max(0, dividend.adjusted() - divisor.adjusted()) + 2 * _QUOTIENT_DIGITS
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
    return context.divide(dividend, divisor)


def _rounded(found: list[float], digits: int, rounding: str = ROUND_HALF_UP) -> list[float]:
    value = number(found)
    if not value.is_finite():
        return found
    return doubles(value.quantize(Decimal(1).scaleb(-digits), rounding, EXACT))


def _to_whole(rounding: str) -> Callable[[list[float]], list[float]]:
    return lambda found: _rounded(found, 0, rounding)


def total(millionths: int | None, others: list[list[float]] | None) -> list[float] | None:
    """The sum of many; null of none."""
    if millionths is None and others is None:
        return None
    found = EXACT.scaleb(Decimal(millionths or 0), -6)
    for each in others or ():
        found = EXACT.add(found, number(each))
    return doubles(found)


def literal_number(text: str | None, datatype: str | None) -> list[float] | None:
    """The number of a literal; null if it is not valid, or the datatype not numeric."""
    if text is None or datatype is None:
        return None
    found = literal_value(Literal(text, datatype))
    if isinstance(found, float):
        return doubles(Decimal(repr(found)))
    return None if found is None else doubles(Decimal(found))


_OF_NUMBERS: Final[tuple[_Row, ...]] = (
    ("number_plain", plain_text, [_NUMBER], _TEXT),
    ("number_scientific", scientific_text, [_NUMBER], _TEXT),
    ("number_add", add, [_NUMBER] * 2, _NUMBER),
    ("number_subtract", subtract, [_NUMBER] * 2, _NUMBER),
    ("number_multiply", multiply, [_NUMBER] * 2, _NUMBER),
    ("number_divide", _calculated(_divided), [_NUMBER] * 2, _NUMBER),
    ("number_round", lambda found, digits: _rounded(found, digits), [_NUMBER, "INTEGER"], _NUMBER),
    ("number_floor", _to_whole(ROUND_FLOOR), [_NUMBER], _NUMBER),
    ("number_ceiling", _to_whole(ROUND_CEILING), [_NUMBER], _NUMBER),
    ("number_truncate", _to_whole(ROUND_DOWN), [_NUMBER], _NUMBER),
)
"""Null of null."""
_NULLABLE: Final[tuple[_Row, ...]] = (
    ("number_of_long_text", number_of_text, [_TEXT], _NUMBER),
    ("number_of_literal", literal_number, [_TEXT] * 2, _NUMBER),
    ("number_total", total, ["HUGEINT", "DOUBLE[][]"], _NUMBER),
)
"""The functions that see nulls themselves."""
_NUMBER_MACROS: Final = """
-- A function of one element: DuckDB puts an argument of a macro into each of its places.
create macro number_of_double(d) as list_transform([d], lambda x: case when x is null then null
    when x = 0 then [0::double] when isfinite(x) then [x, 0::double] else [x] end)[1];
-- A decimal of at most 15 digits is the shortest one that reads back as its double.
create macro number_of_text(t) as list_transform([t], lambda x: case when length(x) <= 15
    then number_of_double(try_cast(x as double)) else number_of_long_text(x) end)[1];
-- Such a number in millionths; null for one that has more digits.
create macro millionths(n) as list_transform([n], lambda x: case when len(x) <= 2
    and abs(x[1]) < 5e8 and round(x[1] * 1e6) / 1e6 = x[1]
    then round(x[1] * 1e6)::bigint end)[1];
create macro number_negate(n) as list_transform(n, lambda x: 0 - x);
create macro number_abs(n) as
    list_transform([n], lambda x: case when x[1] < 0 then number_negate(x) else x end)[1];
create macro number_sign(n) as number_of_double(sign(n[1])::double);
"""

# -- times and texts --------------------------------------------------------------------------


def _is_time(text: str, datatype: str) -> bool:
    return time_of(Literal(text, datatype)) is not None


def _order(a: str, a_type: str, b: str, b_type: str) -> int | None:
    return time_order(Literal(a, a_type), Literal(b, b_type))


def _key(text: str, datatype: str) -> list[float] | None:
    found = time_key(Literal(text, datatype))
    return None if found is None else doubles(found[1])


def _tie(text: str, datatype: str) -> list[float] | None:
    found = time_key(Literal(text, datatype))
    return None if found is None else doubles(Decimal(found[2]))


def _sum(a: str, a_type: str, b: str, b_type: str, way: int) -> str | None:
    operator = "+" if way > 0 else "-"
    found = calculated_time(operator, Literal(a, a_type), Literal(b, b_type))
    return None if found is None else f"{found.datatype} {found.lexical}"


def _negative(text: str, datatype: str) -> str | None:
    return _lexical(signed_time("-", Literal(text, datatype)))


def _cast(text: str, datatype: str, target: str) -> str | None:
    return _lexical(time_cast(Literal(text, datatype), target))


def _part(text: str, datatype: str, part: str) -> str | None:
    return _lexical(BUILTINS[part].value(Literal(text, datatype)))  # type: ignore[misc]


def _lexical(term: Term | None) -> str | None:
    return term.lexical if type(term) is Literal else None


def _of_nothing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function give null for null."""

    @wraps(function)
    def or_null(*given: Any) -> Any:
        return None if None in given else function(*given)

    return or_null


_TIMES: Final[tuple[_Row, ...]] = tuple(
    (name, _of_nothing(function), arguments, result)
    for name, function, arguments, result in (
        ("is_time", _is_time, [_TEXT] * 2, "BOOLEAN"),
        ("time_order", _order, [_TEXT] * 4, "INTEGER"),
        ("time_key", _key, [_TEXT] * 2, "DOUBLE[]"),
        ("time_tie", _tie, [_TEXT] * 2, "DOUBLE[]"),
        ("time_sum", _sum, [*[_TEXT] * 4, "INTEGER"], _TEXT),
        ("time_negative", _negative, [_TEXT] * 2, _TEXT),
        ("time_cast", _cast, [_TEXT] * 3, _TEXT),
        ("time_part", _part, [_TEXT] * 3, _TEXT),
    )
)


def _hashing(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode()).hexdigest()


_TEXTS: Final[tuple[_Row, ...]] = tuple(
    (name, function, [_TEXT], _TEXT)
    for name, function in (
        ("unicode_upper", str.upper),
        ("unicode_lower", str.lower),
        ("sha384_text", _hashing("sha384")),
        ("sha512_text", _hashing("sha512")),
    )
)
_NUMERIC: Final = ", ".join(f"'{each}'" for each in sorted(NUMERIC_TYPES))
_MACROS: Final = rf"""
-- What is short is read here, all else by the reader of literals.
create macro literal_number(t, d) as case when d not in ({_NUMERIC}) then null
    when d = '{xsd.INTEGER}' and regexp_matches(t, '^-?[0-9]{{1,15}}$')
    or d = '{xsd.DECIMAL}' and regexp_matches(t, '^-?[0-9]{{1,9}}([.][0-9]{{1,6}})?$')
    or d = '{xsd.DOUBLE}' and regexp_matches(t, '^-?[0-9]{{1,9}}([.][0-9]{{1,6}})?([eE][0-9])?$')
    then number_of_double(try_cast(t as double)) else number_of_literal(t, d) end;
-- The part of a text that a pattern, or its first group, matches; null without a match.
create macro matched(t, pattern, part) as list_transform([t], lambda x:
    case when regexp_matches(x, pattern) then regexp_extract(x, pattern, part) end)[1];
-- PostgreSQL knows no year 0.
create macro is_moment(t) as list_transform([t], lambda x:
    not starts_with(x, '0000') and try_cast(x as timestamptz) is not null)[1];
create macro is_date(t) as list_transform([t], lambda x:
    not starts_with(x, '0000') and try_cast(x as date) is not null)[1];
create macro literal_parts(id) as
    regexp_extract(id, '(?s)^"(.*)"(?:@([^"]*)|\^\^([^"]*))$', ['text', 'language', 'datatype']);
create macro term_kind(id) as case when id is null then null when starts_with(id, '"') then 2
    when starts_with(id, '_:') then 1 else 0 end;
create macro term_text(id, parts) as case when starts_with(id, '"') then parts['text']
    when starts_with(id, '_:') then substr(id, 3) else id end;
create macro term_language(parts) as nullif(parts['language'], '');
create macro term_datatype(parts) as case when parts['language'] <> ''
    then 'http://www.w3.org/1999/02/22-rdf-syntax-ns#langString'
    else nullif(parts['datatype'], '') end;
"""


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the functions in a connection."""
    for row in (*_OF_NUMBERS, *_TEXTS):
        _create(connection, *row, FunctionNullHandling.DEFAULT)
    for row in (*_NULLABLE, *_TIMES):
        _create(connection, *row, FunctionNullHandling.SPECIAL)
    connection.execute(_NUMBER_MACROS)
    connection.execute(_MACROS)
    connection.execute(_literal_moment())


def _create(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., Any],
    arguments: list[Any],
    result: str,
    nulls: FunctionNullHandling,
) -> None:
    made = f"{name}_of_python" if result == _NUMBER else name
    connection.create_function(made, function, arguments, result, null_handling=nulls)
    if made != name:
        # DuckDB takes a NaN in a list that comes from Python to be null.
        given = ", ".join(f"a{place}" for place in range(len(arguments)))
        connection.execute(
            f"create macro {name}({given}) as "
            f"list_transform({made}({given}), lambda x: coalesce(x, 'NaN'::double))"
        )


def _literal_moment() -> str:
    read = moment_of(exp.column("t"), exp.column("d"))
    moment = rewritten_expression(
        read, DUCKDB, {"t": ExpressionKind.TEXT, "d": ExpressionKind.TEXT}
    )
    return f"create macro literal_moment(t, d) as {moment.sql(DUCKDB)}"
