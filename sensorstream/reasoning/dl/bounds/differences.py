"""Many individuals that are all different, without a triple for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final
from urllib.parse import quote

from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import OWL_DIFFERENT_FROM, OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.bounds.clauses import VALUES, Alternative, Clause, implies
from sensorstream.sparql.algebra import TriplePattern, Variable

_NUMBER: Final = f"{VALUES}number:"
_FEW: Final = 3
_X, _Y = Variable("x"), Variable("y")
_ONE, _OTHER = Variable("one"), Variable("other")


def all_different(name: str, members: Sequence[IRI | Literal]) -> Iterator[Clause]:
    """Clauses for individuals of which no two are the same: each has a number in the list."""
    members = list(dict.fromkeys(members))
    if len(members) <= _FEW:
        for place, one in enumerate(members):
            for other in members[:place]:
                yield implies(name, (), TriplePattern(other, OWL_DIFFERENT_FROM, one))
        return
    number = IRI(f"{_NUMBER}{quote(name, safe='')}")
    for place, one in enumerate(members):
        yield implies(name, (), TriplePattern(one, number, Literal(str(place))))
    apart = ((_ONE, _OTHER),)
    both = TriplePattern(_X, number, _ONE), TriplePattern(_X, number, _OTHER)
    yield Clause(name, both, (), apart)
    each = TriplePattern(_X, number, _ONE), TriplePattern(_Y, number, _OTHER)
    differ = Alternative((TriplePattern(_X, OWL_DIFFERENT_FROM, _Y),))
    yield Clause(name, each, (differ,), apart)


def is_of_pairs(clause: Clause) -> bool:
    """Whether the clause derives a triple for each pair of different individuals."""
    return bool(clause.heads) and any(
        isinstance(each.predicate, IRI) and each.predicate.startswith(_NUMBER)
        for each in clause.body
    )


def alternatives_apart(clauses: Sequence[Clause]) -> Iterator[Clause]:
    """Differences between individuals that are alternatives in one clause."""
    lists: dict[IRI, dict[IRI, str]] = {}
    chosen: list[set[IRI]] = []
    for clause in clauses:
        ends = {
            end
            for head in clause.heads
            for triple in head.triples
            for end in (triple.subject, triple.object)
            if isinstance(end, IRI) and triple.predicate != RDF_TYPE
        }
        if len(clause.heads) > 1:
            chosen.append(ends)
        elif not clause.body:
            for head in clause.heads:
                for each in head.triples:
                    if isinstance(each.predicate, IRI) and each.predicate.startswith(_NUMBER):
                        assert isinstance(each.subject, IRI)
                        lists.setdefault(each.predicate, {})[each.subject] = clause.name
    for members in lists.values():
        for ends in chosen:
            for one, other in combinations(sorted(ends & members.keys()), 2):
                yield implies(members[one], (), TriplePattern(one, OWL_DIFFERENT_FROM, other))


def tells_pairs_apart(clauses: Iterable[Clause]) -> bool:
    """Whether any clause has alternatives that differences leave, or needs different ones."""
    for clause in clauses:
        links = [triple.predicate for head in clause.heads for triple in head.triples]
        if len(links) > 1 and (OWL_SAME_AS in links or OWL_DIFFERENT_FROM in links):
            return True
    return False
