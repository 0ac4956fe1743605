"""Conditions some of whose variables have their value from outside, as patterns.

The values are triples of a separate index, one for each variable. The pattern joins with this
index as it does with a window, so the caller gets the solutions for other values by replacing
these triples, and only that change is computed. Joins start at the values, so their cost depends
on the number of matches. Below a GROUP BY all groups are maintained, and one is looked up.

The value holds everywhere in the query, as if it were written there, except within a sub-select
that does not return the variable: there the name means another variable (SPARQL 1.1, section 12).

A condition may also be asked for many *keys* at once: for which of them it has a solution. Each key
is a subject with one property for each variable, and the joins share the key too, so that values of
different keys stay apart. What has a scope of its own may only join with the keys from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from sensorstream.errors import NotIncremental
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.rules.rule_memory import SolutionKey
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, TriplePattern, Variable
from sensorstream.sparql.variable_scope import certain, in_scope, names_in, plain_keys
from sensorstream.sparql.walk import replaced

_E = TypeVar("_E")

GIVEN: Final = IRI("urn:sensorstream:given")
"""The window that holds the values, and the subject of its triples."""
KEY: Final = Variable(".key")
"""The variable that is a key; no query can name it so."""
_OPEN: Final = algebra.OneByOne | algebra.BGP | algebra.Values | algebra.Union | algebra.Graph
"""Patterns without a scope of their own, BIND to a new variable among them."""


def given_triples(values: Mapping[str, Term]) -> Iterator[Triple]:
    """The triples that give each variable its value."""
    return ((GIVEN, property_of(name), value) for name, value in values.items())


def with_given(pattern: Pattern, given: Collection[str]) -> Pattern:
    """The pattern's solutions that agree with the values; all of them bind each variable."""
    return _Substitution(frozenset(given), early=True).whole(pattern)


def key_triples(name: IRI, key: SolutionKey) -> Iterator[Triple]:
    """The triples of a key."""
    return ((name, property_of(variable), value) for variable, value in key)


def with_keys(pattern: Pattern, names: Collection[str]) -> Pattern:
    """The keys for which a pattern has a solution, each at least once, as :data:`KEY`.

    ``names`` are the variables of a key; each key has a value for all of them. Raises
    NotIncremental if a part with a scope of its own needs the values within.
    """
    while isinstance(
        pattern, algebra.Project | algebra.Distinct | algebra.Reduced | algebra.OrderBy
    ):
        pattern = pattern.pattern
    return algebra.Project(_Keyed(frozenset(names)).whole(pattern), (KEY,))


def needs_values(pattern: Pattern, given: Collection[str]) -> bool:
    """Whether values change the solutions of a pattern, and do not only select among them."""
    return _Substitution(frozenset(given), early=False).inside(pattern) != pattern


class _Substitution:
    """Puts the values into a pattern; ``early`` at every block of triples that mentions them."""

    def __init__(self, given: frozenset[str], *, early: bool) -> None:
        self._given = given
        self._early = early

    def whole(self, pattern: Pattern) -> Pattern:
        """The pattern with all variables bound to their values."""
        return _bound(self._given, self.inside(pattern))

    def bound(self, mentioning: object, pattern: Pattern) -> Pattern:
        """The pattern with values for names in ``mentioning`` that it may leave unbound."""
        return _bound(self.mentioned(mentioning), pattern)

    def restricted(self, mentioning: object, pattern: Pattern) -> Pattern:
        """The solutions of the pattern that agree with the values of what ``mentioning`` names."""
        return _restricted(self.mentioned(mentioning), pattern)

    def inside(self, pattern: Pattern) -> Pattern:
        """The pattern with the values where it mentions their variables."""
        match pattern:
            case algebra.BGP():
                return self.restricted(pattern, pattern) if self._early else pattern
            case algebra.Values(variables, _):
                return self.restricted(variables, pattern)
            case algebra.Join(left, right) | algebra.Union(left, right):
                return type(pattern)(self.inside(left), self.inside(right))
            case algebra.Minus(left, right):
                return self._minus(left, right)
            case algebra.LeftJoin(left, right, condition):
                one = self.bound((right, condition), self.inside(left))
                return algebra.LeftJoin(one, self.inside(right), self.expression(condition))
            case algebra.Filter(condition, inner):
                inner = self.bound(condition, self.inside(inner))
                return algebra.Filter(self.expression(condition), inner)
            case algebra.Extend(inner, variable, expression):
                below = self._without({variable.name})
                inner = below.bound(expression, below.inside(inner))
                extended = algebra.Extend(inner, variable, below.expression(expression))
                return self.restricted(variable, extended)
            case algebra.Graph(name, inner):
                return self.restricted(name, algebra.Graph(name, self.inside(inner)))
            case algebra.Group():
                return self._group(pattern)
            case algebra.Project(inner, variables):
                below = self._without(self._given - {each.name for each in variables})
                return algebra.Project(below.whole(inner), variables)
            case algebra.Distinct(inner) | algebra.Reduced(inner):
                return type(pattern)(self.inside(inner))
            case algebra.OrderBy(inner, conditions):
                inner = self.bound(conditions, self.inside(inner))
                return algebra.OrderBy(inner, tuple(self.expression(each) for each in conditions))
            case algebra.Slice(inner, offset, limit):
                # LIMIT and OFFSET must apply to the solutions of these values only.
                return algebra.Slice(
                    _Substitution(self._given, early=True).inside(inner), offset, limit
                )
        return pattern

    def _minus(self, left: Pattern, right: Pattern) -> Pattern:
        scope = in_scope(right)
        if scope.isdisjoint(in_scope(left) | self._given):
            # Such a MINUS removes nothing; with values on both sides it would.
            return self.inside(left)
        shared = tuple(map(Variable, sorted(scope & self._given)))
        one = self.bound(shared, self.inside(left))
        other = self.bound(shared, self.inside(right))
        if self.mentioned(right) - scope:
            other = self.hiding(other, scope)
        return algebra.Minus(one, other)

    def hiding(self, pattern: Pattern, scope: Collection[str]) -> Pattern:
        """The pattern with only these variables: else values it just reads would be shared."""
        return algebra.Project(pattern, tuple(map(Variable, sorted(scope))))

    def _group(self, pattern: algebra.Group) -> Pattern:
        keys = self._given & plain_keys(pattern.keys)
        below = _Substitution(keys, early=False)
        inner = below.whole(pattern.pattern)
        grouped = algebra.Group(
            inner,
            tuple(
                algebra.GroupKey(below.expression(k.expression), k.variable) for k in pattern.keys
            ),
            pattern.aggregates,
        )
        # All groups are maintained; the group of these values is found by its key.
        return _restricted(keys | self.mentioned(_made(pattern)), grouped)

    def expression(self, expression: _E) -> _E:
        """The expression with the values in the patterns of its EXISTS."""

        def change(node: object) -> object | None:
            return (
                algebra.Exists(self.inside(node.pattern))
                if isinstance(node, algebra.Exists)
                else None
            )

        return replaced(expression, change)

    def mentioned(self, node: object) -> frozenset[str]:
        """The variables with values that a part mentions."""
        return self._given & names_in(node)

    def _without(self, names: Collection[str]) -> _Substitution:
        left = self._given.difference(names)
        return self if left == self._given else _Substitution(left, early=self._early)


class _Keyed(_Substitution):
    """Joins a pattern with the keys where it mentions a variable of theirs."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names, early=True)

    def whole(self, pattern: Pattern) -> Pattern:
        """The pattern; each solution has its key."""
        pattern = self.inside(pattern)
        return pattern if KEY.name in certain(pattern) else _joined(KEY, self._given, pattern)

    def bound(self, mentioning: object, pattern: Pattern) -> Pattern:
        """The pattern, joined with the keys if ``mentioning`` has a variable of theirs."""
        if KEY.name in certain(pattern) or not self.mentioned(mentioning):
            return pattern
        return _joined(KEY, self._given, pattern)

    restricted = bound

    def hiding(self, pattern: Pattern, scope: Collection[str]) -> Pattern:
        """Raise NotIncremental, because it would hide the key."""
        raise NotIncremental("MINUS: it reads a value that it does not share")

    def inside(self, pattern: Pattern) -> Pattern:
        """The pattern with keys inside parts that have a scope of their own."""
        if isinstance(pattern, algebra.Group):
            return self._group(pattern)
        hides = isinstance(pattern, algebra.Extend) and pattern.variable.name in self._given
        if isinstance(pattern, _OPEN) and not hides:
            return super().inside(pattern)
        if needs_values(pattern, self._given):
            raise NotIncremental("a part with a scope of its own needs the values of each solution")
        return pattern

    def _group(self, pattern: algebra.Group) -> Pattern:
        keys = self._given & plain_keys(pattern.keys)
        if (
            needs_values(pattern.pattern, keys)
            or not keys <= certain(pattern.pattern)
            or self.mentioned(_made(pattern)) - keys
            or any(isinstance(key.expression, algebra.Exists) for key in pattern.keys)
        ):
            raise NotIncremental("a GROUP BY that needs the values of each solution")
        return pattern


def _made(group: algebra.Group) -> tuple[object, ...]:
    """The variables and expressions that a grouping computes."""
    return (*(k.variable for k in group.keys), *(name for name, _ in group.aggregates))


def _bound(names: Iterable[str], pattern: Pattern) -> Pattern:
    """The pattern, joined with the values of those variables that it may leave unbound."""
    if isinstance(pattern, algebra.OrderBy):
        return algebra.OrderBy(_bound(names, pattern.pattern), pattern.conditions)
    return _restricted(frozenset(names) - certain(pattern), pattern)


def _restricted(names: Collection[str], pattern: Pattern) -> Pattern:
    """The solutions of a pattern that agree with the values of some variables."""
    return _joined(GIVEN, names, pattern) if names else pattern


def _joined(subject: IRI | Variable, names: Collection[str], pattern: Pattern) -> Pattern:
    """The pattern, joined with the values of some variables."""
    triples = (TriplePattern(subject, property_of(name), Variable(name)) for name in sorted(names))
    return algebra.Join(algebra.Window(GIVEN, algebra.BGP(tuple(triples))), pattern)


def property_of(name: str) -> IRI:
    """The property whose value is that of a variable."""
    return IRI(f"{GIVEN}:{name}")
