"""Constants in order, to find those that a value is beyond without testing each.

``<`` of SPARQL 1.1 (section 17.3) does not order all literals, but the literals of one kind: the
integers, the dateTimes with a time zone, and so on. When a value of any kind is compared with
constants of one kind, in ascending order, the answer changes at most once. So a binary search with
the comparison itself finds the position, without a second definition of the order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import FAMILIES, XSD_BOOLEAN, XSD_STRING, Duration
from sensorstream.sparql.values import compare, number, rank, time_of


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
            # Those with as many months differ in their seconds.
            return family, found.months
        return None if found is None else (family, found.zone is None)
    return term.datatype if term.datatype in (XSD_STRING, XSD_BOOLEAN) else None


def is_comparable(operator: str, constant: IRI | Literal) -> bool:
    """Whether :class:`Constants` can hold a constant for an operator.

    For ``<`` and the like it must have a kind; for ``=`` any constant except NaN.
    """
    if operator != "=":
        return kind(constant) is not None
    value = number(constant)
    return value is None or value == value


class Constants:
    """The constants c of many tests ``value operator c``; finding the true tests costs O(log n).

    Each constant is stored once. All must be :func:`comparable <is_comparable>`.
    """

    def __init__(self, operator: str) -> None:
        self._operator = operator
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
        for same in self._of_kind.values():
            passed += same[self._part(value, same)]
        return passed

    def any_passed(self, value: Term | None) -> bool:
        """Whether the test is true for any constant; O(1) except for ``=``."""
        match self._operator:
            case ">":
                return any(compare(value, same[0]) == 1 for same in self._of_kind.values())
            case ">=":
                return any(compare(value, same[0]) in (0, 1) for same in self._of_kind.values())
            case "<":
                return any(compare(value, same[-1]) == -1 for same in self._of_kind.values())
            case "<=":
                return any(compare(value, same[-1]) in (-1, 0) for same in self._of_kind.values())
        return bool(self.passed(value))

    def _part(self, value: Term | None, same: Sequence[Literal]) -> slice:
        match self._operator:
            case ">":
                return slice(_count(same, lambda c: compare(value, c) == 1))
            case ">=":
                return slice(_count(same, lambda c: compare(value, c) in (0, 1)))
            case "<":
                return slice(_count(same, lambda c: compare(value, c) != -1), None)
            case "<=":
                return slice(_count(same, lambda c: compare(value, c) not in (-1, 0)), None)
        return slice(
            _count(same, lambda c: compare(value, c) == 1),
            _count(same, lambda c: compare(value, c) in (0, 1)),
        )


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
