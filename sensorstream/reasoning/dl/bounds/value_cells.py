"""All values, in cells that data ranges do not divide: each has one value to decide by."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

from sensorstream.model.xsd import (
    DURATIONS,
    RDF_LANG_STRING,
    XSD_ANY_URI,
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DOUBLE,
    XSD_DURATION,
    XSD_FLOAT,
    XSD_STRING,
)
from sensorstream.reasoning.dl.bounds.data_ranges import (
    DataRange,
    datatypes_in,
    text_facets,
)
from sensorstream.reasoning.dl.bounds.literal_values import NOT_A_NUMBER, REAL, Value, place

_MANY: Final = 2**20
"""More values than a window names or needs at once."""
_TEXTS: Final = ("\tzq-", " zq-", "zq zq-", "1zq-", ":zq-", "z_q-", "zq-")
"""Beginnings of texts, each of other datatypes derived from ``xsd:string``."""
_VARIED: Final = 5
"""Letters by which texts differ, so that they are many."""
_FREE: Final = 16
_LONGEST: Final = 100_000
_TIMES: Final = ((0, None), (0, 0))
_DURATIONS: Final = ((1, 0), (0, 1), (1, 1))
_NAMED: Final = frozenset(
    {REAL, XSD_DOUBLE, XSD_FLOAT, XSD_STRING, XSD_BOOLEAN, XSD_DATE_TIME, XSD_DURATION}
)
_OTHER: Final = "urn:other-datatype"


@dataclass(frozen=True, slots=True)
class Cell:
    """Values that are in the same ranges: one of them, and whether there are ``many``."""

    example: Value
    many: bool


def cells(ranges: Iterable[DataRange]) -> list[Cell]:
    """Cells that none of the ranges divides; together they are all values."""
    ranges = tuple(ranges)
    marks = {mark for each in ranges for mark in each.marks()}
    found = [*_numbers(marks), *_stored(marks, XSD_DOUBLE), *_stored(marks, XSD_FLOAT)]
    found += [Cell(Value(XSD_BOOLEAN, each), many=False) for each in (True, False)]
    found += [Cell(mark, many=False) for mark in sorted(marks, key=repr) if _is_point(mark)]
    found += _texts(ranges, marks)
    for moment in _TIMES:
        found.append(Cell(Value(XSD_DATE_TIME, _unlike(XSD_DATE_TIME, moment, marks)), many=True))
    found.append(Cell(Value(XSD_DURATION, (0, 0)), many=False))
    for length in _DURATIONS:
        found.append(Cell(Value(XSD_DURATION, _scaled(length, marks)), many=True))
    spaces = {name for each in ranges for name in datatypes_in(each)}
    spaces |= {mark.space for mark in marks} | {_OTHER, RDF_LANG_STRING, XSD_ANY_URI}
    for space in sorted(spaces - _NAMED - DURATIONS):
        found.append(Cell(_other(space, "zq-", marks), many=True))
    return found


def _texts(ranges: Sequence[DataRange], marks: set[Value]) -> Iterator[Cell]:
    """Cells of texts; where patterns divide them, only some are found, and not how many there are.

    A cell that is missing makes the upper bound say more: it takes a value to be in one that it
    knows, or that there is none, which the reasoner then decides.
    """
    limits = [facet.limit for each in ranges for facet in text_facets(each)]
    if not limits:
        for beginning in _TEXTS:
            yield Cell(_other(XSD_STRING, beginning, marks), many=True)
        return
    measured = [each for each in limits if isinstance(each, int)]
    tried = {max(0, each + more) for each in measured for more in (-1, 0, 1)}
    tried |= {0, _FREE, max(measured, default=0) + _FREE}
    found: dict[tuple[bool, ...], Cell] = {}
    for length in sorted({min(each, _LONGEST) for each in tried}):
        for beginning in _TEXTS:
            text = beginning[:length] + "x" * (length - len(beginning))
            value = Value(XSD_STRING, text)
            if value not in marks:
                sort = tuple(each.holds(value) for each in ranges)
                many = len(measured) == len(limits) and length - len(beginning) >= _VARIED
                if sort not in found or (many and not found[sort].many):
                    found[sort] = Cell(value, many)
    yield from found.values()


def _is_point(mark: Value) -> bool:
    if mark.space == XSD_DURATION:
        return mark.content != (0, 0)
    return mark.space not in (REAL, XSD_DOUBLE, XSD_FLOAT, XSD_BOOLEAN)


def _numbers(marks: set[Value]) -> Iterator[Cell]:
    known = {mark.content for mark in marks if mark.space == REAL}
    points = sorted(each for each in known | {Fraction(0)} if isinstance(each, Fraction))
    for point in points:
        yield Cell(Value(REAL, point), many=False)
    ends: list[Fraction | None] = [None, *points, None]
    for low, high in itertools.pairwise(ends):
        first = floor(low) + 1 if low is not None else None
        last = ceil(high) - 1 if high is not None else None
        if first is None or last is None:
            whole = first if first is not None else last
            yield Cell(Value(REAL, Fraction(whole or 0)), many=True)
        elif first <= last:
            yield Cell(Value(REAL, Fraction(first)), many=last - first >= _MANY)
        yield Cell(Value(REAL, _broken(low, high)), many=True)


def _broken(low: Fraction | None, high: Fraction | None) -> Fraction:
    """A number between two, and not a whole one."""
    if low is None or high is None:
        end = floor(low) + 1 if low is not None else ceil(high or Fraction(0)) - 2
        return Fraction(end) + Fraction(1, 2)
    while (middle := (low + high) / 2).denominator == 1:
        high = middle
    return middle


def _stored(marks: set[Value], kind: str) -> Iterator[Cell]:
    known = {mark.content for mark in marks if mark.space == kind}
    known |= {place(float(each), kind) for each in ("-INF", "-0.0", "0.0", "INF")}
    points = sorted(each for each in known if isinstance(each, int))
    yield Cell(Value(kind, NOT_A_NUMBER), many=False)
    for point in points:
        yield Cell(Value(kind, point), many=False)
    for low, high in itertools.pairwise(points):
        if high - low > 1:
            yield Cell(Value(kind, low + 1), many=high - low > _MANY)


def _other(space: str, beginning: str, marks: set[Value]) -> Value:
    """A text that none of the marks is."""
    number = 0
    while Value(space, f"{beginning}{number}") in marks:
        number += 1
    return Value(space, f"{beginning}{number}")


def _unlike(
    space: str, moment: tuple[int, int | None], marks: set[Value]
) -> tuple[int, int | None]:
    clock, zone = moment
    while Value(space, (clock, zone)) in marks:
        clock += 1
    return clock, zone


def _scaled(length: tuple[int, int], marks: set[Value]) -> tuple[int, int]:
    factor = 1
    while Value(XSD_DURATION, (length[0] * factor, length[1] * factor)) in marks:
        factor += 1
    return length[0] * factor, length[1] * factor
