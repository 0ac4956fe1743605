"""The tests that rules of one matcher make of a single event: ``?v > 30`` and ``?v > 40``.

A test that differs only in its constant is made once for all rules, as the constants are sorted or
hashed. So an event costs the rules that it concerns, not all there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.constant_order import Constants, is_comparable
from sensorstream.network.expressions.expression_functions import all_of, test_of
from sensorstream.network.rows import Row, slots_of
from sensorstream.sparql.algebra import Comparison, Expression, Variable

Members: TypeAlias = Sequence[int]
"""The numbers of rules of a matcher."""


class MemberTests:
    """The tests of an event, for each member of a matcher."""

    def __init__(self, tests: Sequence[Sequence[Expression]], names: Sequence[str]) -> None:
        shared = set[Expression](tests[0]).intersection(*tests[1:])
        self._common = test_of_all([each for each in tests[0] if each in shared], names)
        own = [[test for test in each if test not in shared] for each in tests]
        self._everyone: Members = range(len(tests))
        self._index: _Index | None = None
        # The remaining tests of the members that the index finds.
        self._rest = self._tests = [test_of_all(each, names) for each in own]
        for place, alike in enumerate(zip(*own, strict=False)):
            if len(tests) == 1 or len({len(each) for each in own}) > 1:
                break
            index = _index_of(alike, names)
            if index is None or (self._index is not None and self._index.operator == "="):
                continue
            self._index = index
            rest = [[*each[:place], *each[place + 1 :]] for each in own]
            self._rest = [test_of_all(each, names) for each in rest]

    def passed(self, row: Row, members: Members | None = None) -> Members:
        """The members, among those given or all, whose tests are all true."""
        if self._common is not None and not self._common(row):
            return ()
        if self._index is None:
            asked, tests = self._everyone if members is None else members, self._tests
        else:
            found, tests = self._index.found(row), self._rest
            asked = found if members is None else _both(found, members)
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
    if first.operator == "!=" or not all(is_comparable(first.operator, c) for c in constants):
        return None
    return _Index(names.index(first.left.name), first.operator, constants)


class _Index:
    """The members by the constants of their tests ``?v > 30``, which are sorted."""

    def __init__(self, place: int, operator: str, constants: Sequence[IRI | Literal]) -> None:
        self.operator = operator
        self._place = place
        self._constants = Constants(operator)
        self._members: dict[Term, list[int]] = {}
        for member, each in enumerate(constants):
            if each not in self._members:
                self._constants.add(each)
            self._members.setdefault(each, []).append(member)

    def found(self, row: Row) -> Members:
        members = self._members
        return [m for c in self._constants.passed(row[self._place]) for m in members[c]]


Test: TypeAlias = Callable[[Row], bool]


def test_of_all(conditions: Sequence[Expression], names: Sequence[str]) -> Test | None:
    """Make the test of all conditions on a row with these names; None if there are none."""
    places = slots_of(names)
    return all_of([test_of(each, places) for each in conditions])
