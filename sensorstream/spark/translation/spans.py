"""Intervals as literals: days and shorter, or months and years."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.types import SPAN, Typed

_PART: Final = re.compile(r"\s*([+-]?\d{1,9}(?:\.\d{1,6})?)\s*([a-zA-Z]+)\s*,?", re.ASCII)
_MICROSECONDS: Final = {
    **dict.fromkeys(("microsecond", "microseconds", "us"), 1),
    **dict.fromkeys(("millisecond", "milliseconds", "ms"), 1_000),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), 1_000_000),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), 60_000_000),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), 3_600_000_000),
}
_DAYS: Final = {
    **dict.fromkeys(("day", "days", "d"), 1),
    **dict.fromkeys(("week", "weeks", "w"), 7),
}


def interval(node: exp.Expr) -> Typed:
    """``interval '1 day'``."""
    unit = node.args.get("unit")
    if unit is not None and not isinstance(unit, exp.Var):
        raise refused(node, "this interval is not on the list")
    if not (isinstance(node.this, exp.Literal) and node.this.is_string):
        raise refused(node, "an interval is a literal here: interval '1 hour'")
    return span(f"{node.this.name} {unit.name if unit else ''}".strip(), node)


def span(text: str, node: exp.Expr) -> Typed:
    """An interval of days and shorter units.

    Time here is UTC, so a day has 24 hours. A month has no length, so it is refused.

    Raises:
        QueryError: it has other units, or is written in another way.
    """
    total = Decimal(0)
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise refused(node, "of intervals, a number and a unit are on the list: '90 minutes'")
        amount, unit = Decimal(part.group(1)), part.group(2).lower()
        if unit in _MICROSECONDS:
            total += amount * _MICROSECONDS[unit]
        elif unit in _DAYS and amount == amount.to_integral_value():
            total += amount * _DAYS[unit] * 86_400_000_000
        else:
            raise refused(node, f"'{unit}' is not on the list; write weeks, days, hours or less")
        place = part.end()
    if not text.strip() or total != total.to_integral_value():
        raise refused(node, "of intervals, a number and a unit are on the list: '90 minutes'")
    sign = "-" if total < 0 else ""
    seconds, micros = divmod(abs(int(total)), 1_000_000)
    told = exp.Literal.string(f"{sign}{seconds}.{micros:06}")
    return Typed(exp.Interval(this=told, unit=exp.Var(this="SECOND")), SPAN)
