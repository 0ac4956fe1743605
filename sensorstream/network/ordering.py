"""ORDER BY: what rows are compared by (SPARQL 1.1, section 15.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sensorstream.errors import NotIncremental
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Distinct, OrderBy, OrderCondition, Pattern, Project, Reduced
from sensorstream.sparql.values import order_text
from sensorstream.sparql.variable_scope import names_in


def order_of(
    conditions: Sequence[OrderCondition], places: Mapping[str, int]
) -> Callable[[Row], Any]:
    """What ORDER BY compares of a row (section 15.1)."""
    values = [(value_of(each.expression, places), each.descending) for each in conditions]

    def key(row: Row) -> Any:
        return tuple(
            _Descending(order_text(value(row))) if descending else order_text(value(row))
            for value, descending in values
        )

    return key


class _Descending:
    """A key the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(other.key == self.key)

    __hash__ = None  # type: ignore[assignment]


def parted_order(
    pattern: Pattern,
) -> tuple[Pattern, tuple[OrderCondition, ...], list[str] | None]:
    """Separate ORDER BY from what it orders.

    Returns:
        The pattern without it, its conditions, and the variables to keep afterwards where the
        conditions need others than those selected.
    """
    match pattern:
        case OrderBy(inner, conditions):
            return inner, conditions, None
        case Project(OrderBy(inner, conditions), variables):
            return inner, conditions, [each.name for each in variables]
        case Distinct(Project(OrderBy(inner, conditions), variables)) | Reduced(
            Project(OrderBy(inner, conditions), variables)
        ):
            if not names_ordered_by(conditions) <= {each.name for each in variables}:
                raise NotIncremental("DISTINCT ordered by what is not selected", part=conditions[0])
            return type(pattern)(Project(inner, variables)), conditions, None
    return pattern, (), None


def names_ordered_by(conditions: Iterable[OrderCondition]) -> set[str]:
    """The variables that conditions mention."""
    return {name for each in conditions for name in names_in(each.expression)}
