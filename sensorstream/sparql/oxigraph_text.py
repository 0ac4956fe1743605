"""The text of a query for Oxigraph, which reads most sums of times and durations as errors.

Of ``+`` it puts the operands into an order of its own, and then knows no duration before a
dateTime, and no date with a duration at all; ``-`` is right. So ``a + b`` becomes ``a - -b``.
"""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import Literal
from sensorstream.model.xsd import NUMERIC_TYPES
from sensorstream.sparql.algebra import Arithmetic, Call, Expression, Query, Sign
from sensorstream.sparql.printing import query_text
from sensorstream.sparql.walk import nodes, replaced

_MOST_SUMS: Final = 3
"""Of sums within a sum that may have a duration first."""


def oxigraph_text(query: Query) -> str:
    """A query that Oxigraph answers as it is meant."""
    return query_text(replaced(query, _without_sum))


def _without_sum(node: object) -> Expression | None:
    match node:
        case Arithmetic("+", left, right) if not (_is_number(left) or _is_number(right)):
            one, other = replaced(left, _without_sum), replaced(right, _without_sum)
            found = Arithmetic("-", one, Sign("-", other))
            if _sums(left) + _sums(right) > _MOST_SUMS:
                # Written twice at each level, the text would grow with a power of two.
                return found
            return Call("COALESCE", (found, Arithmetic("-", other, Sign("-", one))))
    return None


def _sums(node: Expression) -> int:
    return sum(isinstance(each, Arithmetic) and each.operator == "+" for each in nodes(node))


def _is_number(node: Expression) -> bool:
    match node:
        case Literal():
            return node.datatype in NUMERIC_TYPES
        case Arithmetic("*" | "/", _, _):
            return True
    return False
