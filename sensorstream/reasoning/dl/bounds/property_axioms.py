"""Axioms about properties as clauses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_EQUIVALENT_PROPERTY,
    OWL_INVERSE_OF,
    OWL_NOTHING,
    OWL_SAME_AS,
    OWL_THING,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    THING,
    Clause,
    Role,
    Untreated,
    implies,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import read_range, without
from sensorstream.reasoning.dl.bounds.expressions import Expressions
from sensorstream.sparql.algebra import TriplePattern, Variable

KINDS: Final = frozenset(
    f"{OWL}{word}Property"
    for word in (
        "Functional",
        "InverseFunctional",
        "Symmetric",
        "Asymmetric",
        "Transitive",
        "Reflexive",
        "Irreflexive",
    )
)
"""What a property may be, beside one of objects or values."""
_DISJOINT: Final = f"{OWL}propertyDisjointWith"
_CHAIN: Final = f"{OWL}propertyChainAxiom"
PROPERTY_AXIOMS: Final = frozenset(
    {RDFS_DOMAIN, RDFS_RANGE, RDFS_SUBPROPERTY_OF, OWL_EQUIVALENT_PROPERTY, OWL_INVERSE_OF}
    | {_DISJOINT, _CHAIN}
)
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")


def of_properties(axioms: Axioms, expressions: Expressions, triple: Triple) -> Iterator[Clause]:
    """What an axiom with one of :data:`PROPERTY_AXIOMS` as its property says.

    Raises:
        Untreated: it has no clauses here.
    """
    s, p, o = triple
    name = " ".join(term.n3 for term in triple)
    of_values = expressions.values.properties
    if p == RDFS_DOMAIN:
        if isinstance(s, IRI) and s in of_values:
            expressions.values.domain(name, s, expressions.within(name, o))
        else:
            yield from reach(expressions, name, expressions.role(s).between(_X, _Y), o)
    elif p == RDFS_RANGE:
        role = expressions.role(s)
        if role.of_values:
            asked = expressions.values.within(role, without(read_range(axioms, o)))
            yield Clause(name, (role.between(_X, _Y), member(_Y, asked)), ())
        else:
            yield from reach(expressions, name, role.between(_Y, _X), o)
    elif p in (RDFS_SUBPROPERTY_OF, OWL_EQUIVALENT_PROPERTY):
        for one, other in [(s, o)] if p == RDFS_SUBPROPERTY_OF else [(s, o), (o, s)]:
            yield from _below(expressions, name, one, other)
    elif p == OWL_INVERSE_OF and isinstance(s, IRI):
        forth, back = expressions.role(s), expressions.role(o)
        yield implies(name, (forth.between(_X, _Y),), back.between(_Y, _X))
        yield implies(name, (back.between(_X, _Y),), forth.between(_Y, _X))
    elif p == _DISJOINT:
        forth, back = expressions.role(s), expressions.role(o)
        yield Clause(name, (forth.between(_X, _Y), back.between(_X, _Y)), ())
    elif p == _CHAIN:
        yield _chain(axioms, expressions, name, s, o)


def of_kind(expressions: Expressions, property_: Term, name: str, kind: str) -> Iterator[Clause]:
    """What a property is by one of :data:`KINDS`."""
    role = expressions.role(property_)
    one, back = role.between(_X, _Y), role.between(_Y, _X)
    same = TriplePattern(_Y, OWL_SAME_AS, _Z)
    match kind.removeprefix(OWL).removesuffix("Property"):
        case "Functional":
            if role.of_values:
                same = expressions.values.same(_Y, _Z)
            yield implies(name, (one, role.between(_X, _Z)), same)
        case "InverseFunctional":
            yield implies(name, (back, role.between(_Z, _X)), same)
        case "Symmetric":
            yield implies(name, (one,), back)
        case "Asymmetric":
            yield Clause(name, (one, back), ())
        case "Transitive":
            yield implies(name, (one, role.between(_Y, _Z)), role.between(_X, _Z))
        case "Reflexive":
            yield implies(name, (member(_X, THING),), role.between(_X, _X))
        case "Irreflexive":
            yield Clause(name, (role.between(_X, _X),), ())


def reach(
    expressions: Expressions, name: str, premise: TriplePattern, of_class: Term
) -> Iterator[Clause]:
    """Where the premise holds, ``?x`` is in a class expression."""
    target = expressions.within(name, of_class)
    if target not in (OWL_THING, OWL_NOTHING):
        yield implies(name, (premise,), member(_X, target))
    elif target == OWL_NOTHING:
        yield Clause(name, (premise,), ())


def _below(expressions: Expressions, name: str, one: Term, other: Term) -> Iterator[Clause]:
    of_values = expressions.values.properties
    if isinstance(one, IRI) and isinstance(other, IRI) and {one, other} <= of_values:
        expressions.values.include(name, one, other)
    else:
        roles: list[Role] = [expressions.role(each) for each in (one, other)]
        yield implies(name, (roles[0].between(_X, _Y),), roles[1].between(_X, _Y))


def _chain(axioms: Axioms, expressions: Expressions, name: str, s: Term, o: Term) -> Clause:
    steps = [expressions.role(each) for each in axioms.members(o)]
    if not steps:
        raise Untreated("a chain without properties")
    places = [Variable(f"y{place}") for place in range(len(steps) + 1)]
    body = [
        step.between(one, other)
        for step, one, other in zip(steps, places, places[1:], strict=False)
    ]
    return implies(name, tuple(body), expressions.role(s).between(places[0], places[-1]))
