"""Clauses for the class of every individual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.model.terms import IRI, Term
from sensorstream.model.vocabulary import (
    OWL,
    OWL_DIFFERENT_FROM,
    OWL_SAME_AS,
    OWL_THING,
    RDF_TYPE,
)
from sensorstream.network.recursion.rule import constant
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import THING, VALUES, Clause, implies, member
from sensorstream.reasoning.dl.gate import named_individuals
from sensorstream.sparql.algebra import TriplePattern, Variable

_X, _Y = Variable("x"), Variable("y")


def things(axioms: Axioms, clauses: list[Clause]) -> Iterator[Clause]:
    """Everything an assertion or an axiom speaks of is an individual."""
    classes = set(axioms.typed(f"{OWL}Class")) | {OWL_THING, IRI(f"{OWL}NamedIndividual")}
    links = {*axioms.typed(f"{OWL}ObjectProperty"), OWL_SAME_AS, OWL_DIFFERENT_FROM}
    values = set(axioms.typed(f"{OWL}DatatypeProperty"))
    # Also where an axiom that names them has no clauses.
    named = {constant(each) for each in named_individuals(axioms)}
    for clause in clauses:
        heads = [triple for head in clause.heads for triple in head.triples]
        for triple in (*clause.body, *heads):
            ends = {triple.subject, triple.object}
            if triple.predicate == RDF_TYPE:
                ends = {triple.subject}
                if isinstance(triple.object, IRI) and triple.object != THING:
                    classes.add(triple.object)
            elif isinstance(triple.predicate, IRI) and triple.predicate not in values:
                links.add(triple.predicate)
            named.update(end for end in ends if isinstance(end, IRI))
    for of_class in _of_individuals(classes):
        yield implies("individuals", (member(_X, of_class),), member(_X, THING))
    for link in _of_individuals(links | values):
        yield implies("individuals", (TriplePattern(_X, link, _Y),), member(_X, THING))
        if link in links:
            yield implies("individuals", (TriplePattern(_Y, link, _X),), member(_X, THING))
    for each in _of_individuals(named):
        yield implies("individuals", (), member(each, THING))


def _of_individuals(names: Iterable[Term]) -> list[IRI]:
    return sorted(each for each in names if isinstance(each, IRI) and not each.startswith(VALUES))
