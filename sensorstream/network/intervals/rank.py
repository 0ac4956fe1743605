"""The order of kept rows by a number, so that a test finds those that pass without the others.

Numbers are rounded to floats, and what a query multiplies or divides by a constant is so in floats:
who fits by rank has yet to be tested, and none that would pass is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sensorstream.model.terms import Literal, Term
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import asks_for_time
from sensorstream.network.intervals.plan import TimedRow
from sensorstream.network.rows import slots_of
from sensorstream.sparql.algebra import Arithmetic, Comparison, Expression, Variable
from sensorstream.sparql.scope import names_in
from sensorstream.sparql.values import number

_ABOVE: Final = {"<": False, "<=": False, ">": True, ">=": True}
_SLACK: Final = 1e-14
"""More than the error of one multiplication of two rounded numbers, as a part of the product."""
_LEAST: Final = 1e-200
"""More than the error of numbers so small that they are rounded to a multiple of the smallest."""
_MOST_FACTOR: Final = 1e100
"""Factors up to it, and down to one divided by it, are multiplied in floats."""


@dataclass(frozen=True, slots=True)
class Rank:
    """What a test ``left < right``, or another order, asks of a row of either side.

    ``above``: whether the value of the left must be the greater one. Both functions give None for
    what is no number.
    """

    above: bool
    of_left: Callable[[TimedRow], float | None]
    of_right: Callable[[TimedRow], float | None]

    def bound(self, right: TimedRow) -> float | None:
        """The left rows beyond it may fit a right row; None: those without a value."""
        value = self.of_right(right)
        if value is None or value - value != 0:
            return value
        slack = abs(value) * _SLACK + _LEAST
        return value - slack if self.above else value + slack


def rank_of(plan: timed.Seq) -> Rank | None:
    """The order that a test of SEQ asks for, if it compares a value of either side."""
    for test in plan.tests:
        if not isinstance(test, Comparison) or test.operator not in _ABOVE or asks_for_time(test):
            continue
        for one, other, turned in (
            (test.left, test.right, False),
            (test.right, test.left, True),
        ):
            if names_in(one) <= plan.left.certain and names_in(other) <= plan.right.certain:
                return Rank(
                    _ABOVE[test.operator] is not turned,
                    _number(one, plan.left.variables),
                    _number(other, plan.right.variables),
                )
    return None


def _number(expression: Expression, names: tuple[str, ...]) -> Callable[[TimedRow], float | None]:
    places = slots_of(names)
    match expression:
        case Variable(name):
            return _scaled(places[name], 1.0)
        case Arithmetic("*", Variable(name), Literal() as constant) | Arithmetic(
            "*", Literal() as constant, Variable(name)
        ):
            factor = _rounded(constant)
        case Arithmetic("/", Variable(name), Literal() as constant):
            divisor = _rounded(constant)
            factor = 1 / divisor if divisor else None
        case _:
            factor = None
    if factor is not None and 1 / _MOST_FACTOR < abs(factor) < _MOST_FACTOR:
        return _scaled(places[name], factor)
    exact = value_of(expression, places)
    return lambda row: _rounded(exact(row))


def _scaled(place: int, factor: float) -> Callable[[TimedRow], float | None]:
    """A variable times a factor."""

    def found(row: TimedRow) -> float | None:
        value = number(row[place])
        if value is None:
            return None
        try:
            product = float(value) * factor
        except OverflowError:
            return math.inf * factor if value > 0 else -math.inf * factor
        return product if product == product else None

    return found


def _rounded(term: Term | None) -> float | None:
    """A number as a float; None: it is none, or not a number. One that is too large is infinite."""
    exact = number(term)
    if exact is None:
        return None
    try:
        rounded = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return rounded if rounded == rounded else None
