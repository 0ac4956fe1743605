"""Conditions some of whose variables have their value from outside, as patterns.

The values are triples of a separate index, one for each variable. The pattern joins with this
index as it does with a window, so the caller gets the solutions for other values by replacing
these triples, and only that change is computed. Joins start at the values, so their cost depends
on the number of matches. Below a GROUP BY all groups are maintained, and one is looked up.

The value holds everywhere in the query, as if it were written there, except within a sub-select
that does not return the variable: there the name means another variable (SPARQL 1.1, section 12).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from sensorstream.errors import NotIncremental
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.sparql.algebra import (
    BGP,
    Distinct,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    GroupKey,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    Slice,
    TriplePattern,
    Union,
    Values,
    Variable,
    Window,
)
from sensorstream.sparql.scope import certain, names_in, plain_keys
from sensorstream.sparql.walk import replaced

_E = TypeVar("_E")

GIVEN: Final = IRI("urn:sensorstream:given")
"""The window that holds the values, and the subject of its triples."""


def given_triples(values: Mapping[str, Term]) -> Iterator[Triple]:
    """The triples that give each variable its value."""
    return ((GIVEN, property_of(name), value) for name, value in values.items())


def with_given(pattern: Pattern, given: Collection[str]) -> Pattern:
    """The pattern's solutions that agree with the values; all of them bind each variable.

    Raises:
        NotIncremental: a MINUS whose sides may share a variable in some solutions only.
    """
    return _Substitution(frozenset(given), early=True).whole(pattern)


def needs_values(pattern: Pattern, given: Collection[str]) -> bool:
    """Whether values change what a pattern finds, more than which of its solutions agree."""
    return _Substitution(frozenset(given), early=False).inside(pattern) != pattern


class _Substitution:
    """Puts the values into a pattern; ``early`` at every block of triples that mentions them."""

    def __init__(self, given: frozenset[str], *, early: bool) -> None:
        self._given = given
        self._early = early

    def whole(self, pattern: Pattern) -> Pattern:
        """The pattern with all variables bound to their values."""
        return _bound(self._given, self.inside(pattern))

    def inside(self, pattern: Pattern) -> Pattern:
        match pattern:
            case BGP():
                return _restricted(self.mentioned(pattern), pattern) if self._early else pattern
            case Values(variables, _):
                return _restricted(self.mentioned(variables), pattern)
            case Join(left, right):
                return Join(self.inside(left), self.inside(right))
            case Union(left, right):
                return Union(self.inside(left), self.inside(right))
            case Minus():
                return self._minus(pattern)
            case LeftJoin(left, right, condition):
                one = _bound(self.mentioned((right, condition)), self.inside(left))
                return LeftJoin(one, self.inside(right), self.expression(condition))
            case Filter(condition, inner):
                inner = _bound(self.mentioned(condition), self.inside(inner))
                return Filter(self.expression(condition), inner)
            case Extend(inner, variable, expression):
                below = self._without({variable.name})
                inner = _bound(below.mentioned(expression), below.inside(inner))
                extended = Extend(inner, variable, below.expression(expression))
                return _restricted(self.mentioned(variable), extended)
            case Graph(name, inner):
                return _restricted(self.mentioned(name), Graph(name, self.inside(inner)))
            case Group():
                return self._group(pattern)
            case Project(inner, variables):
                below = self._without(self._given - {each.name for each in variables})
                return Project(below.whole(inner), variables)
            case Distinct(inner):
                return Distinct(self.inside(inner))
            case Reduced(inner):
                return Reduced(self.inside(inner))
            case OrderBy(inner, conditions):
                inner = _bound(self.mentioned(conditions), self.inside(inner))
                return OrderBy(inner, tuple(self.expression(each) for each in conditions))
            case Slice(inner, offset, limit):
                # LIMIT and OFFSET must apply to the solutions of these values only.
                return Slice(_Substitution(self._given, early=True).inside(inner), offset, limit)
        return pattern

    def _group(self, pattern: Group) -> Pattern:
        keys = self._given & plain_keys(pattern.keys)
        below = _Substitution(keys, early=False)
        inner = below.whole(pattern.pattern)
        grouped = Group(
            inner,
            tuple(GroupKey(below.expression(k.expression), k.variable) for k in pattern.keys),
            pattern.aggregates,
        )
        named = (*(k.variable for k in pattern.keys), *(name for name, _ in pattern.aggregates))
        # All groups are maintained; the group of these values is found by its key.
        return _restricted(keys | self.mentioned(named), grouped)

    def _minus(self, pattern: Minus) -> Pattern:
        shared = self.mentioned(pattern.right)
        left = _bound(shared, self.inside(pattern.left))
        right = _bound(shared, self.inside(pattern.right))
        if not certain(left) & certain(right):
            raise NotIncremental("MINUS: its sides may share no variable")
        return Minus(left, right)

    def expression(self, expression: _E) -> _E:
        def change(node: object) -> object | None:
            return Exists(self.inside(node.pattern)) if isinstance(node, Exists) else None

        return replaced(expression, change)

    def mentioned(self, node: object) -> frozenset[str]:
        return self._given & names_in(node)

    def _without(self, names: Collection[str]) -> _Substitution:
        return _Substitution(self._given.difference(names), early=self._early)


def _bound(names: Iterable[str], pattern: Pattern) -> Pattern:
    """The pattern, joined with the values of those variables that it may leave unbound."""
    if isinstance(pattern, OrderBy):
        return OrderBy(_bound(names, pattern.pattern), pattern.conditions)
    return _restricted(frozenset(names) - certain(pattern), pattern)


def _restricted(names: Collection[str], pattern: Pattern) -> Pattern:
    """The solutions of a pattern that agree with the values of some variables."""
    if not names:
        return pattern
    triples = (TriplePattern(GIVEN, property_of(name), Variable(name)) for name in sorted(names))
    return Join(Window(GIVEN, BGP(tuple(triples))), pattern)


def property_of(name: str) -> IRI:
    """The property whose value is that of a variable."""
    return IRI(f"{GIVEN}:{name}")
