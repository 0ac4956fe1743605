"""The possible values of an expression, for any values of its variables, and its operations that
have none, with the text to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import product
from typing import Final, TypeAlias

from sensorstream.analysis.value_kinds import INVALID, Kinds, KindScope, operands, shown
from sensorstream.errors import NotIncremental
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import DATE_TIMES, FAMILIES
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Variable
from sensorstream.sparql.functions import OF_EVENTS, UNREPEATABLE
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.values import boolean, truth
from sensorstream.sparql.walk import children, nodes

Truth: TypeAlias = bool | None
"""None is an error (SPARQL 1.1, section 17.2)."""


class KnownValue(Enum):
    """Knowledge of a value that is not a single known term."""

    FAILS = "fails"
    """The value is always an error."""
    VARIES = "varies"


_ANY: Final = frozenset((True, False, None))


def truths(expression: Expression, bound: KindScope) -> frozenset[Truth]:
    """The effective boolean values that an expression may have, and maybe impossible ones.

    ``bound`` are the variables that may have a value; all others are unbound.
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
        case KnownValue.VARIES:
            return _ANY
        case KnownValue.FAILS:
            return frozenset((None,))
    return frozenset((truth(found),))


def value(expression: Expression, bound: KindScope) -> Term | KnownValue:
    """The only possible value of an expression, or what is known of it; see :func:`truths`."""
    if bound.has_no_value(expression):
        return KnownValue.FAILS
    match expression:
        case IRI() | Literal():
            return expression
        case Variable(name):
            return KnownValue.VARIES if name in bound else KnownValue.FAILS
        case algebra.And() | algebra.Or() | algebra.Not() | algebra.Call("BOUND"):
            possible = truths(expression, bound)
            if len(possible) > 1:
                return KnownValue.VARIES
            (only,) = possible
            return KnownValue.FAILS if only is None else boolean(only)
        case algebra.Exists():
            return KnownValue.VARIES
        case algebra.Call(name) if name in UNREPEATABLE or name in OF_EVENTS:
            return KnownValue.VARIES
    parts = [value(each, bound) for each in operands(expression)]
    match expression:
        case algebra.In():
            fails = parts[0] is KnownValue.FAILS
        case algebra.Call("IF" | "COALESCE"):
            fails = set(parts) == {KnownValue.FAILS}
        case _:
            fails = KnownValue.FAILS in parts
    if fails and not isinstance(expression, algebra.Sign):
        return KnownValue.FAILS
    return KnownValue.VARIES if KnownValue.VARIES in parts else _calculated(expression)


def _calculated(expression: Expression) -> Term | KnownValue:
    """The value of an expression in which no variable can have a value."""
    if any(
        isinstance(node, algebra.Call) and node.name in UNREPEATABLE for node in nodes(expression)
    ):
        return KnownValue.VARIES
    try:
        found = value_of(expression, {})(())
    except NotIncremental:
        return KnownValue.VARIES
    return KnownValue.FAILS if found is None else found


def _and(one: Truth, other: Truth) -> Truth:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _not(one: Truth) -> Truth:
    return None if one is None else not one


_LENGTH: Final = 'a length of time, such as "PT1M"^^xsd:dayTimeDuration'


def failures(expression: Expression, scope: KindScope) -> Iterator[tuple[Expression, str]]:
    """The operations for which no values of their operands give a value, and why.

    Also ``=`` and ``IN`` of operands that are never equal. COALESCE and EXISTS are not looked into.
    """
    ahead: list[object] = [expression]
    while ahead:
        node = ahead.pop()
        if isinstance(node, algebra.Exists) or (
            isinstance(node, algebra.Call) and node.name == "COALESCE"
        ):
            continue
        if isinstance(
            node,
            algebra.Comparison
            | algebra.Arithmetic
            | algebra.Sign
            | algebra.Call
            | algebra.FunctionCall
            | algebra.In,
        ) and (scope.has_no_value(node) or scope.is_never_equal(node)):
            yield node, _fault(node, [scope.kinds(each) for each in operands(node)])
        ahead += children(node)[::-1]


def _fault(operation: Expression, of: list[Kinds]) -> str:
    written = [
        each
        for each, kinds in zip(operands(operation), of, strict=True)
        if isinstance(each, Literal) and kinds == frozenset((INVALID,))
    ]
    if written:
        name = FAMILIES.get(written[0].datatype)
        form = f": expected the form of {name and 'an xsd:' + name}" if name else ""
        return f"{part_text(written[0])} is not valid in its datatype{form}"
    match operation:
        case algebra.Comparison(operator, _, _):
            what = f"'{operator}' never holds between {_either(of[0])} and {_either(of[1])}"
        case algebra.In():
            what = f"{_either(of[0])} is never IN a list of other types"
        case algebra.Arithmetic(operator, _, _):
            what = f"'{operator}' has no value for {_either(of[0])} and {_either(of[1])}"
        case algebra.Sign(operator, _):
            what = f"{_either(of[0])} has no sign '{operator}'"
        case algebra.Call(name, _):
            what = f"{name} has no value for {_either(of[0])}"
        case algebra.FunctionCall(function, _):
            what = f"{_either(of[0])} cannot be cast to {function.n3}"
        case _:
            raise AssertionError(f"an operation: {operation}")
    way_out = _way_out(operation, of)
    return f"{what}: {way_out}" if way_out else what


def _way_out(operation: Expression, of: list[Kinds]) -> str:
    """The text to write instead; empty if that is not known."""
    if not isinstance(operation, algebra.Comparison | algebra.Arithmetic) or None in of:
        return ""
    both = frozenset[str]().union(*(each or () for each in of))
    families = {FAMILIES.get(kind, "") for kind in both}
    sums = isinstance(operation, algebra.Arithmetic)
    if sums and operation.operator in ("*", "/"):
        return "write the length itself" if "duration" in families else ""
    if xsd.DECIMAL in both and families == {"", "duration"}:
        return "write both as numbers, or both as durations"
    if xsd.DECIMAL in both and len(families) == 2:
        return f"write {_LENGTH if sums else 'a time for the number'}"
    if xsd.STRING in both and len(families) == 2:
        return "cast the text, such as xsd:dateTime(?text)"
    if sums and families <= {"dateTime", "date", "time"}:
        return (
            f"add {_LENGTH}" if operation.operator == "+" else "cast one to the type of the other"
        )
    if both & DATE_TIMES and both & {xsd.DATE, xsd.TIME}:
        target = "date" if xsd.DATE in both else "time"
        return f"cast the xsd:dateTime: xsd:{target}(…)"
    if "duration" in families and len(families) == 2:
        return "compare the difference of two times with a duration"
    return ""


def _either(of: Kinds) -> str:
    return "any value" if of is None else " or ".join(sorted(map(shown, of)))
