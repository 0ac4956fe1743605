"""ORDER BY: keys to sort rows by (SPARQL 1.1, section 15.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from sensorstream.errors import NotIncremental
from sensorstream.model.numerals import sortable
from sensorstream.model.terms import IRI, BlankNode, Term
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Distinct, OrderBy, OrderCondition, Pattern, Project, Reduced
from sensorstream.sparql.values import Number, number, time_key
from sensorstream.sparql.variable_scope import names_in

_TERMS: Final = 100_000
"""Terms whose place in the order is remembered."""


def order_of(
    conditions: Sequence[OrderCondition], places: Mapping[str, int]
) -> Callable[[Row], Any]:
    """Make the function that gives the key of a row for ORDER BY (section 15.1)."""
    values = [(value_of(each.expression, places), each.descending) for each in conditions]

    def key(row: Row) -> Any:
        return tuple(
            _Descending(order_text(value(row))) if descending else order_text(value(row))
            for value, descending in values
        )

    return key


@lru_cache(_TERMS)
def order_text(term: Term | None) -> str:
    """A text that sorts as the term does in ORDER BY (section 15.1).

    The order: unbound, blank nodes, IRIs; of literals numbers, times, all others by their text.
    """
    if term is None:
        return "0"
    if isinstance(term, BlankNode):
        return f"1{term}"
    if isinstance(term, IRI):
        return f"2{term}"
    value = number(term)
    if value is not None:
        return f"3{_number_text(value)}"
    key = time_key(term)
    if key is not None:
        return f"4{' '.join([_number_text(each) for each in key])}"
    return f"5{term.lexical}\0{term.datatype}\0{term.language or ''}"


def _number_text(value: Number) -> str:
    # A double counts as the shortest decimal that reads back as it.
    return sortable(Decimal(repr(value) if isinstance(value, float) else value))


class _Descending:
    """A key in reverse order."""

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
    """Separate ORDER BY from the pattern that it orders.

    Returns the pattern, the conditions, and the variables to keep afterwards where the conditions
    need others than those selected.
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
