"""Expressions over rows with intervals (getSTARTTIME, getENDTIME, getDURATION); ranks by them.

``getDURATION() < constant`` compares lengths on the time line itself, and bounds what has to be
kept; a constant with months is counted on the calendar, from the start. Elsewhere the three
functions give literals: moments of the time line, and an ``xsd:duration``.

Source: "EP-SPARQL", section 4.1 (what they give), 4.2 (the interval that a filter sees).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeVar

from sensorstream.errors import UnsupportedQuery
from sensorstream.model import xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Literal, Term, valued
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.xsd import EXACT, Duration, TimelineMoment, duration_text, moved
from sensorstream.network.expressions.constant_order import OPERATORS
from sensorstream.network.expressions.expression_functions import test_of, value_of
from sensorstream.network.plan.nodes import SeqPlan
from sensorstream.network.rows import TimedRow, slots_of
from sensorstream.sparql.algebra import Arithmetic, Call, Comparison, Expression, Variable
from sensorstream.sparql.functions import OF_EVENTS
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.values import number
from sensorstream.sparql.variable_scope import names_in
from sensorstream.sparql.walk import nodes, replaced

_Found = TypeVar("_Found")
_MOST_DAYS_OF_A_MONTH: Final = 31


@frozen
class IntervalTime:
    """The time line of intervals: ``second`` is the length of a second on it."""

    line: Timeline
    second: int

    def literal(self, function: str, row: TimedRow) -> Term | None:
        """The value of one of the three functions for a row; None if the row holds always."""
        start, end = row[0], row[1]
        if start > end:
            return None
        if function == "GETDURATION":
            return self.duration(end - start)
        return self.line.literal(start if function == "GETSTARTTIME" else end)

    def duration(self, length: int) -> Literal:
        """A length of the time line as an ``xsd:duration`` in canonical form."""
        made = Duration(0, Decimal(length) / self.second)
        return valued(duration_text(made), xsd.DURATION, made)

    def after(self, start: Instant, length: Length) -> Instant:
        """The moment ``length`` after ``start``; months are those of the calendar."""
        if not length.months:
            return start + length.units
        whole, rest = divmod(start, self.second)
        end = moved(TimelineMoment(Decimal(whole), 0), Duration(length.months, Decimal(0)))
        return int(end.clock) * self.second + rest + length.units


@frozen
class Length:
    """A constant length of time: months, and units of the time line."""

    months: int
    units: int


def length_of(literal: Literal, clock: IntervalTime, part: object = None) -> Length | None:
    """The length of time that a constant means; None if it means none.

    Raises UnsupportedQuery, about ``part``, at months or years on a time line without a calendar.
    """
    found = literal.known
    if not isinstance(found, Duration):
        return None
    if found.months and clock.line is Timeline.INTEGER:
        raise UnsupportedQuery(
            f"'{literal.lexical}': the time line has whole numbers, no months or years: expected "
            "a length of days, hours, minutes or seconds",
            part=part,
        )
    # Rounded towards zero, on both sides.
    return Length(found.months, int(EXACT.multiply(found.seconds, clock.second)))


def asks_for_time(node: object) -> bool:
    """Whether one of the three functions stands in an expression or pattern."""
    return any(isinstance(each, Call) and each.name in OF_EVENTS for each in nodes(node))


def longest(condition: Expression, clock: IntervalTime) -> int | None:
    """The length beyond which no row passes a condition; None if it does not bound it."""
    found = _against_constant(condition, clock)
    if found is None:
        return None
    compared, length = found
    if compared not in ("<", "<=", "="):
        return None
    days = length.months * _MOST_DAYS_OF_A_MONTH
    return max(days * 86_400 * clock.second + length.units, 0)


def _against_constant(condition: Expression, clock: IntervalTime) -> tuple[str, Length] | None:
    match condition:
        case Comparison(compared, Call("GETDURATION"), Literal() as constant):
            length = length_of(constant, clock, condition)
            return None if length is None else (compared, length)
    return None


def timed_test(
    condition: Expression, names: Sequence[str], clock: IntervalTime | None
) -> Callable[[TimedRow], bool]:
    """Make a test of whether a condition is true of a row, with an error as false.

    Without a ``clock`` rows have no interval. Raises as :func:`.value_of`, and UnsupportedQuery if
    a length has no meaning.
    """
    if clock is None or not asks_for_time(condition):
        return test_of(condition, slots_of(names))
    found = _against_constant(condition, clock)
    if found is not None:
        return _length_test(*found, clock)
    return _with_times(test_of, condition, names, clock)


def timed_value(
    expression: Expression, names: Sequence[str], clock: IntervalTime | None
) -> Callable[[TimedRow], Term | None]:
    """Make a function for the value of an expression for a row; None is an error.

    Without a ``clock`` rows have no interval. Raises as :func:`.value_of`.
    """
    if clock is None or not asks_for_time(expression):
        return value_of(expression, slots_of(names))
    return _with_times(value_of, expression, names, clock)


def _with_times(
    made: Callable[[Expression, Mapping[str, int]], Callable[[TimedRow], _Found]],
    expression: Expression,
    names: Sequence[str],
    clock: IntervalTime,
) -> Callable[[TimedRow], _Found]:
    """The function that ``made`` gives for rows extended by the values of the three functions."""
    calls = (each.name for each in nodes(expression) if isinstance(each, Call))
    asked = tuple(dict.fromkeys(name for name in calls if name in OF_EVENTS))
    found = made(_with_variables(expression), slots_of((*names, *map(_place, asked))))
    return lambda row: found((*row, *[clock.literal(each, row) for each in asked]))


def check_lengths(condition: Expression, clock: IntervalTime) -> None:
    """Raise UnsupportedQuery if getDURATION() is compared with a constant that is no length."""
    for each in nodes(condition):
        match each:
            case Comparison(_, Call("GETDURATION"), (Literal() | IRI()) as constant) if (
                not isinstance(constant, Literal) or length_of(constant, clock, each) is None
            ):
                raise UnsupportedQuery(
                    f"{part_text(each)}: the length of an interval is compared with "
                    'durations only: expected e.g. getDURATION() < "PT10M"^^xsd:duration',
                    part=each,
                )


def _place(function: str) -> str:
    """The name of a variable for the value of a function; no variable of a query has it."""
    return f".{function}"


def _with_variables(expression: Expression) -> Expression:
    def change(node: Any) -> object | None:
        if isinstance(node, Call) and node.name in OF_EVENTS:
            return Variable(_place(node.name))
        return None

    return replaced(expression, change)


def _length_test(compared: str, length: Length, clock: IntervalTime) -> Callable[[TimedRow], bool]:
    units = length.units
    if length.months:
        return _compared(compared, lambda row: clock.after(row[0], length) - row[0])
    if compared == "<":
        return lambda row: 0 <= row[1] - row[0] < units
    if compared == "<=":
        return lambda row: 0 <= row[1] - row[0] <= units
    return _compared(compared, lambda row: units)


def _compared(compared: str, length: Callable[[TimedRow], int]) -> Callable[[TimedRow], bool]:
    holds = OPERATORS[compared]
    return lambda row: row[0] <= row[1] and holds(row[1] - row[0], length(row))


_ABOVE: Final = {"<": False, "<=": False, ">": True, ">=": True}
_SLACK: Final = 1e-14
"""More than the relative error of one multiplication of two rounded numbers."""
_LEAST: Final = 1e-200
"""More than the error of numbers so small that they are rounded to a multiple of the smallest."""
_MOST_FACTOR: Final = 1e100
"""The largest factor that is multiplied in floats; the smallest is one divided by it."""


@frozen
class Rank:
    """The numbers by which a test such as ``left < right`` orders the rows of both sides.

    Kept rows are in the order of the number, so those that pass are found without the others.
    Numbers are rounded to floats, and multiplied or divided by constants in floats: the rows found
    have yet to be tested, but no row that would pass is left out.

    ``above``: whether the value of the left must be the greater one. Both functions give None for a
    value that is no number.
    """

    above: bool
    of_left: Callable[[TimedRow], float | None]
    of_right: Callable[[TimedRow], float | None]

    def bound(self, right: TimedRow) -> float | None:
        """The number beyond which left rows may fit; None: only those without a number may."""
        value = self.of_right(right)
        if value is None or value - value != 0:
            return value
        slack = abs(value) * _SLACK + _LEAST
        return value - slack if self.above else value + slack


def rank_of(plan: SeqPlan) -> Rank | None:
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
    """A function for a variable times a factor."""

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
    """A number as a float, infinite if it is too large; None: NaN, or no number."""
    exact = number(term)
    if exact is None:
        return None
    try:
        rounded = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return rounded if rounded == rounded else None
