"""The tests that rules of one matcher make of a single event: ``?v > 30`` and ``?v > 40``.

A test that differs only in its constant is asked once for all: constants stand in their order, or
by their value. So an event costs the rules that it concerns, not all there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Final, Protocol, TypeAlias

from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from sensorstream.network.rows import Row
from sensorstream.network.selection.event_store import LOOSE, key_of
from sensorstream.network.selection.event_tests import test_of_all
from sensorstream.sparql.algebra import Comparison, Expression, Variable

Members: TypeAlias = Sequence[int]
"""The numbers of rules of a matcher."""
_EXACT: Final = 2**53
"""Whole numbers below this are the same as doubles."""


class _Index(Protocol):
    """Tests of one variable, one for each member, that differ in their constants."""

    def found(self, row: Row) -> Members | None:
        """The members whose test may be true, no others; None: that has to be asked of each."""

    @property
    def decides(self) -> bool:
        """Whether the tests of those found are true."""


class MemberTests:
    """The tests of an event, for each member of a matcher."""

    def __init__(self, tests: Sequence[Sequence[Expression]], names: Sequence[str]) -> None:
        shared = set[Expression](tests[0]).intersection(*tests[1:])
        self._common = test_of_all([each for each in tests[0] if each in shared], names)
        own = [[test for test in each if test not in shared] for each in tests]
        self._everyone: Members = range(len(tests))
        self._index: _Index | None = None
        self._tests = [test_of_all(each, names) for each in own]
        # What is left to ask of those that the index finds.
        self._rest = self._tests
        for place, alike in enumerate(zip(*own, strict=False)):
            if len(tests) == 1 or len({len(each) for each in own}) > 1:
                break
            index = _index_of(alike, names)
            if index is None or isinstance(self._index, _ByValue):
                continue
            self._index = index
            if index.decides:
                rest = [[*each[:place], *each[place + 1 :]] for each in own]
                self._rest = [test_of_all(each, names) for each in rest]
            else:
                self._rest = self._tests

    def passed(self, row: Row, members: Members | None = None) -> Members:
        """The members of which all tests are true, of some or of all."""
        if self._common is not None and not self._common(row):
            return ()
        asked, tests = members, self._tests
        if self._index is not None and (found := self._index.found(row)) is not None:
            tests = self._rest
            asked = found if members is None else _both(found, members)
        elif members is None:
            asked = self._everyone
        assert asked is not None
        return [each for each in asked if (test := tests[each]) is None or test(row)]


def _both(found: Members, members: Members) -> Members:
    if len(members) < len(found):
        found, members = members, found
    others = set(members)
    return [each for each in found if each in others]


def _index_of(tests: Sequence[Expression], names: Sequence[str]) -> _Index | None:
    """The index of tests, one for each member, if all compare one variable alike."""
    first = tests[0]
    if not isinstance(first, Comparison) or not isinstance(first.left, Variable):
        return None
    constants: list[IRI | Literal] = []
    for each in tests:
        if (
            not isinstance(each, Comparison)
            or (each.operator, each.left) != (first.operator, first.left)
            or not isinstance(each.right, IRI | Literal)
        ):
            return None
        constants.append(each.right)
    place = names.index(first.left.name)
    if first.operator == "=":
        return _ByValue(place, constants)
    if first.operator == "!=":
        return None
    values = [_exact(each) for each in constants]
    if any(each is None for each in values):
        return None
    return _ByOrder(place, first.operator, values)  # type: ignore[arg-type]


def _exact(term: Term) -> int | Decimal | None:
    """The value of an integer or a decimal."""
    if not isinstance(term, Literal) or term.datatype not in (XSD_INTEGER, XSD_DECIMAL):
        return None
    value = term.known
    return value if isinstance(value, int | Decimal) else None


class _ByOrder:
    """``?v > 30``: the members in the order of their constants."""

    decides: Final = True

    def __init__(self, place: int, operator: str, constants: Sequence[int | Decimal]) -> None:
        order = sorted(range(len(constants)), key=constants.__getitem__)
        self._place = place
        self._order = order
        self._sorted = [constants[each] for each in order]
        # ``value > constant`` holds of the constants before the value.
        self._before = operator in (">", ">=")
        self._bisect = bisect_left if operator in (">", "<=") else bisect_right
        self._as_doubles = all(isinstance(c, int) and abs(c) < _EXACT for c in constants)

    def found(self, row: Row) -> Members | None:
        term = row[self._place]
        if term is None:
            return ()
        value: int | float | Decimal | None = _exact(term)
        if value is None:
            value = self._double(term)
            if value is None:
                return None
        at = self._bisect(self._sorted, value)
        return self._order[:at] if self._before else self._order[at:]

    def _double(self, term: Term) -> float | None:
        if not self._as_doubles or type(term) is not Literal:
            return None
        if term.datatype not in (XSD_DOUBLE, XSD_FLOAT):
            return None
        value = term.known
        return value if isinstance(value, float) and value == value else None


class _ByValue:
    """``?room = :r7``: the members by the key of their constants."""

    decides: Final = False

    def __init__(self, place: int, constants: Iterable[IRI | Literal]) -> None:
        self._place = place
        self._members: dict[Hashable, list[int]] = {}
        for member, each in enumerate(constants):
            self._members.setdefault(key_of((each,)), []).append(member)
        self._loose = self._members.pop(LOOSE, [])

    def found(self, row: Row) -> Members | None:
        key = key_of((row[self._place],))
        if key == LOOSE:
            return None
        found = self._members.get(key, ())
        return [*found, *self._loose] if self._loose else found
