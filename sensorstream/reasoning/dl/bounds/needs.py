"""What an axiom that has no clauses needs to say anything about an individual.

An axiom whose condition nobody meets is true: if nobody is of its class, or has its property. So
with a bound that derives none of these triples of an individual, the axiom adds nothing there
(locality: Cuenca Grau, Horrocks, Kazakov and Sattler, "Modular reuse of ontologies", JAIR 31, 2008,
section 5.1; here of each individual, not of the ontology).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_EQUIVALENT_CLASS,
    OWL_EQUIVALENT_PROPERTY,
    OWL_HAS_VALUE,
    OWL_INTERSECTION_OF,
    OWL_INVERSE_OF,
    OWL_NOTHING,
    OWL_ON_PROPERTY,
    OWL_SOME_VALUES_FROM,
    OWL_THING,
    RDF_TYPE,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUBCLASS_OF,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import THING, Untreated, member
from sensorstream.reasoning.dl.bounds.expressions import (
    COUNTS,
    SELF,
    UNION,
    Expressions,
    kind_of,
    limits_of,
)
from sensorstream.reasoning.dl.bounds.property_axioms import KINDS
from sensorstream.sparql.algebra import TriplePattern, Variable

Needs: TypeAlias = tuple[TriplePattern, ...]
"""Triples of ``?x``, one of which must hold."""
_X, _Y = Variable("x"), Variable("y")
ANYBODY: Final[Needs] = (member(_X, THING),)
_OF_SUBJECT: Final = frozenset(
    {
        RDFS_DOMAIN,
        RDFS_RANGE,
        RDFS_SUBPROPERTY_OF,
        f"{OWL}propertyDisjointWith",
    }
)
_OF_BOTH: Final = frozenset({OWL_EQUIVALENT_PROPERTY, OWL_INVERSE_OF})


def needs(axioms: Axioms, expressions: Expressions, triple: Triple) -> Needs:
    """What the axiom with this main triple needs; ``ANYBODY`` where that is not known."""
    try:
        found = _needs(axioms, expressions, triple)
    except Untreated:
        return ANYBODY
    return ANYBODY if ANYBODY[0] in found else tuple(dict.fromkeys(found))


def _needs(axioms: Axioms, expressions: Expressions, triple: Triple) -> Needs:
    s, p, o = triple
    if p == RDFS_SUBCLASS_OF:
        return _of_class(axioms, expressions, s)
    if p == OWL_EQUIVALENT_CLASS:
        return _of_class(axioms, expressions, s) + _of_class(axioms, expressions, o)
    if p == f"{OWL}disjointWith":
        return min(_of_class(axioms, expressions, s), _of_class(axioms, expressions, o), key=_width)
    if p == f"{OWL}hasKey":
        return _of_class(axioms, expressions, s)
    if p in _OF_SUBJECT:
        return _of_property(expressions, s)
    if p in _OF_BOTH:
        return _of_property(expressions, s) + _of_property(expressions, o)
    if p == f"{OWL}propertyChainAxiom":
        return _of_property(expressions, axioms.members(o)[0])
    if p == RDF_TYPE and o in KINDS and o != f"{OWL}ReflexiveProperty":
        return _of_property(expressions, s)
    return ANYBODY


def _of_property(expressions: Expressions, term: Term) -> Needs:
    role = expressions.role(term)
    if role.of_values:
        return (role.between(_X, _Y),)
    return (TriplePattern(_X, role.name, _Y),)


def _of_class(axioms: Axioms, expressions: Expressions, node: Term) -> Needs:
    """What membership in a class expression needs."""
    if node == OWL_THING:
        return ANYBODY
    if node == OWL_NOTHING:
        return ()
    if isinstance(node, IRI):
        return (member(_X, node),)
    if not isinstance(node, BlankNode):
        return ANYBODY
    kind, value = kind_of(axioms, node)
    if kind == OWL_INTERSECTION_OF:
        parts = [_of_class(axioms, expressions, each) for each in axioms.members(value)]
        return min(parts, key=_width, default=ANYBODY)
    if kind == UNION:
        found: Needs = ()
        for each in axioms.members(value):
            found += _of_class(axioms, expressions, each)
        return found
    if kind in (OWL_SOME_VALUES_FROM, OWL_HAS_VALUE, SELF) or (
        kind in COUNTS and _is_at_least(kind, value)
    ):
        on = axioms.value(node, OWL_ON_PROPERTY)
        return ANYBODY if on is None else _of_property(expressions, on)
    return ANYBODY


def _is_at_least(kind: IRI, value: Term) -> bool:
    number, least, _ = limits_of(kind, value)
    return least and number > 0


def _width(found: Needs) -> tuple[bool, int]:
    return ANYBODY[0] in found, len(found)
