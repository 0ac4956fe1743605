"""Conditions on single columns of a table, which PostgreSQL and Parquet can use to read less."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool


class Comparison(Enum):
    """How a column compares with a value; the texts are SQL."""

    IN = "in"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column must fulfil; all but IN have one value. NULL never does."""

    column: str
    comparison: Comparison
    values: tuple[Value, ...]


def span(conditions: Iterable[Condition], column: str) -> tuple[int | None, int | None]:
    """The least and the greatest value that a column of whole numbers may have; None: any.

    If no value is possible the least is above the greatest, or the answer is wider than it need be.
    """
    lows: list[int] = []
    highs: list[int] = []
    for each in conditions:
        if each.column != column:
            continue
        values = [value for value in each.values if isinstance(value, int)]
        match each.comparison:
            case Comparison.IN if values:
                lows.append(min(values))
                highs.append(max(values))
            case Comparison.LESS:
                highs += [value - 1 for value in values]
            case Comparison.AT_MOST:
                highs += values
            case Comparison.MORE:
                lows += [value + 1 for value in values]
            case Comparison.AT_LEAST:
                lows += values
    return max(lows, default=None), min(highs, default=None)
