"""Constants in order, to find those that a value is beyond without testing each.

``<`` of SPARQL 1.1 (section 17.3) does not order all literals, but the literals of one kind: the
integers, the dateTimes with a time zone, and so on. When a value of any kind is compared with
constants of one kind, in ascending order, the answer changes at most once. So a binary search with
the comparison itself finds the position, without a second definition of the order.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import FAMILIES, Duration
from sensorstream.sparql.values import ORDERS, compare, number, rank, time_of

OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
"""The operators on values that Python compares as they are."""

_known: Final = attrgetter("known")
_EXACT: Final = (("number", 0), ("number", 1))


def kind(term: Term) -> Hashable | None:
    """The kind of a literal: ``<`` orders each kind totally; None: ``<`` does not order it."""
    if type(term) is not Literal:
        return None
    value = number(term)
    if value is not None:
        return None if value != value else ("number", min(rank(term), 2))
    family = FAMILIES.get(term.datatype)
    if family is not None:
        found = time_of(term)
        if isinstance(found, Duration):
            # Durations with as many months differ in their seconds.
            return family, found.months
        return None if found is None else (family, found.zone is None)
    return term.datatype if term.datatype in (xsd.STRING, xsd.BOOLEAN) else None


def is_comparable(compared: str, constant: IRI | Literal) -> bool:
    """Whether :class:`Constants` can hold a constant for an operator.

    For ``<`` and the like it must have a kind; for ``=`` any constant except NaN.
    """
    if compared != "=":
        return kind(constant) is not None
    value = number(constant)
    return value is None or value == value


class Constants:
    """The constants c of many tests ``value operator c``, each once; finds true tests in O(log n).

    All must be :func:`comparable <is_comparable>`.
    """

    def __init__(self, compared: str) -> None:
        self._accepted = ORDERS.get(compared)
        self._bisect = bisect_left if compared in (">", "<=") else bisect_right
        self._of_kind: dict[Hashable, list[Literal]] = {}
        # The constants without an order, for "=" only.
        self._terms: set[Term] = set()

    def __len__(self) -> int:
        return len(self._terms) + sum(map(len, self._of_kind.values()))

    def add(self, constant: IRI | Literal) -> None:
        """Add a constant that is not stored; O(n)."""
        found = kind(constant)
        if found is None:
            self._terms.add(constant)
            return
        assert isinstance(constant, Literal)
        same = self._of_kind.setdefault(found, [])
        same.insert(_count(same, lambda c: (compare(constant, c) or 0) >= 0), constant)

    def discard(self, constant: IRI | Literal) -> None:
        """Remove a stored constant; O(n)."""
        found = kind(constant)
        if found is None:
            self._terms.discard(constant)
            return
        assert isinstance(constant, Literal)
        same = self._of_kind[found]
        same.remove(constant)
        if not same:
            del self._of_kind[found]

    def passed(self, value: Term | None) -> list[Term]:
        """The constants for which the test is true."""
        passed: list[Term] = [value] if value is not None and value in self._terms else []
        exact = number(value)
        is_exact = isinstance(exact, int | Decimal)
        for of, same in self._of_kind.items():
            part = self._exact_part(exact, same) if is_exact and of in _EXACT else None
            passed += same[part or self._part(value, same)]
        return passed

    def _exact_part(self, value: Any, same: Sequence[Literal]) -> slice:
        """Find the constants by bisection as Python compares numbers, without a call for each."""
        at = self._bisect(same, value, key=_known)
        if self._accepted is None:
            return slice(bisect_left(same, value, key=_known), at)
        return slice(at) if 1 in self._accepted else slice(at, None)

    def any_passed(self, value: Term | None) -> bool:
        """Whether the test is true for any constant; O(1) except for ``=``."""
        accepted = self._accepted
        if accepted is None:
            return bool(self.passed(value))
        # The constant that most values are beyond.
        loosest = 0 if 1 in accepted else -1
        return any(compare(value, same[loosest]) in accepted for same in self._of_kind.values())

    def _part(self, value: Term | None, same: Sequence[Literal]) -> slice:
        accepted = self._accepted
        if accepted is None:
            first = _count(same, lambda c: compare(value, c) == 1)
            return slice(first, _count(same, lambda c: compare(value, c) in (0, 1)))
        if 1 in accepted:
            return slice(_count(same, lambda c: compare(value, c) in accepted))
        return slice(_count(same, lambda c: compare(value, c) not in accepted), None)


def _count(constants: Sequence[Literal], holds: Callable[[Literal], bool]) -> int:
    """The number of constants for which a test is true, if these are the first ones."""
    low, high = 0, len(constants)
    while low < high:
        middle = (low + high) // 2
        if holds(constants[middle]):
            low = middle + 1
        else:
            high = middle
    return low
