"""Tests of events; of a thousand rules each event is tested by each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from sensorstream.errors import TermError
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.xsd import XSD_INTEGER
from sensorstream.network.expressions.expression_functions import test_of
from sensorstream.network.expressions.order import OPERATORS
from sensorstream.network.rows import Row, slots_of
from sensorstream.sparql.algebra import Comparison, Expression, Variable

Test: TypeAlias = Callable[[Row], bool]


def test_of_all(conditions: Sequence[Expression], names: Sequence[str]) -> Test | None:
    """Whether all conditions are true of a row with these names; None: there is none."""
    tests = [_test(each, names) for each in conditions]
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda row: all(test(row) for test in tests)


def _test(condition: Expression, names: Sequence[str]) -> Test:
    exact = test_of(condition, slots_of(names))
    if not isinstance(condition, Comparison) or not isinstance(condition.left, Variable):
        return exact
    place = names.index(condition.left.name)
    compare = OPERATORS[condition.operator]
    right = condition.right
    if isinstance(right, Variable):
        other = names.index(right.name)
        if condition.operator != "=":
            return exact
        # Equal terms are equal values, but for a literal that is not valid.
        return partial(_equal, exact, place, other)
    if not isinstance(right, Literal) or right.datatype != XSD_INTEGER:
        return exact
    try:
        constant = right.value
    except TermError:
        return exact
    assert isinstance(constant, int)

    def integer(row: Row) -> bool:
        term = row[place]
        if type(term) is Literal and term.datatype == XSD_INTEGER:
            try:
                return compare(term.value, constant)
            except TermError:
                return False
        return exact(row)

    return integer


def _equal(exact: Test, one: int, other: int, row: Row) -> bool:
    """Equal IRIs are equal; of literals that is asked of their values."""
    term = row[one]
    if type(term) is IRI and term == row[other]:
        return True
    return exact(row)
