"""Class expressions as parts of clauses, with new names where a clause cannot hold them.

The transformation keeps polarity: a name for an expression on the left of an inclusion contains the
expression, a name for one on the right is contained in it (structural transformation: Plaisted and
Greenbaum 1986; for OWL: Motik, Shearer and Horrocks, JAIR 36, 2009, section 4.1). So the clauses
entail, of names other than the new ones, exactly what the axioms entail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from sensorstream.model import owl
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.vocabulary import OWL, RDFS
from sensorstream.network.recursion.derivation_rule import constant
from sensorstream.reasoning.dl.axioms import COUNTS, Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    DIFFERENT_VALUE,
    OPEN,
    PREFIX,
    THING,
    BoundClause,
    ClauseHead,
    Crowd,
    PropertyRole,
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
from sensorstream.reasoning.dl.bounds.value_names import ValueNames
from sensorstream.sparql.algebra import TriplePattern, Variable

UNION: Final = IRI(f"{OWL}unionOf")
ALL: Final = IRI(f"{OWL}allValuesFrom")
SELF: Final = IRI(f"{OWL}hasSelf")
_KINDS: Final = frozenset(
    {
        owl.INTERSECTION_OF,
        UNION,
        owl.COMPLEMENT_OF,
        owl.ONE_OF,
        owl.SOME_VALUES_FROM,
        owl.HAS_VALUE,
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
ABOVE: Final = "above"
BELOW: Final = "below"
OUTSIDE: Final = "outside"
_DEPTH: Final = 100
_FEW: Final = 6
"""Neighbours that rules compare; each is one more premise of a rule."""
_X: Final = Variable("x")


@dataclass(slots=True)
class _Draft:
    """A clause in the making, over ``x`` and variables that are numbered as they appear."""

    name: str
    body: list[TriplePattern] = field(default_factory=list)
    heads: list[ClauseHead] = field(default_factory=list)
    alike: list[tuple[Variable, ...]] = field(default_factory=list)
    certain: bool = False
    """The clause holds by itself: it says nothing."""
    variables: int = 0

    def variable(self) -> Variable:
        self.variables += 1
        return Variable(f"y{self.variables}")

    def add(self, triple: TriplePattern, positive: bool) -> None:
        """Add a conclusion beside the other alternatives (``positive``), or a condition."""
        if positive:
            self.heads.append(ClauseHead((triple,)))
        else:
            self.body.append(triple)


class ClauseExpressions:
    """A translator of inclusions between class expressions into clauses, which it collects."""

    __slots__ = ("_axioms", "_depth", "_made", "_names", "clauses", "crowds", "values")

    def __init__(self, axioms: Axioms) -> None:
        """Read the datatype properties.

        Raises:
            OntologyError: as :class:`ValueNames`.
        """
        self._axioms = axioms
        self.values = ValueNames(axioms)
        self._names: dict[tuple[str, Term], IRI] = {}
        self._depth = 0
        self._made = 0
        self.clauses: list[BoundClause] = []
        self.crowds: list[Crowd] = []

    def role(self, term: Term) -> PropertyRole:
        """A property or an inverse of one; for a datatype property, its link to values.

        Raises:
            Untreated: it has no clauses here.
        """
        forward = True
        while isinstance(term, BlankNode):
            inner = self._axioms.value(term, owl.INVERSE_OF)
            if inner == term:
                raise Untreated("an unknown property expression")
            forward, term = (forward, _unknown(term)) if inner is None else (not forward, inner)
        if not isinstance(term, IRI):
            raise Untreated("a property that is a literal")
        if term.startswith(OWL):
            raise Untreated(f"the property {term.n3}")
        if term in self.values.properties:
            return self.values.role(term)
        return PropertyRole(term, forward)

    def include(self, name: str, lower: Term, upper: Term) -> None:
        """Make every member of ``lower`` one of ``upper``."""
        for left in self._parts(lower, UNION):
            for right in self._parts(upper, owl.INTERSECTION_OF):
                draft = _Draft(name)
                self._say(draft, left, _X, positive=False)
                self._say(draft, right, _X, positive=True)
                self._finish(draft)

    def forget(self) -> None:
        """Forget the names of expressions, because the last ones may not have all their clauses."""
        self._names.clear()
        self._depth = 0

    def _new(self, kind: str) -> IRI:
        self._made += 1
        return IRI(f"{PREFIX}{kind}-{self._made}")

    def within(self, name: str, node: Term) -> IRI:
        """The class itself, or a name for an expression that contains no more than it."""
        return self._known(node) or self._name(BELOW, node, name)

    def around(self, name: str, node: Term) -> IRI:
        """The class itself, or a name for an expression that contains all of it."""
        return self._known(node) or self._name(ABOVE, node, name)

    def _known(self, node: Term) -> IRI | None:
        """The name of a class, also if the reasoners read an incomplete expression as a name."""
        if isinstance(node, BlankNode):
            return None if has_kind(self._axioms, node) else _unknown(node)
        return node if isinstance(node, IRI) else None

    def _parts(self, node: Term, link: IRI) -> list[Term]:
        parts = self._axioms.value(node, link) if isinstance(node, BlankNode) else None
        return [node] if parts is None else self._axioms.members(parts)

    def _finish(self, draft: _Draft) -> None:
        if draft.certain:
            return
        if not any(_X in (each.subject, each.object) for each in draft.body):
            draft.body.insert(0, member(_X, THING))
        body = tuple(dict.fromkeys(draft.body))
        heads = tuple(dict.fromkeys(draft.heads))
        self.clauses.append(BoundClause(draft.name, body, heads, alike=tuple(draft.alike)))

    def _say(self, draft: _Draft, node: Term, one: Variable, *, positive: bool) -> None:
        """Add that ``one`` is in the expression, as a conclusion (``positive``) or a condition. A
        condition is a denied conclusion: a union there is like an intersection here, and so are
        "some" and "all", "at least" and "at most".
        """
        self._depth += 1
        if self._depth > _DEPTH:
            raise Untreated("an expression that is nested too deeply")
        if node in (owl.THING, owl.NOTHING):
            draft.certain |= (node == owl.THING) is positive
        elif (of_class := self._known(node)) is not None:
            draft.add(member(one, of_class), positive)
        else:
            self._say_kind(draft, node, one, positive)
        self._depth -= 1

    def _say_kind(self, draft: _Draft, node: Term, one: Variable, positive: bool) -> None:
        kind, value = kind_of(self._axioms, node)
        if kind == (UNION if positive else owl.INTERSECTION_OF):
            for each in self._axioms.members(value):
                self._say(draft, each, one, positive=positive)
        elif kind in (UNION, owl.INTERSECTION_OF) or (kind == owl.ONE_OF and not positive):
            named = self._name(BELOW if positive else ABOVE, node, draft.name)
            draft.add(member(one, named), positive)
        elif kind == owl.ONE_OF:
            for each in self._axioms.members(value):
                draft.add(TriplePattern(one, owl.SAME_AS, self._individual(each)), positive)
        elif kind == owl.COMPLEMENT_OF:
            self._say(draft, value, one, positive=not positive)
        elif kind in (owl.SOME_VALUES_FROM, ALL):
            if (kind == ALL) is positive:
                self._link(draft, node, value, one, positive=positive)
            else:
                self._some(draft, node, one, value, positive=positive)
        elif kind == owl.HAS_VALUE and isinstance(value, Literal) and not positive:
            role, other = self._role(node), draft.variable()
            listed = self.values.within(role, Listed((known_value(value),)))
            draft.body += [role.between(one, other), member(other, listed)]
        elif kind == owl.HAS_VALUE:
            role = self._role(node)
            draft.add(role.between(one, self._value(role, value)), positive)
        elif kind == SELF:
            draft.add(self._role(node).between(one, one), positive)
        else:
            self._limit(draft, node, one, limits_of(kind, value), positive)

    def _some(
        self, draft: _Draft, node: Term, one: Variable, filler: Term, *, positive: bool
    ) -> None:
        """Add a link to an individual or value in the filler, or outside it if not ``positive``."""
        role = self._role(node)
        values = self._axioms.value(filler, owl.ONE_OF) if role.of_values and positive else None
        if values is None:
            self._at_least(draft, node, one, 1, filler, positive=positive)
            return
        for each in self._axioms.members(values):
            draft.add(role.between(one, self._value(role, each)), positive)

    def _link(
        self, draft: _Draft, node: Term, filler: Term, one: Variable, *, positive: bool = False
    ) -> Variable:
        """Add the condition that an individual is linked, with the conditions on that neighbour."""
        role, other = self._role(node), draft.variable()
        draft.body.append(role.between(one, other))
        if not role.of_values:
            self._say(draft, filler, other, positive=positive)
            return other
        asked = read_range(self._axioms, filler)
        if positive:
            asked = without(asked)
        if asked != EVERYTHING:
            draft.body.append(member(other, self.values.within(role, asked)))
        return other

    def _limit(
        self,
        draft: _Draft,
        node: Term,
        one: Variable,
        limits: tuple[int, bool, bool],
        positive: bool,
    ) -> None:
        number, least, most = limits
        least = least and number > 0
        if positive and least and most:
            # With both limits there is a name below each.
            draft.add(member(one, self._name(BELOW, node, draft.name)), positive)
            return
        # The negation of at most n is at least n + 1.
        for said, at_least, count in ((least, positive, number), (most, not positive, number + 1)):
            if said:
                (self._at_least if at_least else self._counted)(draft, node, one, count)
        draft.certain |= positive and not least and not most

    def _counted(self, draft: _Draft, node: Term, one: Variable, number: int) -> None:
        """Add the condition of so many different neighbours; otherwise two are the same."""
        if number > _FEW:
            self._crowded(draft, node, one, number)
            return
        filler, of_values = self._filler(node), self._role(node).of_values
        others = [self._link(draft, node, filler, one) for _ in range(number)]
        if number > 1 and not of_values:
            draft.alike.append(tuple(others))
        for pair in combinations(others, 2):
            same = TriplePattern(pair[0], owl.SAME_AS, pair[1])
            draft.heads.append(ClauseHead((self.values.same(*pair) if of_values else same,)))

    def _crowded(self, draft: _Draft, node: Term, one: Variable, number: int) -> None:
        """Add the same for more neighbours than rules compare; the reasoner decides about them."""
        pair = _Draft(draft.name)
        other = self._link(pair, node, self._filler(node), _X)
        if pair.certain:
            draft.certain = True
            return
        link, kind = self._new("neighbour"), self._new("crowd")
        pair.heads.append(ClauseHead((TriplePattern(_X, link, other),)))
        self._finish(pair)
        self.crowds.append(Crowd(link, number, kind, self.clauses.pop()))
        draft.body.append(member(one, kind))
        draft.heads.append(ClauseHead((member(one, OPEN),)))

    def _at_least(
        self,
        draft: _Draft,
        node: Term,
        one: Variable,
        number: int,
        filler: Term | None = None,
        *,
        positive: bool = True,
    ) -> None:
        """Add the conclusion of so many in the filler, or outside of it if not ``positive``."""
        if number > _FEW:
            raise Untreated(f"at least {number} neighbours")
        role = self._role(node)
        filler = self._filler(node) if filler is None else filler
        of_class, mark = owl.THING, owl.THING
        if role.of_values:
            asked = read_range(self._axioms, filler)
            of_class, mark = self.values.some(role, asked if positive else without(asked))
        elif positive:
            of_class = self.within(draft.name, filler)
        elif filler != owl.NOTHING:
            of_class = self._name(OUTSIDE, filler, draft.name)
        different = DIFFERENT_VALUE if role.of_values else owl.DIFFERENT_FROM
        others = [draft.variable() for _ in range(number)]
        triples = []
        for place, other in enumerate(others):
            triples.append(role.between(one, other))
            if of_class != owl.THING:
                triples.append(member(other, of_class))
            triples += [TriplePattern(each, different, other) for each in others[:place]]
        made = [member(other, mark) for other in others if role.of_values]
        draft.heads.append(ClauseHead(tuple(triples), tuple(others), tuple(made)))

    def _name(self, word: str, node: Term, name: str) -> IRI:
        """A class with at least the members of an expression, with at most them, or with none."""
        found = self._names.get((word, node))
        if found is None:
            found = self._names[word, node] = self._new(word)
            self._define(found, word, node, name)
        return found

    def _define(self, found: IRI, word: str, node: Term, name: str) -> None:
        if word == OUTSIDE:
            draft = _Draft(name, [member(_X, found)])
            self._say(draft, node, _X, positive=False)
            self._finish(draft)
            return
        kind, value = kind_of(self._axioms, node)
        if word == ABOVE and kind == owl.ONE_OF:
            for each in self._axioms.members(value):
                head = ClauseHead((member(self._individual(each), found),))
                self.clauses.append(BoundClause(name, (), (head,)))
        elif word == ABOVE:
            self.include(name, node, found)
        elif kind in COUNTS:
            number, least, most = limits_of(kind, value)
            for limit in ((number, least, False), (number, False, most)):
                draft = _Draft(name, [member(_X, found)])
                self._limit(draft, node, _X, limit, positive=True)
                self._finish(draft)
        else:
            self.include(name, found, node)

    def _role(self, node: Term) -> PropertyRole:
        term = self._axioms.value(node, owl.ON_PROPERTY)
        if term is None:
            raise Untreated("a restriction of several properties")
        return self.role(term)

    def _filler(self, node: Term) -> Term:
        if self._role(node).of_values:
            return self._axioms.value(node, f"{OWL}onDataRange") or RDFS_LITERAL
        return self._axioms.value(node, f"{OWL}onClass") or owl.THING

    def _value(self, role: PropertyRole, value: Term) -> IRI:
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
    """A name that nothing else has: so HermiT and Pellet read an expression without content."""
    return IRI(f"{PREFIX}unknown-{node}")
