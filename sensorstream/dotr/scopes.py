"""``within D from F`` and ``between F and G``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from sensorstream.dotr.cursor import Cursor
from sensorstream.dotr.syntax import Between, Scope, Within
from sensorstream.errors import QueryError, TermError
from sensorstream.model.xsd import parse_duration

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
}
_LENGTH: Final = "a length of time such as 5 min or PT5M"


def read_scope(cursor: Cursor, known: Sequence[str]) -> Scope:
    """A scope; ``known`` are the labels that it may be counted from.

    Raises:
        QueryError: none stands here.
    """
    if not cursor.take_word("between"):
        return read_within(cursor, known)
    start = _label(cursor, known)
    cursor.expect("and")
    return Between(start, _label(cursor, known))


def read_within(cursor: Cursor, known: Sequence[str]) -> Within:
    """``within D from F``.

    Raises:
        QueryError: it does not stand here.
    """
    cursor.expect("within")
    length = _length(cursor)
    cursor.expect("from")
    return Within(length, _label(cursor, known))


def _label(cursor: Cursor, known: Sequence[str]) -> str:
    at = cursor.at
    label = cursor.name("a label")
    if label not in known:
        raise QueryError(
            f"unknown label '{label}': expected one that stands before: {', '.join(known)}",
            position=cursor.position(at),
        )
    return label


def _length(cursor: Cursor) -> timedelta:
    at = cursor.at
    if cursor.token is None:
        cursor.fail(_LENGTH)
    written = cursor.take().value.strip("\"'")
    try:
        if written.startswith("P"):
            length = parse_duration(written)
        else:
            digits = written.rstrip("mshd")
            unit = written[len(digits) :]
            if not unit and cursor.token is not None:
                unit = cursor.take().value.lower()
            microseconds = Decimal(digits) * (_UNITS[unit] // timedelta(microseconds=1))
            length = timedelta(microseconds=int(microseconds))
    except (TermError, InvalidOperation, KeyError, OverflowError):
        cursor.at = at
        cursor.fail(_LENGTH)
    if length < timedelta(0):
        raise QueryError(
            f"'{written}' is negative: expected {_LENGTH}", position=cursor.position(at)
        )
    return length
