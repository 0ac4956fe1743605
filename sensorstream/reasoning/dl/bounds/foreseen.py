"""What follows for an individual because somebody else must exist, worked out beforehand.

The lower bound makes no unnamed individuals. But what certain clauses conclude about someone from
the neighbour that a clause says exists follows from the body of that clause alone. So it is
concluded from the body: ``A ⊑ ∃r.B`` and ``∃r.B ⊑ C`` give ``A ⊑ C``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.bounds.clauses import (
    PREFIX,
    SAME_VALUE,
    THING,
    Clause,
    implies,
    member,
)
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable

_Ground: TypeAlias = IRI | Literal
Fact: TypeAlias = tuple[_Ground, IRI, _Ground]
Row: TypeAlias = dict[Variable, _Ground]
_Key: TypeAlias = tuple[object, object]
_ROUNDS: Final = 5
"""How often what was found may lead to more."""


def foreseen(clauses: Iterable[Clause]) -> list[Clause]:
    """The classes of individuals that follow from clauses whose neighbours only exist."""
    clauses = tuple(clauses)
    certain = Certain(clauses)
    existing = [
        each
        for each in clauses
        if each.body and len(each.heads) == 1 and each.heads[0].unnamed and not each.apart
    ]
    found: dict[Clause, None] = {}
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


def _concluded(certain: Certain, clause: Clause) -> Iterator[Clause]:
    (head,) = clause.heads
    names: Row = {}
    body = [ground(triple, names) for triple in clause.body]
    more = [ground(triple, names) for triple in head.triples]
    without = certain.closure(body)
    for s, p, o in sorted(certain.closure([*body, *more]) - without, key=str):
        if p == RDF_TYPE and isinstance(o, IRI) and o != THING:
            for variable, name in names.items():
                if name == s and variable not in head.unnamed:
                    yield implies(clause.name, clause.body, member(variable, o))


def ground(triple: TriplePattern, names: Row) -> Fact:
    """The triple with a name for each variable."""

    def named(end: PatternTerm) -> _Ground:
        if isinstance(end, Variable):
            return names.setdefault(end, IRI(f"{PREFIX}someone-{len(names)}"))
        assert not isinstance(end, BlankNode)
        return end

    assert isinstance(triple.predicate, IRI)
    return named(triple.subject), triple.predicate, named(triple.object)


class Certain:
    """The clauses with one conclusion and nobody unnamed, found by what they need."""

    def __init__(self, clauses: Iterable[Clause]) -> None:
        self._found: dict[_Key, list[tuple[Clause, int]]] = {}
        for clause in clauses:
            if len(clause.heads) == 1 and not clause.heads[0].unnamed and not clause.apart:
                self.add(clause)

    def add(self, clause: Clause) -> None:
        """Use one more clause; equality is left to the rules."""
        if clause.heads[0].triples[0].predicate in (OWL_SAME_AS, SAME_VALUE):
            return
        for place, triple in enumerate(clause.body):
            self._found.setdefault(_key(triple.predicate, triple.object), []).append(
                (clause, place)
            )

    def closure(self, facts: list[Fact]) -> set[Fact]:
        """The facts with all that the clauses conclude from them."""
        known = dict.fromkeys(facts)
        ahead = list(known)
        while ahead:
            fact = ahead.pop()
            for clause, place in self._found.get(_key(fact[1], fact[2]), ()):
                first = _match(clause.body[place], fact, {})
                rest = [*clause.body[:place], *clause.body[place + 1 :]]
                if first is None:
                    continue
                for row in list(_rows(rest, known, first)):
                    for triple in clause.heads[0].triples:
                        made = _filled(triple, row)
                        if made is not None and made not in known:
                            known[made] = None
                            ahead.append(made)
        return set(known)


def _key(predicate: object, end: object) -> _Key:
    """What a triple is found by: its property, and its class if that is rdf:type."""
    return predicate, end if predicate == RDF_TYPE else None


def _rows(body: list[TriplePattern], known: Iterable[Fact], row: Row) -> Iterator[Row]:
    if not body:
        yield row
        return
    for fact in tuple(known):
        extended = _match(body[0], fact, row)
        if extended is not None:
            yield from _rows(body[1:], known, extended)


def _match(triple: TriplePattern, fact: Fact, row: Row) -> Row | None:
    if triple.predicate != fact[1]:
        return None
    extended = dict(row)
    for end, name in ((triple.subject, fact[0]), (triple.object, fact[2])):
        if isinstance(end, Variable):
            if extended.setdefault(end, name) != name:
                return None
        elif end != name:
            return None
    return extended


def _filled(triple: TriplePattern, row: Row) -> Fact | None:
    """The conclusion; None: it would be about a literal."""
    ends = [
        row[end] if isinstance(end, Variable) else end for end in (triple.subject, triple.object)
    ]
    one, other = ends
    assert isinstance(triple.predicate, IRI)
    if isinstance(one, Literal | BlankNode) or isinstance(other, BlankNode):
        return None
    return one, triple.predicate, other
