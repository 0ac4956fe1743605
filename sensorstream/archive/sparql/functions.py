"""The functions that a rewritten query needs in DuckDB; those of times are the network's.

See :mod:`sensorstream.history.migrations` for what each of these gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any, Final

import duckdb
from duckdb.func import FunctionNullHandling
from sqlglot import exp

from sensorstream.archive.sparql import numbers
from sensorstream.model.numerals import doubles
from sensorstream.model.terms import Literal, Term
from sensorstream.model.xsd import NUMERIC_TYPES, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from sensorstream.sparql.functions import FUNCTIONS as BUILTINS
from sensorstream.sparql.values import (
    calculated_time,
    signed_time,
    time_cast,
    time_key,
    time_of,
    time_order,
)
from sensorstream.sql.dialects import DUCKDB, Kind
from sensorstream.sql.sparql.lexical import moment_of
from sensorstream.sql.writing import rewritten_expression


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
    """The function; null of null."""

    @wraps(function)
    def or_null(*given: Any) -> Any:
        return None if None in given else function(*given)

    return or_null


_TEXT: Final = "VARCHAR"
_TIMES: Final[tuple[tuple[str, Callable[..., Any], list[Any], str], ...]] = tuple(
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
"""Name, function, types of arguments, type of the result."""


def _sha384(text: str) -> str:
    return hashlib.sha384(text.encode()).hexdigest()


def _sha512(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest()


_TEXTS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("unicode_upper", str.upper),
    ("unicode_lower", str.lower),
    ("sha384_text", _sha384),
    ("sha512_text", _sha512),
)
_NUMERIC: Final = ", ".join(f"'{each}'" for each in sorted(NUMERIC_TYPES))
_MACROS: Final = rf"""
-- What is short is read here, all else by the reader of literals.
create macro literal_number(t, d) as case when d not in ({_NUMERIC}) then null
    when d = '{XSD_INTEGER}' and regexp_matches(t, '^-?[0-9]{{1,15}}$')
    or d = '{XSD_DECIMAL}' and regexp_matches(t, '^-?[0-9]{{1,9}}([.][0-9]{{1,6}})?$')
    or d = '{XSD_DOUBLE}' and regexp_matches(t, '^-?[0-9]{{1,9}}([.][0-9]{{1,6}})?([eE][0-9])?$')
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
    for name, function, arguments, result in numbers.FUNCTIONS:
        _create(connection, name, function, arguments, result, FunctionNullHandling.DEFAULT)
    for name, text in _TEXTS:
        connection.create_function(name, text, ["VARCHAR"], "VARCHAR")
    for name, function, arguments, result in (*numbers.NULLABLE, *_TIMES):
        _create(connection, name, function, arguments, result, FunctionNullHandling.SPECIAL)
    connection.execute(numbers.MACROS)
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
    if result != numbers.NUMBER:
        connection.create_function(name, function, arguments, result, null_handling=nulls)
        return
    # DuckDB takes a NaN in a list that comes from Python to be null.
    made = f"{name}_of_python"
    connection.create_function(made, function, arguments, result, null_handling=nulls)
    given = ", ".join(f"a{place}" for place in range(len(arguments)))
    connection.execute(
        f"create macro {name}({given}) as "
        f"list_transform({made}({given}), lambda x: coalesce(x, 'NaN'::double))"
    )


def _literal_moment() -> str:
    read = moment_of(exp.column("t"), exp.column("d"))
    moment = rewritten_expression(read, DUCKDB, {"t": Kind.TEXT, "d": Kind.TEXT})
    return f"create macro literal_moment(t, d) as {moment.sql(DUCKDB)}"
