"""The axioms of an ontology as clauses, and those that have none here.

Many individuals that are all different have clauses without a triple for each pair; the class of
every individual has clauses only if it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Final

from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import OWL
from sensorstream.model.xsd import XSD
from sensorstream.network.recursion.derivation_rule import constant
from sensorstream.reasoning.dl.axioms import EQUALITY, SWRL, Axioms, named_individuals
from sensorstream.reasoning.dl.bounds.axiom_clauses import NUMBER, Needs, Stated
from sensorstream.reasoning.dl.bounds.class_expressions import UNION, ClauseExpressions
from sensorstream.reasoning.dl.bounds.clauses import (
    OPEN,
    THING,
    VALUES,
    BoundClause,
    Crowd,
    Untreated,
    implies,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import known_value
from sensorstream.reasoning.dl.bounds.foreseen_conclusions import (
    Enumerations,
    enumerations,
    foreseen,
)
from sensorstream.reasoning.dl.bounds.value_names import ValueNames, stand_ins
from sensorstream.reasoning.dl.datatypes import Value
from sensorstream.sparql.algebra import TriplePattern, Variable

_X, _Y = Variable("x"), Variable("y")


def is_of_pairs(clause: BoundClause) -> bool:
    """Whether the clause derives a triple for each pair of different individuals."""
    return bool(clause.heads) and any(
        isinstance(each.predicate, IRI) and each.predicate.startswith(NUMBER)
        for each in clause.body
    )


def alternatives_apart(clauses: Sequence[BoundClause]) -> Iterator[BoundClause]:
    """Differences between individuals that are alternatives in one clause."""
    lists: dict[IRI, dict[IRI, str]] = {}
    chosen: list[set[IRI]] = []
    for clause in clauses:
        ends = {
            end
            for head in clause.heads
            for triple in head.triples
            for end in (triple.subject, triple.object)
            if isinstance(end, IRI) and triple.predicate != rdf.TYPE
        }
        if len(clause.heads) > 1:
            chosen.append(ends)
        elif not clause.body:
            for head in clause.heads:
                for each in head.triples:
                    if isinstance(each.predicate, IRI) and each.predicate.startswith(NUMBER):
                        assert isinstance(each.subject, IRI)
                        lists.setdefault(each.predicate, {})[each.subject] = clause.name
    for members in lists.values():
        for ends in chosen:
            for one, other in combinations(sorted(ends & members.keys()), 2):
                yield implies(members[one], (), TriplePattern(one, owl.DIFFERENT_FROM, other))


def tells_pairs_apart(clauses: Iterable[BoundClause]) -> bool:
    """Whether differences exclude an alternative of a clause, or meet a condition of one."""
    for clause in clauses:
        links = [triple.predicate for head in clause.heads for triple in head.triples]
        if len(links) > 1 and (owl.SAME_AS in links or owl.DIFFERENT_FROM in links):
            return True
    return False


def things(axioms: Axioms, clauses: list[BoundClause]) -> Iterator[BoundClause]:
    """Clauses that make everything in assertions and axioms an individual."""
    classes = set(axioms.typed(f"{OWL}Class")) | {owl.THING, IRI(f"{OWL}NamedIndividual")}
    links = {*axioms.typed(f"{OWL}ObjectProperty"), *EQUALITY}
    values = set(axioms.typed(f"{OWL}DatatypeProperty"))
    # Also if an axiom that names them has no clauses.
    named = {constant(each) for each in named_individuals(axioms)}
    for clause in clauses:
        heads = [triple for head in clause.heads for triple in head.triples]
        for triple in (*clause.body, *heads):
            ends = {triple.subject, triple.object}
            if triple.predicate == rdf.TYPE:
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


_OF_CLASSES: Final = frozenset({owl.INTERSECTION_OF, UNION, owl.COMPLEMENT_OF, owl.ONE_OF})


@frozen
class NormalForm:
    """Clauses with the meaning of the treated axioms, and the axioms left out. ``above`` are the
    clauses and left out axioms of the upper bound alone, about values that are only said to exist.
    """

    clauses: tuple[BoundClause, ...]
    untreated: tuple[str, ...]
    needs: Needs
    """Triples about ``?x``, one of which an axiom left out needs to say anything."""
    above: NormalForm | None
    values: ValueNames
    enumerations: Enumerations
    axioms: frozenset[str]
    """The names of the clauses that axioms have been made to."""
    crowds: tuple[Crowd, ...] = ()


def normal_form(triples: tuple[Triple, ...], left_out: frozenset[str] = frozenset()) -> NormalForm:
    """An ontology as clauses over the assertions about its individuals. An axiom with a clause
    whose name is in ``left_out`` gets none.

    Raises:
        OntologyError: it restricts datatypes by facets whose order no reasoner knows.
    """
    triples = tuple(_defined(triples))
    axioms = Axioms(triples)
    expressions = ClauseExpressions(axioms)
    values = expressions.values
    untreated: dict[str, None] = {}
    named: set[str] = set()
    needed: dict[TriplePattern, None] = {}
    for triple in triples:
        stated = Stated(axioms, expressions, triple)
        mark, crowds = len(expressions.clauses), len(expressions.crowds)
        try:
            expressions.clauses += stated.clauses()
            names = {each.name for each in expressions.clauses[mark:]}
            if names & left_out:
                del expressions.clauses[mark:], expressions.crowds[crowds:]
                raise Untreated("rules would find too much by it")
            named |= names
        except Untreated as error:
            untreated[f"{stated.name}: {error}"] = None
            expressions.forget()
            needed.update(dict.fromkeys(stated.needs()))
    if expressions.crowds:
        needed[member(_X, OPEN)] = None
    values.connect()
    above, not_above, of_values = stand_ins(values, _mentioned(triples))
    clauses = [*expressions.clauses, *values.clauses(), *_always()]
    if not tells_pairs_apart(clauses):
        clauses = [each for each in clauses if not is_of_pairs(each)]
    asked = [*needed, *(each for clause in clauses for each in clause.body)]
    if any(each.object == THING for each in asked):
        clauses += things(axioms, clauses)
    clauses += foreseen(clauses)
    listed = enumerations(clauses)
    clauses += alternatives_apart([listed.unfold(each) for each in clauses])
    return NormalForm(
        tuple(dict.fromkeys(clauses)),
        tuple(untreated),
        tuple(needed),
        NormalForm(
            tuple(dict.fromkeys((*(each.clause for each in expressions.crowds), *above))),
            tuple(not_above),
            tuple(of_values),
            None,
            values,
            listed,
            frozenset(),
        ),
        values,
        listed,
        frozenset(named),
        tuple(expressions.crowds),
    )


def _defined(triples: tuple[Triple, ...]) -> Iterator[Triple]:
    """The axioms, with named expressions (OWL 1) and disjoint unions as equivalent classes."""
    for place, (s, p, o) in enumerate(triples):
        if p == f"{OWL}disjointUnionOf":
            union, apart = BlankNode(f"_:union-{place}"), BlankNode(f"_:apart-{place}")
            yield s, owl.EQUIVALENT_CLASS, union
            yield union, UNION, o
            yield apart, rdf.TYPE, IRI(f"{OWL}AllDisjointClasses")
            yield apart, IRI(f"{OWL}members"), o
            continue
        if p in _OF_CLASSES and isinstance(s, IRI):
            expression = BlankNode(f"_:definition-{place}")
            yield s, owl.EQUIVALENT_CLASS, expression
            yield expression, p, o
        else:
            yield s, p, o


def _mentioned(triples: Iterable[Triple]) -> dict[Value, Literal]:
    """The values that axioms mention, other than in assertions and annotations."""
    found: dict[Value, Literal] = {}
    for _, p, o in triples:
        if isinstance(o, Literal) and p.startswith((OWL, XSD, SWRL, rdf.FIRST)):
            with suppress(Untreated):
                found.setdefault(known_value(o), o)
    return found


def _always() -> Iterator[BoundClause]:
    """The clauses of every ontology."""
    yield BoundClause("owl:Nothing", (member(_X, owl.NOTHING),), ())
    different = TriplePattern(_X, owl.DIFFERENT_FROM, _Y)
    yield BoundClause("owl:differentFrom", (TriplePattern(_X, owl.DIFFERENT_FROM, _X),), ())
    yield implies("owl:differentFrom", (different,), TriplePattern(_Y, owl.DIFFERENT_FROM, _X))
