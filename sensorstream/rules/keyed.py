"""A condition asked for many keys at once: for which of them it has a solution.

The keys are triples of a separate index: each is a subject with one property for each variable. As
in :mod:`sensorstream.rules.given`, the pattern joins with this index at every block of triples that
mentions a variable; here the joins share the key too, so that values of different keys stay apart.
What has a scope of its own may only join with the keys from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, TypeVar

from sensorstream.errors import NotIncremental
from sensorstream.model.terms import IRI, Triple
from sensorstream.rules.given import GIVEN, needs_values, property_of
from sensorstream.rules.memory import SolutionKey
from sensorstream.sparql.algebra import (
    BGP,
    Distinct,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    TriplePattern,
    Union,
    Values,
    Variable,
    Window,
)
from sensorstream.sparql.scope import certain, names_in, plain_keys
from sensorstream.sparql.walk import replaced

_E = TypeVar("_E")

KEY: Final = Variable(".key")
"""The variable that is a key; no query can name it so."""


def key_triples(name: IRI, key: SolutionKey) -> Iterator[Triple]:
    """The triples of a key."""
    return ((name, property_of(variable), value) for variable, value in key)


def with_keys(pattern: Pattern, names: Collection[str]) -> Pattern:
    """The keys for which a pattern has a solution, each at least once, as :data:`KEY`.

    ``names`` are the variables of a key; each key has a value for all of them.

    Raises:
        NotIncremental: a part with a scope of its own needs the values within.
    """
    while isinstance(pattern, Project | Distinct | Reduced | OrderBy):
        pattern = pattern.pattern
    return Project(_Keyed(frozenset(names)).whole(pattern), (KEY,))


class _Keyed:
    """Joins a pattern with the keys where it mentions a variable of theirs."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._keys = Window(
            GIVEN,
            BGP(
                tuple(
                    TriplePattern(KEY, property_of(name), Variable(name)) for name in sorted(names)
                )
            ),
        )

    def whole(self, pattern: Pattern) -> Pattern:
        """The pattern; each solution has its key."""
        pattern = self._inside(pattern)
        return pattern if KEY.name in certain(pattern) else Join(self._keys, pattern)

    def _inside(self, pattern: Pattern) -> Pattern:
        match pattern:
            case BGP() | Values():
                return self._bound(pattern, pattern)
            case Join(left, right):
                return Join(self._inside(left), self._inside(right))
            case Union(left, right):
                return Union(self._inside(left), self._inside(right))
            case Minus(left, right):
                left = self._bound(right, self._inside(left))
                right = self._bound(right, self._inside(right))
                if not certain(left) & certain(right):
                    raise NotIncremental("MINUS: its sides may share no variable")
                return Minus(left, right)
            case LeftJoin(left, right, condition):
                left = self._bound((right, condition), self._inside(left))
                return LeftJoin(left, self._inside(right), self._expression(condition))
            case Filter(condition, inner):
                inner = self._bound(condition, self._inside(inner))
                return Filter(self._expression(condition), inner)
            case Extend(inner, variable, expression) if variable.name not in self._names:
                inner = self._bound(expression, self._inside(inner))
                return Extend(inner, variable, self._expression(expression))
            case Graph(name, inner):
                return self._bound(name, Graph(name, self._inside(inner)))
            case Group():
                return self._group(pattern)
        if needs_values(pattern, self._names):
            raise NotIncremental("a part with a scope of its own needs the values of each solution")
        return pattern

    def _group(self, pattern: Group) -> Pattern:
        keys = self._names & plain_keys(pattern.keys)
        made = {key.variable for key in pattern.keys} | {name for name, _ in pattern.aggregates}
        expressions = tuple(key.expression for key in pattern.keys)
        if (
            needs_values(pattern.pattern, keys)
            or not keys <= certain(pattern.pattern)
            or self._names & names_in(tuple(made)) - keys
            or any(isinstance(each, Exists) for each in expressions)
        ):
            raise NotIncremental("a GROUP BY that needs the values of each solution")
        return pattern

    def _expression(self, expression: _E) -> _E:
        def change(node: object) -> object | None:
            return Exists(self._inside(node.pattern)) if isinstance(node, Exists) else None

        return replaced(expression, change)

    def _bound(self, mentioning: object, pattern: Pattern) -> Pattern:
        """The pattern, joined with the keys if ``mentioning`` has a variable of theirs."""
        if KEY.name in certain(pattern) or not self._names & names_in(mentioning):
            return pattern
        return Join(self._keys, pattern)
