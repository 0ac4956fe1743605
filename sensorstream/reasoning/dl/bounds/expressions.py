"""Class expressions as parts of clauses, with new names where a clause cannot hold them.

The transformation keeps polarity: a name for an expression on the left of an inclusion contains the
expression, a name for one on the right is contained in it (structural transformation: Plaisted and
Greenbaum 1986; for OWL: Motik, Shearer and Horrocks, JAIR 36, 2009, section 4.1). So the clauses
entail, of names other than the new ones, exactly what the axioms entail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    RDFS,
)
from sensorstream.network.recursion.rule import constant
from sensorstream.reasoning.dl.axioms import COUNTS, Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    DIFFERENT_VALUE,
    OPEN,
    PREFIX,
    THING,
    Alternative,
    Clause,
    Crowd,
    Role,
    Untreated,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import (
    EVERYTHING,
    Listed,
    known_value,
    read_range,
    without,
)
from sensorstream.reasoning.dl.bounds.values import Values
from sensorstream.sparql.algebra import TriplePattern, Variable

UNION: Final = IRI(f"{OWL}unionOf")
ALL: Final = IRI(f"{OWL}allValuesFrom")
SELF: Final = IRI(f"{OWL}hasSelf")
_KINDS: Final = frozenset(
    {
        OWL_INTERSECTION_OF,
        UNION,
        OWL_COMPLEMENT_OF,
        OWL_ONE_OF,
        OWL_SOME_VALUES_FROM,
        OWL_HAS_VALUE,
        SELF,
        ALL,
        *map(IRI, COUNTS),
    }
)


def has_kind(axioms: Axioms, node: Term) -> bool:
    """Whether the node is any expression."""
    return any(p in _KINDS for _, p, _ in axioms.about(node))


def kind_of(axioms: Axioms, node: Term) -> tuple[IRI, Term]:
    """The property that makes the node an expression, and its value.

    Raises:
        Untreated: it has several of them, or none.
    """
    found = [(p, o) for _, p, o in axioms.about(node) if p in _KINDS]
    if len(found) != 1:
        raise Untreated("an unknown class expression")
    return IRI(found[0][0]), found[0][1]


def limits_of(kind: IRI, value: Term) -> tuple[int, bool, bool]:
    """The number of a cardinality, and whether it is a lower limit, and an upper one.

    Raises:
        Untreated: it is no number.
    """
    least, most = COUNTS[kind]
    if not isinstance(value, Literal) or not value.lexical.strip().isdecimal():
        raise Untreated(f"{kind.removeprefix(OWL)} {value.n3}")
    return int(value.lexical), least, most


RDFS_LITERAL: Final = IRI(f"{RDFS}Literal")
_DEPTH: Final = 100
_FEW: Final = 6
"""Neighbours that rules compare; each is one more premise of a rule."""
_X: Final = Variable("x")


@dataclass(slots=True)
class _Draft:
    """A clause in the making, over ``x`` and variables that are numbered as they come."""

    body: list[TriplePattern] = field(default_factory=list)
    heads: list[Alternative] = field(default_factory=list)
    alike: list[tuple[Variable, ...]] = field(default_factory=list)
    certain: bool = False
    """The clause holds by itself: it says nothing."""
    variables: int = 0

    def variable(self) -> Variable:
        self.variables += 1
        return Variable(f"y{self.variables}")


_Turn: TypeAlias = Callable[[_Draft, str, Term, Variable], None]


class Expressions:
    """Turns inclusions between class expressions into clauses, which it collects."""

    __slots__ = (
        *("_above", "_axioms", "_below", "_depth", "_made", "_outside"),
        *("clauses", "crowds", "values"),
    )

    def __init__(self, axioms: Axioms) -> None:
        """Read the datatype properties.

        Raises:
            OntologyError: as :class:`Values`.
        """
        self._axioms = axioms
        self.values = Values(axioms)
        self._above: dict[Term, IRI] = {}
        self._below: dict[Term, IRI] = {}
        self._outside: dict[Term, IRI] = {}
        self._depth = 0
        self._made = 0
        self.clauses: list[Clause] = []
        self.crowds: list[Crowd] = []

    def role(self, term: Term) -> Role:
        """A property or an inverse of one; of a datatype property, its link to values.

        Raises:
            Untreated: it has no clauses here.
        """
        forward = True
        while isinstance(term, BlankNode):
            inner = self._axioms.value(term, OWL_INVERSE_OF)
            if inner == term:
                raise Untreated("an unknown property expression")
            forward, term = (forward, _unknown(term)) if inner is None else (not forward, inner)
        if not isinstance(term, IRI):
            raise Untreated("a property that is a literal")
        if term.startswith(OWL):
            raise Untreated(f"the property {term.n3}")
        if term in self.values.properties:
            return self.values.role(term)
        return Role(term, forward)

    def include(self, name: str, lower: Term, upper: Term) -> None:
        """Every member of ``lower`` is one of ``upper``."""
        with self._deeper():
            for left in self._parts(lower, UNION):
                for right in self._parts(upper, OWL_INTERSECTION_OF):
                    draft = _Draft()
                    self._left(draft, name, left, _X)
                    self._right(draft, name, right, _X)
                    self._finish(draft, name)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        try:
            if self._depth > _DEPTH:
                raise Untreated("an expression that is nested too deeply")
            yield
        finally:
            self._depth -= 1

    def forget(self) -> None:
        """Forget the names of expressions, because not all may be said of the last ones."""
        for names in (self._above, self._below, self._outside):
            names.clear()

    def _new(self, kind: str) -> IRI:
        self._made += 1
        return IRI(f"{PREFIX}{kind}-{self._made}")

    def within(self, name: str, node: Term) -> IRI:
        """The class itself, or a name for an expression that contains no more than it."""
        return self._known(node) or self._name_below(node, name)

    def around(self, name: str, node: Term) -> IRI:
        """The class itself, or a name for an expression that contains all of it."""
        return self._known(node) or self._name_above(node, name)

    def _known(self, node: Term) -> IRI | None:
        """The name of a class, also if the reasoners read an incomplete expression as a name."""
        if isinstance(node, BlankNode):
            return None if has_kind(self._axioms, node) else _unknown(node)
        return node if isinstance(node, IRI) else None

    def _parts(self, node: Term, link: IRI) -> list[Term]:
        parts = self._axioms.value(node, link) if isinstance(node, BlankNode) else None
        return [node] if parts is None else self._axioms.members(parts)

    def _finish(self, draft: _Draft, name: str) -> None:
        if draft.certain:
            return
        if not any(_X in (each.subject, each.object) for each in draft.body):
            draft.body.insert(0, member(_X, THING))
        body = tuple(dict.fromkeys(draft.body))
        heads = tuple(dict.fromkeys(draft.heads))
        self.clauses.append(Clause(name, body, heads, alike=tuple(draft.alike)))

    def _left(self, draft: _Draft, name: str, node: Term, one: Variable) -> None:
        """The condition that ``one`` is in the expression."""
        if node == OWL_THING:
            return
        if node == OWL_NOTHING:
            draft.certain = True
            return
        if (of_class := self._known(node)) is not None:
            draft.body.append(member(one, of_class))
            return
        kind, value = kind_of(self._axioms, node)
        if kind == OWL_INTERSECTION_OF:
            for each in self._axioms.members(value):
                self._nested(self._left, draft, name, each, one)
        elif kind in (UNION, OWL_ONE_OF):
            draft.body.append(member(one, self._name_above(node, name)))
        elif kind == OWL_COMPLEMENT_OF:
            self._nested(self._right, draft, name, value, one)
        elif kind == OWL_SOME_VALUES_FROM:
            self._link(draft, name, node, value, one)
        elif kind == OWL_HAS_VALUE and isinstance(value, Literal):
            role, other = self._role(node), draft.variable()
            listed = Listed((known_value(value),))
            draft.body += [
                role.between(one, other),
                member(other, self.values.within(role, listed)),
            ]
        elif kind == OWL_HAS_VALUE:
            draft.body.append(self._role(node).between(one, self._individual(value)))
        elif kind == SELF:
            draft.body.append(self._role(node).between(one, one))
        elif kind == ALL:
            role, other = self._role(node), draft.variable()
            triples, made = [role.between(one, other)], []
            if role.of_values:
                of_class, mark = self.values.some(role, without(read_range(self._axioms, value)))
                triples.append(member(other, of_class))
                made.append(member(other, mark))
            elif value != OWL_NOTHING:
                triples.append(member(other, self._name_outside(value, name)))
            draft.heads.append(Alternative(tuple(triples), (other,), tuple(made)))
        else:
            number, least, most = limits_of(kind, value)
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
        if (of_class := self._known(node)) is not None:
            draft.heads.append(Alternative((member(one, of_class),)))
            return
        kind, value = kind_of(self._axioms, node)
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
            self._some(draft, name, node, one, value)
        elif kind == OWL_HAS_VALUE:
            role = self._role(node)
            draft.heads.append(Alternative((role.between(one, self._value(role, value)),)))
        elif kind == SELF:
            draft.heads.append(Alternative((self._role(node).between(one, one),)))
        elif kind == ALL:
            role, other = self._role(node), draft.variable()
            draft.body.append(role.between(one, other))
            if role.of_values:
                outside = without(read_range(self._axioms, value))
                draft.body.append(member(other, self.values.within(role, outside)))
            else:
                self._nested(self._right, draft, name, value, other)
        else:
            number, least, most = limits_of(kind, value)
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
        with self._deeper():
            turn(draft, name, node, one)

    def _some(self, draft: _Draft, name: str, node: Term, one: Variable, filler: Term) -> None:
        role = self._role(node)
        values = self._axioms.value(filler, OWL_ONE_OF) if role.of_values else None
        if values is None:
            draft.heads.append(self._at_least(draft, name, node, one, 1, filler))
        else:
            for each in self._axioms.members(values):
                triple = role.between(one, self._value(role, each))
                draft.heads.append(Alternative((triple,)))

    def _link(self, draft: _Draft, name: str, node: Term, filler: Term, one: Variable) -> Variable:
        role, other = self._role(node), draft.variable()
        draft.body.append(role.between(one, other))
        if not role.of_values:
            self._nested(self._left, draft, name, filler, other)
        elif (asked := read_range(self._axioms, filler)) != EVERYTHING:
            draft.body.append(member(other, self.values.within(role, asked)))
        return other

    def _counted(self, draft: _Draft, name: str, node: Term, one: Variable, number: int) -> None:
        """The condition of so many different neighbours: in the other case two are the same."""
        if number > _FEW:
            self._crowded(draft, name, node, one, number)
            return
        filler, of_values = self._filler(node), self._role(node).of_values
        others = [self._link(draft, name, node, filler, one) for _ in range(number)]
        if number > 1 and not of_values:
            draft.alike.append(tuple(others))
        for pair in combinations(others, 2):
            same = TriplePattern(pair[0], OWL_SAME_AS, pair[1])
            draft.heads.append(Alternative((self.values.same(*pair) if of_values else same,)))

    def _crowded(self, draft: _Draft, name: str, node: Term, one: Variable, number: int) -> None:
        """The same of more than rules compare: who has so many is left to the reasoner."""
        pair = _Draft()
        other = self._link(pair, name, node, self._filler(node), _X)
        if pair.certain:
            draft.certain = True
            return
        link, kind = self._new("neighbour"), self._new("crowd")
        pair.heads.append(Alternative((TriplePattern(_X, link, other),)))
        self._finish(pair, name)
        self.crowds.append(Crowd(link, number, kind, self.clauses.pop()))
        draft.body.append(member(one, kind))
        draft.heads.append(Alternative((member(one, OPEN),)))

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
        filler = self._filler(node) if filler is None else filler
        of_class, mark = OWL_THING, OWL_THING
        if role.of_values:
            of_class, mark = self.values.some(role, read_range(self._axioms, filler))
        else:
            of_class = self.within(name, filler)
        different = DIFFERENT_VALUE if role.of_values else OWL_DIFFERENT_FROM
        others = [draft.variable() for _ in range(number)]
        triples = []
        for place, other in enumerate(others):
            triples.append(role.between(one, other))
            if of_class != OWL_THING:
                triples.append(member(other, of_class))
            triples += [TriplePattern(each, different, other) for each in others[:place]]
        made = [member(other, mark) for other in others if role.of_values]
        return Alternative(tuple(triples), tuple(others), tuple(made))

    def _name_above(self, node: Term, name: str) -> IRI:
        """A class of at least the members of an expression."""
        found = self._above.get(node)
        if found is None:
            found = self._above[node] = self._new("above")
            kind, value = kind_of(self._axioms, node)
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
            found = self._below[node] = self._new("below")
            kind, value = kind_of(self._axioms, node)
            if kind in COUNTS:
                number, least, most = limits_of(kind, value)
                if least and number:
                    draft = _Draft([member(_X, found)])
                    draft.heads.append(self._at_least(draft, name, node, _X, number))
                    self._finish(draft, name)
                if most:
                    draft = _Draft([member(_X, found)])
                    self._counted(draft, name, node, _X, number + 1)
                    self._finish(draft, name)
            else:
                self.include(name, found, node)
        return found

    def _name_outside(self, node: Term, name: str) -> IRI:
        """A class without the members of an expression."""
        found = self._outside.get(node)
        if found is None:
            found = self._outside[node] = self._new("outside")
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
        if self._role(node).of_values:
            return self._axioms.value(node, f"{OWL}onDataRange") or RDFS_LITERAL
        return self._axioms.value(node, f"{OWL}onClass") or OWL_THING

    def _value(self, role: Role, value: Term) -> IRI:
        """The name of a value, or an individual."""
        if role.of_values and isinstance(value, Literal):
            return self.values.known(role, value)
        return self._individual(value)

    def _individual(self, value: Term) -> IRI:
        found = constant(value)
        if not isinstance(found, IRI):
            raise Untreated(f"the value {value.n3}")
        return found


def _unknown(node: BlankNode) -> IRI:
    """HermiT and Pellet read an expression without content as a name that nothing else has."""
    return IRI(f"{PREFIX}unknown-{node}")
