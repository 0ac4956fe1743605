"""Class expressions as parts of clauses, with new names where a clause cannot hold them.

The transformation keeps polarity: a name for an expression on the left of an inclusion contains the
expression, a name for one on the right is contained in it (structural transformation: Plaisted and
Greenbaum 1986; for OWL: Motik, Shearer and Horrocks, JAIR 36, 2009, section 4.1). So the clauses
entail, of names other than the new ones, exactly what the axioms entail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, TypeAlias

from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_DIFFERENT_FROM,
    OWL_HAS_VALUE,
    OWL_INTERSECTION_OF,
    OWL_INVERSE_OF,
    OWL_NOTHING,
    OWL_ON_PROPERTY,
    OWL_ONE_OF,
    OWL_SAME_AS,
    OWL_SOME_VALUES_FROM,
    OWL_THING,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    PREFIX,
    THING,
    Alternative,
    Clause,
    Role,
    member,
)
from sensorstream.sparql.algebra import TriplePattern, Variable

UNION: Final = IRI(f"{OWL}unionOf")
_ALL: Final = IRI(f"{OWL}allValuesFrom")
_SELF: Final = IRI(f"{OWL}hasSelf")
_COUNTS: Final = {
    f"{OWL}minCardinality": (True, False),
    f"{OWL}maxCardinality": (False, True),
    f"{OWL}cardinality": (True, True),
    f"{OWL}minQualifiedCardinality": (True, False),
    f"{OWL}maxQualifiedCardinality": (False, True),
    f"{OWL}qualifiedCardinality": (True, True),
}
"""Whether the number is a lower limit, and whether it is an upper one."""
_DEPTH: Final = 100
_FEW: Final = 4
"""Neighbours that are counted; each is one more premise of a rule."""
_X: Final = Variable("x")


class Untreated(Exception):
    """An axiom has no clauses here; the message says why."""


@dataclass(slots=True)
class _Draft:
    """A clause in the making, over ``x`` and variables that are numbered as they come."""

    body: list[TriplePattern] = field(default_factory=list)
    heads: list[Alternative] = field(default_factory=list)
    certain: bool = False
    """The clause holds by itself: it says nothing."""
    variables: int = 0

    def variable(self) -> Variable:
        self.variables += 1
        return Variable(f"y{self.variables}")


_Turn: TypeAlias = Callable[[_Draft, str, Term, Variable], None]


class Expressions:
    """Turns inclusions between class expressions into clauses, which it collects."""

    __slots__ = ("_above", "_axioms", "_below", "_depth", "_outside", "_values", "clauses")

    def __init__(self, axioms: Axioms) -> None:
        self._axioms = axioms
        self._values = set(axioms.typed(f"{OWL}DatatypeProperty"))
        self._above: dict[Term, IRI] = {}
        self._below: dict[Term, IRI] = {}
        self._outside: dict[Term, IRI] = {}
        self._depth = 0
        self.clauses: list[Clause] = []

    def role(self, term: Term, *, values: bool = False) -> Role:
        """A property or an inverse of one; ``values``: properties of data are fine too."""
        forward = True
        while isinstance(term, BlankNode):
            inner = self._axioms.value(term, OWL_INVERSE_OF)
            if inner is None or inner == term:
                raise Untreated("an unknown property expression")
            forward, term = not forward, inner
        if not isinstance(term, IRI):
            raise Untreated("a property that is a literal")
        if term in self._values and not values:
            raise Untreated(f"values of the datatype property {term.n3}")
        if term.startswith(OWL):
            raise Untreated(f"the property {term.n3}")
        return Role(term, forward)

    def include(self, name: str, lower: Term, upper: Term) -> None:
        """Every member of ``lower`` is one of ``upper``."""
        self._depth += 1
        try:
            if self._depth > _DEPTH:
                raise Untreated("an expression that is nested too deeply")
            for left in self._parts(lower, UNION):
                for right in self._parts(upper, OWL_INTERSECTION_OF):
                    draft = _Draft()
                    self._left(draft, name, left, _X)
                    self._right(draft, name, right, _X)
                    self._finish(draft, name)
        finally:
            self._depth -= 1

    def within(self, name: str, node: Term) -> IRI:
        """The class itself, or a name for an expression that contains no more than it."""
        return node if isinstance(node, IRI) else self._name_below(node, name)

    def around(self, name: str, node: Term) -> IRI:
        """The class itself, or a name for an expression that contains all of it."""
        return node if isinstance(node, IRI) else self._name_above(node, name)

    def _parts(self, node: Term, link: IRI) -> list[Term]:
        parts = self._axioms.value(node, link) if isinstance(node, BlankNode) else None
        return [node] if parts is None else self._axioms.members(parts)

    def _finish(self, draft: _Draft, name: str) -> None:
        if draft.certain:
            return
        if not any(_X in (each.subject, each.object) for each in draft.body):
            draft.body.insert(0, member(_X, THING))
        body = tuple(dict.fromkeys(draft.body))
        self.clauses.append(Clause(name, body, tuple(dict.fromkeys(draft.heads))))

    def _left(self, draft: _Draft, name: str, node: Term, one: Variable) -> None:
        """The condition that ``one`` is in the expression."""
        if node == OWL_THING:
            return
        if node == OWL_NOTHING:
            draft.certain = True
            return
        if isinstance(node, IRI):
            draft.body.append(member(one, node))
            return
        kind, value = self._kind(node)
        if kind == OWL_INTERSECTION_OF:
            for each in self._axioms.members(value):
                self._nested(self._left, draft, name, each, one)
        elif kind in (UNION, OWL_ONE_OF):
            draft.body.append(member(one, self._name_above(node, name)))
        elif kind == OWL_COMPLEMENT_OF:
            self._nested(self._right, draft, name, value, one)
        elif kind == OWL_SOME_VALUES_FROM:
            self._link(draft, name, node, value, one)
        elif kind == OWL_HAS_VALUE:
            draft.body.append(self._role(node).between(one, self._individual(value)))
        elif kind == _SELF:
            draft.body.append(self._role(node).between(one, one))
        elif kind == _ALL:
            role, other = self._role(node), draft.variable()
            triples = [role.between(one, other)]
            if value != OWL_NOTHING:
                triples.append(member(other, self._name_outside(value, name)))
            draft.heads.append(Alternative(tuple(triples), (other,)))
        else:
            number, least, most = self._number(kind, value)
            if least and number:
                self._counted(draft, name, node, one, number)
            if most:
                # The negation of at most n is at least n + 1.
                draft.heads.append(self._at_least(draft, name, node, one, number + 1))

    def _right(self, draft: _Draft, name: str, node: Term, one: Variable) -> None:
        """The conclusion that ``one`` is in the expression, beside the other alternatives."""
        if node == OWL_THING:
            draft.certain = True
            return
        if node == OWL_NOTHING:
            return
        if isinstance(node, IRI):
            draft.heads.append(Alternative((member(one, node),)))
            return
        kind, value = self._kind(node)
        if kind == OWL_INTERSECTION_OF:
            draft.heads.append(Alternative((member(one, self._name_below(node, name)),)))
        elif kind == UNION:
            for each in self._axioms.members(value):
                self._nested(self._right, draft, name, each, one)
        elif kind == OWL_ONE_OF:
            for each in self._axioms.members(value):
                same = TriplePattern(one, OWL_SAME_AS, self._individual(each))
                draft.heads.append(Alternative((same,)))
        elif kind == OWL_COMPLEMENT_OF:
            self._nested(self._left, draft, name, value, one)
        elif kind == OWL_SOME_VALUES_FROM:
            draft.heads.append(self._at_least(draft, name, node, one, 1, value))
        elif kind == OWL_HAS_VALUE:
            triple = self._role(node).between(one, self._individual(value))
            draft.heads.append(Alternative((triple,)))
        elif kind == _SELF:
            draft.heads.append(Alternative((self._role(node).between(one, one),)))
        elif kind == _ALL:
            other = draft.variable()
            draft.body.append(self._role(node).between(one, other))
            self._nested(self._right, draft, name, value, other)
        else:
            number, least, most = self._number(kind, value)
            if least and most and number:
                # Both limits: a name below each.
                draft.heads.append(Alternative((member(one, self._name_below(node, name)),)))
            elif most:
                self._counted(draft, name, node, one, number + 1)
            elif number:
                draft.heads.append(self._at_least(draft, name, node, one, number))
            else:
                draft.certain = True

    def _nested(self, turn: _Turn, draft: _Draft, name: str, node: Term, one: Variable) -> None:
        self._depth += 1
        try:
            if self._depth > _DEPTH:
                raise Untreated("an expression that is nested too deeply")
            turn(draft, name, node, one)
        finally:
            self._depth -= 1

    def _link(self, draft: _Draft, name: str, node: Term, filler: Term, one: Variable) -> Variable:
        other = draft.variable()
        draft.body.append(self._role(node).between(one, other))
        self._nested(self._left, draft, name, filler, other)
        return other

    def _counted(self, draft: _Draft, name: str, node: Term, one: Variable, number: int) -> None:
        """The condition of so many different neighbours: in the other case two are the same."""
        if number > _FEW:
            raise Untreated(f"a limit of {number} neighbours")
        filler = self._filler(node)
        others = [self._link(draft, name, node, filler, one) for _ in range(number)]
        for pair in combinations(others, 2):
            draft.heads.append(Alternative((TriplePattern(pair[0], OWL_SAME_AS, pair[1]),)))

    def _at_least(
        self,
        draft: _Draft,
        name: str,
        node: Term,
        one: Variable,
        number: int,
        filler: Term | None = None,
    ) -> Alternative:
        if number > _FEW:
            raise Untreated(f"at least {number} neighbours")
        role = self._role(node)
        of_class = self.within(name, self._filler(node) if filler is None else filler)
        others = [draft.variable() for _ in range(number)]
        triples = []
        for place, other in enumerate(others):
            triples.append(role.between(one, other))
            if of_class != OWL_THING:
                triples.append(member(other, of_class))
            triples += [TriplePattern(each, OWL_DIFFERENT_FROM, other) for each in others[:place]]
        return Alternative(tuple(triples), tuple(others))

    def _name_above(self, node: Term, name: str) -> IRI:
        """A class of at least the members of an expression."""
        found = self._above.get(node)
        if found is None:
            found = self._above[node] = IRI(f"{PREFIX}above-{len(self._above)}")
            kind, value = self._kind(node)
            if kind == OWL_ONE_OF:
                for each in self._axioms.members(value):
                    head = Alternative((member(self._individual(each), found),))
                    self.clauses.append(Clause(name, (), (head,)))
            else:
                self.include(name, node, found)
        return found

    def _name_below(self, node: Term, name: str) -> IRI:
        """A class of at most the members of an expression."""
        found = self._below.get(node)
        if found is None:
            found = self._below[node] = IRI(f"{PREFIX}below-{len(self._below)}")
            kind, value = self._kind(node)
            if kind in _COUNTS:
                number, _, _ = self._number(kind, value)
                for limit in (self._limit_below, self._limit_above):
                    draft = _Draft([member(_X, found)])
                    limit(draft, name, node, number)
                    self._finish(draft, name)
            else:
                self.include(name, found, node)
        return found

    def _limit_below(self, draft: _Draft, name: str, node: Term, number: int) -> None:
        draft.heads.append(self._at_least(draft, name, node, _X, number))

    def _limit_above(self, draft: _Draft, name: str, node: Term, number: int) -> None:
        self._counted(draft, name, node, _X, number + 1)

    def _name_outside(self, node: Term, name: str) -> IRI:
        """A class without the members of an expression."""
        found = self._outside.get(node)
        if found is None:
            found = self._outside[node] = IRI(f"{PREFIX}outside-{len(self._outside)}")
            draft = _Draft([member(_X, found)])
            self._nested(self._left, draft, name, node, _X)
            self._finish(draft, name)
        return found

    def _role(self, node: Term) -> Role:
        term = self._axioms.value(node, OWL_ON_PROPERTY)
        if term is None:
            raise Untreated("a restriction of several properties")
        return self.role(term)

    def _filler(self, node: Term) -> Term:
        if self._axioms.value(node, f"{OWL}onDataRange") is not None:
            raise Untreated("a number of values")
        return self._axioms.value(node, f"{OWL}onClass") or OWL_THING

    def _kind(self, node: Term) -> tuple[IRI, Term]:
        kinds = (
            OWL_INTERSECTION_OF,
            UNION,
            OWL_COMPLEMENT_OF,
            OWL_ONE_OF,
            OWL_SOME_VALUES_FROM,
            OWL_HAS_VALUE,
            _SELF,
            _ALL,
            *map(IRI, _COUNTS),
        )
        found = [(p, o) for _, p, o in self._axioms.about(node) if p in kinds]
        if len(found) != 1:
            raise Untreated("an unknown class expression")
        return IRI(found[0][0]), found[0][1]

    def _number(self, kind: IRI, value: Term) -> tuple[int, bool, bool]:
        least, most = _COUNTS[kind]
        if not isinstance(value, Literal) or not value.lexical.strip().isdecimal():
            raise Untreated(f"{kind.removeprefix(OWL)} {value.n3}")
        return int(value.lexical), least, most

    def _individual(self, value: Term) -> IRI:
        if not isinstance(value, IRI):
            raise Untreated(f"the value {value.n3}")
        return value
