"""A constant of a comparison stands on its right side."""

from __future__ import annotations

from typing import Any, Final
from typing import Literal as OneOf

from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.algebra import Comparison, Pattern
from sensorstream.sparql.walk import rebuilt

_Operator = OneOf["=", "!=", "<", ">", "<=", ">="]
_TURNED: Final[dict[str, _Operator]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
}


def constants_right(pattern: Pattern) -> Pattern:
    """``5 < ?x`` becomes ``?x > 5``: filters that differ in the constant then look alike.

    The operators of section 17.3 compare the same two values either way, with the same errors.
    """
    return rebuilt(pattern, _turned)


def _turned(node: Any) -> Any:
    match node:
        case Comparison(operator, IRI() | Literal() as constant, other) if not isinstance(
            other, IRI | Literal
        ):
            return Comparison(_TURNED[operator], other, constant)
    return node
