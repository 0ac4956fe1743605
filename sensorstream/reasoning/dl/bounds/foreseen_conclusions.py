"""Conclusions of certain clauses, worked out beforehand, and their consequences for others.

*Foreseen* conclusions follow for an individual because somebody else must exist. The lower bound
makes no unnamed individuals. But the conclusions of certain clauses about someone from the
neighbour that a clause says exists follow from the body of that clause alone. So they are concluded
from the body: ``A ⊑ ∃r.B`` and ``∃r.B ⊑ C`` give ``A ⊑ C``.

*Enumerated* neighbours are one of a few named individuals. ``A ⊑ ∃r.C`` with ``C ⊑ {a, b}`` says
that ``r(x, a)`` or ``r(x, b)``. So the upper bound needs no name for a neighbour, which would be a
and b, and would make them the same.

*Made* names are those of individuals that only exist. Such a name says for which alternative it was
made, which of its individuals it is, and, after a colon, for whom. Two are *apart* if the same
alternative asks for both for the same individual, or if their alternatives make them members of
disjoint classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.recursion.triple_kinds import KindIndex, TriplesRead, written
from sensorstream.reasoning.dl.bounds.clauses import (
    PREFIX,
    SAME_VALUE,
    THING,
    BoundClause,
    ClauseHead,
    implies,
    member,
    renamed,
)
from sensorstream.reasoning.rulesets.pattern_solutions import bound, filled_triple, solutions
from sensorstream.sparql.algebra import Call, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.walk import triple_variables

Row: TypeAlias = dict[Variable, IRI]
_ROUNDS: Final = 5
"""The rounds in which results may lead to more."""


def foreseen(clauses: Iterable[BoundClause]) -> list[BoundClause]:
    """The classes of individuals that follow from clauses whose neighbours only exist."""
    clauses = tuple(clauses)
    certain = Certain(clauses)
    existing = [
        each
        for each in clauses
        if each.body and len(each.heads) == 1 and each.heads[0].unnamed and not each.apart
    ]
    found: dict[BoundClause, None] = {}
    for _ in range(_ROUNDS):
        fresh = [
            made for clause in existing for made in _concluded(certain, clause) if made not in found
        ]
        if not fresh:
            break
        for made in fresh:
            found[made] = None
            certain.add(made)
    return list(found)


def _concluded(certain: Certain, clause: BoundClause) -> Iterator[BoundClause]:
    (head,) = clause.heads
    names: Row = {}
    body = [ground(triple, names) for triple in clause.body]
    more = [ground(triple, names) for triple in head.triples]
    without = certain.closure(body)
    for s, p, o in sorted(certain.closure([*body, *more]) - without, key=str):
        if p == rdf.TYPE and isinstance(o, IRI) and o != THING:
            for variable, name in names.items():
                if name == s and variable not in head.unnamed:
                    yield implies(clause.name, clause.body, member(variable, o))


def ground(triple: TriplePattern, names: Row) -> Triple:
    """The triple with a name for each variable."""
    for each in triple_variables(triple):
        names.setdefault(each, IRI(f"{PREFIX}someone-{len(names)}"))
    return filled_triple(triple, {each.name: name for each, name in names.items()})


class Certain:
    """The clauses with one conclusion and nobody unnamed, found by the triples they need."""

    def __init__(self, clauses: Iterable[BoundClause]) -> None:
        self._found: KindIndex[tuple[BoundClause, TriplePattern]] = KindIndex()
        for clause in clauses:
            if len(clause.heads) == 1 and not clause.heads[0].unnamed and not clause.apart:
                self.add(clause)

    def add(self, clause: BoundClause) -> None:
        """Use one more clause; equality is left to the rules."""
        if clause.heads[0].triples[0].predicate not in (owl.SAME_AS, SAME_VALUE):
            for triple in clause.body:
                self._found.add(written(triple), (clause, triple))

    def closure(self, facts: list[Triple]) -> set[Triple]:
        """The facts with all conclusions of the clauses from them."""
        index = TripleIndex()
        ahead = index.add(*facts)
        while ahead:
            fact = ahead.pop()
            for clause, first in self._found.meeting(TriplesRead(fact[1], fact[2])):
                given = bound((first.subject, first.predicate, first.object), fact)
                rest = [each for each in clause.body if each is not first]
                for row in [] if given is None else list(solutions(rest, index, given)):
                    for triple in clause.heads[0].triples:
                        made = filled_triple(triple, row)
                        if not isinstance(made[0], Literal):
                            ahead += index.add(made)
        return set(index)


@frozen
class Enumerations:
    """The classes that have no other members than the listed ones."""

    members: Mapping[IRI, tuple[IRI, ...]]
    certain: Certain

    def unfold(self, clause: BoundClause) -> BoundClause:
        """The clause with an alternative for each individual that an unnamed one may be."""
        if not any(len(head.unnamed) == 1 for head in clause.heads):
            return clause
        heads = [each for head in clause.heads for each in self._unfolded(head)]
        return replace(clause, heads=tuple(dict.fromkeys(heads)))

    def _unfolded(self, head: ClauseHead) -> Iterable[ClauseHead]:
        listed = self._listed(head) if len(head.unnamed) == 1 and self.members else None
        if listed is None:
            return [head]
        (unnamed,) = head.unnamed
        return [
            ClauseHead(tuple(renamed(t, {unnamed: name}) for t in head.triples)) for name in listed
        ]

    def _listed(self, head: ClauseHead) -> tuple[IRI, ...] | None:
        """The individuals that the unnamed one of an alternative may be; the fewest known."""
        names: Row = {}
        facts = [ground(triple, names) for triple in head.triples]
        one = names[head.unnamed[0]]
        found = [
            self.members[o]
            for s, p, o in self.certain.closure(facts)
            if s == one and p == rdf.TYPE and isinstance(o, IRI) and o in self.members
        ]
        return min(found, key=lambda each: (len(each), each), default=None)


def enumerations(clauses: Iterable[BoundClause]) -> Enumerations:
    """The enumerations in some clauses."""
    clauses = tuple(clauses)
    members: dict[IRI, tuple[IRI, ...]] = {}
    for clause in clauses:
        if len(clause.body) != 1 or clause.body[0].predicate != rdf.TYPE or not clause.heads:
            continue
        one, of_class = clause.body[0].subject, clause.body[0].object
        names = [_name(head, one) for head in clause.heads]
        if isinstance(of_class, IRI) and None not in names:
            found = tuple(name for name in names if name is not None)
            if of_class not in members or len(found) < len(members[of_class]):
                members[of_class] = found
    return Enumerations(members, Certain(clauses))


def _name(head: ClauseHead, one: PatternTerm) -> IRI | None:
    """The individual that an alternative makes equal to this one."""
    (triple, *more) = head.triples
    if more or triple.predicate != owl.SAME_AS or triple.subject != one:
        return None
    return triple.object if isinstance(triple.object, IRI) else None


APART: Final = f"{PREFIX}apart"
"""The condition that two names are apart; its last argument is a table of alternatives."""
OWN: Final = f"{PREFIX}some-"
_SAID_OF: Final = Variable("x")


class MadeNames:
    """The names that the alternatives of clauses need."""

    def __init__(self, clauses: Iterable[BoundClause], certain: Certain) -> None:
        self._numbers: dict[tuple[TriplePattern, ...], int] = {}
        disjoint: set[tuple[IRI, IRI]] = set()
        for clause in clauses:
            for head in clause.heads:
                if head.unnamed:
                    self._numbers.setdefault(_shape(head), len(self._numbers))
            disjoint.update(_disjoint(clause))
        self._table = Literal(" ".join(_pairs(self._numbers, certain, disjoint)))

    def constants(self, head: ClauseHead) -> dict[Variable, str]:
        """The names of the individuals of an alternative, without the end that says for whom."""
        number = self._numbers[_shape(head)]
        return {each: f"{OWN}{number}-u{place}" for place, each in enumerate(head.unnamed)}

    def apart(self, one: Variable, other: Variable) -> Call:
        """The condition that two names are apart."""
        return Call(APART, (one, other, self._table))


def apart(table: str) -> Callable[[str, str], bool]:
    """Whether two names are apart, by the table of :meth:`MadeNames.apart`."""
    pairs = frozenset(table.split())

    def are_apart(one: str, other: str) -> bool:
        if not (one.startswith(OWN) and other.startswith(OWN)):
            return False
        kind, _, owner = one.removeprefix(OWN).partition(":")
        other_kind, _, other_owner = other.removeprefix(OWN).partition(":")
        if kind == other_kind:
            return False
        if owner and owner == other_owner and _number(kind) == _number(other_kind):
            return True
        return f"{kind}|{other_kind}" in pairs

    return are_apart


def _number(kind: str) -> str:
    return kind.partition("-")[0]


def _shape(head: ClauseHead) -> tuple[TriplePattern, ...]:
    """The triples about the unnamed individuals, whoever they are linked to."""
    places = {each: Variable(f"u{place}") for place, each in enumerate(head.unnamed)}
    for each in (each for triple in head.triples for each in triple_variables(triple)):
        places.setdefault(each, _SAID_OF)
    return tuple(renamed(triple, places) for triple in head.triples)


def _disjoint(clause: BoundClause) -> set[tuple[IRI, IRI]]:
    """The two classes, in both orders, that have no common member."""
    kinds = [each.object for each in clause.body if each.predicate == rdf.TYPE]
    ones = {each.subject for each in clause.body}
    if clause.heads or len(kinds) != 2 or len(clause.body) != 2 or len(ones) != 1:
        return set()
    one, other = kinds
    if not (isinstance(one, IRI) and isinstance(other, IRI)):
        return set()
    return {(one, other), (other, one)}


def _pairs(
    numbers: dict[tuple[TriplePattern, ...], int],
    certain: Certain,
    disjoint: set[tuple[IRI, IRI]],
) -> Iterable[str]:
    """The pairs of kinds that are members of disjoint classes."""
    classes: dict[str, set[IRI]] = {}
    for shape, number in numbers.items():
        names: Row = {}
        known = certain.closure([ground(triple, names) for triple in shape])
        for variable, name in names.items():
            if variable != _SAID_OF:
                found = {o for s, p, o in known if s == name and p == rdf.TYPE}
                classes[f"{number}-{variable.name}"] = {o for o in found if isinstance(o, IRI)}
    against: dict[IRI, set[IRI]] = {}
    for one, other in disjoint:
        against.setdefault(one, set()).add(other)
    for kind, own in classes.items():
        excluded = {other for each in own for other in against.get(each, ())}
        for other_kind, others in classes.items():
            if excluded & others:
                yield f"{kind}|{other_kind}"
