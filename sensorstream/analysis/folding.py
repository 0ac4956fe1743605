"""The possible values of an expression, for any values of its variables."""

from __future__ import annotations

from enum import Enum
from itertools import product
from typing import Final, TypeAlias

from sensorstream.analysis.value_kinds import Scope, operands
from sensorstream.errors import NotIncremental
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Variable
from sensorstream.sparql.functions import OF_EVENTS, UNREPEATABLE
from sensorstream.sparql.values import boolean, truth
from sensorstream.sparql.walk import nodes

Truth: TypeAlias = bool | None
"""None is an error (SPARQL 1.1, section 17.2)."""


class Value(Enum):
    """What is known of a value when it is not a single known term."""

    FAILS = "fails"
    """It is always an error."""
    VARIES = "varies"


_ANY: Final = frozenset((True, False, None))


def truths(expression: Expression, bound: Scope) -> frozenset[Truth]:
    """The effective boolean values that an expression may have.

    ``bound`` are the variables that may have a value; all others are unbound. The answer holds at
    least all possible values, and maybe impossible ones.
    """
    match expression:
        case algebra.And(left, right):
            pairs = product(truths(left, bound), truths(right, bound))
            return frozenset(_and(one, other) for one, other in pairs)
        case algebra.Or(left, right):
            pairs = product(truths(left, bound), truths(right, bound))
            return frozenset(_not(_and(_not(one), _not(other))) for one, other in pairs)
        case algebra.Not(operand):
            return frozenset(map(_not, truths(operand, bound)))
        case algebra.Call("BOUND", (Variable(name),)):
            return frozenset((True, False) if name in bound else (False,))
        case algebra.Comparison("=") | algebra.In() if bound.is_never_equal(expression):
            return frozenset((False, None))
    found = value(expression, bound)
    match found:
        case Value.VARIES:
            return _ANY
        case Value.FAILS:
            return frozenset((None,))
    return frozenset((truth(found),))


def value(expression: Expression, bound: Scope) -> Term | Value:
    """The only possible value of an expression, or what is known of it; see :func:`truths`."""
    if bound.has_no_value(expression):
        return Value.FAILS
    match expression:
        case IRI() | Literal():
            return expression
        case Variable(name):
            return Value.VARIES if name in bound else Value.FAILS
        case algebra.And() | algebra.Or() | algebra.Not() | algebra.Call("BOUND"):
            possible = truths(expression, bound)
            if len(possible) > 1:
                return Value.VARIES
            (only,) = possible
            return Value.FAILS if only is None else boolean(only)
        case algebra.Exists():
            return Value.VARIES
        case algebra.Call(name) if name in UNREPEATABLE or name in OF_EVENTS:
            return Value.VARIES
    parts = [value(each, bound) for each in operands(expression)]
    match expression:
        case algebra.In():
            fails = parts[0] is Value.FAILS
        case algebra.Call("IF" | "COALESCE"):
            fails = set(parts) == {Value.FAILS}
        case _:
            fails = Value.FAILS in parts
    if fails and not isinstance(expression, algebra.Sign):
        return Value.FAILS
    return Value.VARIES if Value.VARIES in parts else _calculated(expression)


def _calculated(expression: Expression) -> Term | Value:
    """The value of an expression in which no variable can have a value."""
    if any(
        isinstance(node, algebra.Call) and node.name in UNREPEATABLE for node in nodes(expression)
    ):
        return Value.VARIES
    try:
        found = value_of(expression, {})(())
    except NotIncremental:
        return Value.VARIES
    return Value.FAILS if found is None else found


def _and(one: Truth, other: Truth) -> Truth:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _not(one: Truth) -> Truth:
    return None if one is None else not one
