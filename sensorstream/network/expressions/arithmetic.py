"""Numbers within an expression (sections 17.3 and 17.4.4), without a term for each of them.

A term is made of the last result only: writing a decimal down takes longer than adding it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, DivisionByZero, InvalidOperation
from types import MappingProxyType
from typing import Final, TypeAlias

from sensorstream.model.numerals import nearest_single, quotient, single
from sensorstream.model.terms import Literal, Term
from sensorstream.model.xsd import EXACT
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Arithmetic, Call, Expression, Sign
from sensorstream.sparql.functions import ROUNDINGS
from sensorstream.sparql.values import (
    FLOAT,
    RANKS,
    Number,
    as_comparable,
    calculated_time,
    compare,
    has_digits,
    numeral,
    promoted,
    signed_time,
)

Amount: TypeAlias = tuple[Number, int]
"""A number and the rank of its type in the order of promotion."""
Operand: TypeAlias = Amount | Term | None
"""An amount, a term that is no number, or an error."""
Operands: TypeAlias = Callable[[Row], Operand]
_Terms: TypeAlias = Callable[[Row], Term | None]


_DECIMALS: Final[Mapping[str, Callable[[Decimal, Decimal], Decimal]]] = MappingProxyType(
    {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": quotient}
)


def is_arithmetic(expression: Expression) -> bool:
    """Whether an expression computes a number out of others, or a time."""
    match expression:
        case Call(name, (_,)):
            return name in ROUNDINGS
    return isinstance(expression, Arithmetic | Sign)


def operand_of(
    expression: Expression,
    places: Mapping[str, int],
    value_of: Callable[[Expression, Mapping[str, int]], _Terms],
) -> Operands:
    """The value of an expression as a function of a row, of a number its amount.

    ``value_of`` tells how to find the value of an expression that is no arithmetic.
    """
    match expression:
        case Arithmetic(operator, left, right):
            sides = (operand_of(each, places, value_of) for each in (left, right))
            return _calculation(operator, *sides)
        case Sign(operator, operand):
            return _sign(operator, operand_of(operand, places, value_of))
        case Call(name, (argument,)) if name in ROUNDINGS:
            return _rounded(ROUNDINGS[name], operand_of(argument, places, value_of))
        case Literal():
            known = _operand(expression)
            return lambda row: known
    value = value_of(expression, places)
    return lambda row: _operand(value(row))


def term_of(operand: Operand) -> Term | None:
    """The term that an operand is; None: it is an error, or has too many digits."""
    return numeral(*operand) if type(operand) is tuple else operand  # type: ignore[return-value]


def order_of(left: Operand, right: Operand) -> int | None:
    """As :func:`.compare` of the terms."""
    if type(left) is tuple and type(right) is tuple:
        one, other = left[0], right[0]
        if left[1] != right[1]:
            one, other = as_comparable(one, other, max(left[1], right[1]))
        if one != one or other != other:
            return 2
        return (one > other) - (one < other)
    return compare(term_of(left), term_of(right))


def _operand(term: Term | None) -> Operand:
    if type(term) is Literal:
        rank = RANKS.get(term.datatype)
        if rank is not None and (value := term.known) is not None:
            return value, rank  # type: ignore[return-value]
    return term


def _amount(number: Number, rank: int) -> Amount | None:
    """None: it has more digits than any number may."""
    if rank == FLOAT:
        return single(float(number)), rank
    return (number, rank) if rank > FLOAT or has_digits(number) else None


def _calculation(operator: str, left: Operands, right: Operands) -> Operands:
    divides = operator == "/"

    def value(row: Row) -> Operand:
        one, other = left(row), right(row)
        if type(one) is not tuple or type(other) is not tuple:
            if type(one) is tuple or type(other) is tuple:
                return None
            return calculated_time(operator, one, other)  # type: ignore[arg-type]
        a, rank = one
        b, other_rank = other
        try:
            if rank != other_rank or (divides and not rank):
                rank = max(rank, other_rank, 1 if divides else 0)
                a, b = promoted(a, rank), promoted(b, rank)
            if rank == FLOAT:
                a, b = nearest_single(a), nearest_single(b)  # type: ignore[arg-type]
            found = calculated(operator, a, b)
        except (DivisionByZero, InvalidOperation, OverflowError):
            return None
        return _amount(found, rank)

    return value


def calculated(operator: str, a: Number, b: Number) -> Number:
    """The result of an operator on two numbers of one type."""
    if isinstance(a, Decimal):
        return _DECIMALS[operator](a, Decimal(b))
    if operator == "+":
        return a + b  # type: ignore[operator]
    if operator == "-":
        return a - b  # type: ignore[operator]
    if operator == "*":
        return a * b  # type: ignore[operator]
    if b == 0:
        # Of the dividend alone: zero has no sign here.
        return a * math.inf
    return a / b  # type: ignore[operator]


def _sign(operator: str, operand: Operands) -> Operands:
    def signed(row: Row) -> Operand:
        found = operand(row)
        if type(found) is tuple:
            value, rank = found
            if operator == "-":
                value = EXACT.minus(value) if isinstance(value, Decimal) else -value
            return _amount(value, rank)
        return signed_time(operator, found)  # type: ignore[arg-type]

    return signed


def _rounded(change: Callable[[Number], Number], operand: Operands) -> Operands:
    def value(row: Row) -> Operand:
        found = operand(row)
        return _amount(change(found[0]), found[1]) if type(found) is tuple else None

    return value
