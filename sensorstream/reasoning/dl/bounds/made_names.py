"""The names of individuals that only exist, and which of them never mean the same individual.

A name says for which alternative it was made, which of its individuals it is, and, after a colon,
for whom. Two are *apart* if the same alternative asks for both for the same individual, or if what
their alternatives say of them makes them members of disjoint classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.reasoning.dl.bounds.clauses import PREFIX, Alternative, Clause
from sensorstream.reasoning.dl.bounds.foreseen import Certain, Row, ground
from sensorstream.sparql.algebra import Call, TriplePattern, Variable

APART: Final = f"{PREFIX}apart"
"""The condition that two names are apart; its last argument is a table of alternatives."""
OWN: Final = f"{PREFIX}some-"
_SAID_OF: Final = Variable("x")


class MadeNames:
    """The names that the alternatives of clauses need."""

    def __init__(self, clauses: Iterable[Clause], certain: Certain) -> None:
        self._numbers: dict[tuple[TriplePattern, ...], int] = {}
        disjoint: set[tuple[IRI, IRI]] = set()
        for clause in clauses:
            for head in clause.heads:
                if head.unnamed:
                    self._numbers.setdefault(_shape(head), len(self._numbers))
            disjoint.update(_disjoint(clause))
        self._table = Literal(" ".join(_pairs(self._numbers, certain, disjoint)))

    def constants(self, head: Alternative) -> dict[Variable, str]:
        """The names of those whom an alternative asks for, without the end that says for whom."""
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


def _shape(head: Alternative) -> tuple[TriplePattern, ...]:
    """What is said of the unnamed, whoever they are linked to."""
    places = {each: Variable(f"u{place}") for place, each in enumerate(head.unnamed)}

    def end(term: object) -> object:
        return places.get(term, _SAID_OF) if isinstance(term, Variable) else term

    return tuple(
        TriplePattern(end(t.subject), t.predicate, end(t.object))  # type: ignore[arg-type]
        for t in head.triples
    )


def _disjoint(clause: Clause) -> set[tuple[IRI, IRI]]:
    """The two classes, in both orders, of which nobody is a member."""
    kinds = [each.object for each in clause.body if each.predicate == RDF_TYPE]
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
                found = {o for s, p, o in known if s == name and p == RDF_TYPE}
                classes[f"{number}-{variable.name}"] = {o for o in found if isinstance(o, IRI)}
    against: dict[IRI, set[IRI]] = {}
    for one, other in disjoint:
        against.setdefault(one, set()).add(other)
    for kind, own in classes.items():
        excluded = {other for each in own for other in against.get(each, ())}
        for other_kind, others in classes.items():
            if excluded & others:
                yield f"{kind}|{other_kind}"
