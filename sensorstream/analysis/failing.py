"""The operations of an expression that can have no value, with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sensorstream.analysis.value_kinds import INVALID, Kinds, Scope, operands, shown
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import DATE_TIMES, FAMILIES, XSD_DATE, XSD_DECIMAL, XSD_STRING, XSD_TIME
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression
from sensorstream.sparql.printing import part_text
from sensorstream.sparql.walk import children

_LENGTH: Final = 'a length of time, such as "PT1M"^^xsd:dayTimeDuration'


def failures(expression: Expression, scope: Scope) -> Iterator[tuple[Expression, str]]:
    """The operations for which no values of their operands give a value, and why.

    Also ``=`` and ``IN`` of what is never equal. COALESCE and EXISTS are not looked into.
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
        ahead.extend(reversed(list(children(node))))


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
    """What to write; empty: nobody can know."""
    if not isinstance(operation, algebra.Comparison | algebra.Arithmetic) or None in of:
        return ""
    both = frozenset[str]().union(*(each or () for each in of))
    families = {FAMILIES.get(kind, "") for kind in both}
    sums = isinstance(operation, algebra.Arithmetic)
    if sums and operation.operator in ("*", "/"):
        return "write the length itself" if "duration" in families else ""
    if XSD_DECIMAL in both and families == {"", "duration"}:
        return "write both as numbers, or both as durations"
    if XSD_DECIMAL in both and len(families) == 2:
        return f"write {_LENGTH if sums else 'a time for the number'}"
    if XSD_STRING in both and len(families) == 2:
        return "cast the text, such as xsd:dateTime(?text)"
    if sums and families <= {"dateTime", "date", "time"}:
        return (
            f"add {_LENGTH}" if operation.operator == "+" else "cast one to the type of the other"
        )
    if both & DATE_TIMES and both & {XSD_DATE, XSD_TIME}:
        target = "date" if XSD_DATE in both else "time"
        return f"cast the xsd:dateTime: xsd:{target}(…)"
    if "duration" in families and len(families) == 2:
        return "compare the difference of two times with a duration"
    return ""


def _either(of: Kinds) -> str:
    return "any value" if of is None else " or ".join(sorted(map(shown, of)))
