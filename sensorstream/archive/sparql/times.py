"""The functions of times and durations in DuckDB, by the code of the network.

See :mod:`sensorstream.history.migrations` for what each gives.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any, Final

from sensorstream.model.numerals import doubles
from sensorstream.model.terms import Literal, Term
from sensorstream.sparql.functions import FUNCTIONS as BUILTINS
from sensorstream.sparql.values import (
    calculated_time,
    signed_time,
    time_cast,
    time_key,
    time_of,
    time_order,
)


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
FUNCTIONS: Final[tuple[tuple[str, Callable[..., Any], list[Any], str], ...]] = tuple(
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
