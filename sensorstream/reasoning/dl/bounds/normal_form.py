"""The axioms of an ontology as clauses, and those that have none here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_DIFFERENT_FROM,
    OWL_EQUIVALENT_CLASS,
    OWL_INTERSECTION_OF,
    OWL_NOTHING,
    OWL_ONE_OF,
    RDF_FIRST,
    RDF_TYPE,
    RDFS,
    RDFS_SUBCLASS_OF,
)
from sensorstream.model.xsd import XSD
from sensorstream.network.recursion.rule import constant
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    OPEN,
    THING,
    Clause,
    Crowd,
    Untreated,
    implies,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import known_value
from sensorstream.reasoning.dl.bounds.differences import (
    all_different,
    alternatives_apart,
    is_of_pairs,
    tells_pairs_apart,
)
from sensorstream.reasoning.dl.bounds.enumerations import Enumerations, enumerations
from sensorstream.reasoning.dl.bounds.expressions import Expressions
from sensorstream.reasoning.dl.bounds.foreseen import foreseen
from sensorstream.reasoning.dl.bounds.literal_values import Value
from sensorstream.reasoning.dl.bounds.needs import Needs, needs
from sensorstream.reasoning.dl.bounds.property_axioms import (
    KINDS,
    PROPERTY_AXIOMS,
    of_kind,
    of_properties,
    reach,
)
from sensorstream.reasoning.dl.bounds.rarer_axioms import (
    NEGATIVE,
    RULE,
    SWRL,
    disjoint,
    key,
    negative,
    rule,
)
from sensorstream.reasoning.dl.bounds.restrictions import UNION
from sensorstream.reasoning.dl.bounds.stand_ins import stand_ins
from sensorstream.reasoning.dl.bounds.things import things
from sensorstream.reasoning.dl.bounds.values import Values
from sensorstream.sparql.algebra import TriplePattern, Variable

_X, _Y = Variable("x"), Variable("y")
_OF_CLASSES: Final = frozenset({OWL_INTERSECTION_OF, UNION, OWL_COMPLEMENT_OF, OWL_ONE_OF})
_DISJOINT: Final = f"{OWL}disjointWith"
_DATATYPE: Final = IRI(f"{RDFS}Datatype")


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Clauses that say together what the treated axioms say, and the axioms left out.

    ``above`` are the clauses, and the axioms, that only the upper bound has and leaves out: about
    values that are only said to exist.
    """

    clauses: tuple[Clause, ...]
    untreated: tuple[str, ...]
    needs: Needs
    """What one of the axioms left out needs to say anything about ``?x``."""
    above: NormalForm | None
    values: Values
    enumerations: Enumerations
    axioms: frozenset[str]
    """The names of the clauses that axioms have been made to."""
    crowds: tuple[Crowd, ...] = ()


def normal_form(triples: tuple[Triple, ...], left_out: frozenset[str] = frozenset()) -> NormalForm:
    """An ontology as clauses over the assertions about its individuals.

    Axioms with a clause of a name in ``left_out`` get none.

    Raises:
        OntologyError: it restricts datatypes by facets whose order no reasoner knows.
    """
    triples = tuple(_defined(triples))
    axioms = Axioms(triples)
    expressions = Expressions(axioms)
    values = expressions.values
    untreated: dict[str, None] = {}
    named: set[str] = set()
    needed: dict[TriplePattern, None] = {}
    for triple in triples:
        mark, crowds = len(expressions.clauses), len(expressions.crowds)
        try:
            expressions.clauses += _clauses(axioms, expressions, triple)
            names = {each.name for each in expressions.clauses[mark:]}
            if names & left_out:
                del expressions.clauses[mark:], expressions.crowds[crowds:]
                raise Untreated("rules would find too much by it")
            named |= names
        except Untreated as error:
            untreated[f"{_told(triple)}: {error}"] = None
            expressions.forget()
            needed.update(dict.fromkeys(needs(axioms, expressions, triple)))
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
    """OWL 1 writes a definition as an expression that has the name of the class.

    A disjoint union is two axioms.
    """
    for place, (s, p, o) in enumerate(triples):
        if p == f"{OWL}disjointUnionOf":
            union, apart = BlankNode(f"_:union-{place}"), BlankNode(f"_:apart-{place}")
            yield s, OWL_EQUIVALENT_CLASS, union
            yield union, UNION, o
            yield apart, RDF_TYPE, IRI(f"{OWL}AllDisjointClasses")
            yield apart, IRI(f"{OWL}members"), o
            continue
        if p in _OF_CLASSES and isinstance(s, IRI):
            expression = BlankNode(f"_:definition-{place}")
            yield s, OWL_EQUIVALENT_CLASS, expression
            yield expression, p, o
        else:
            yield s, p, o


def _mentioned(triples: Iterable[Triple]) -> dict[Value, Literal]:
    """The values that axioms mention, other than in assertions and annotations."""
    found: dict[Value, Literal] = {}
    for _, p, o in triples:
        if isinstance(o, Literal) and p.startswith((OWL, XSD, SWRL, RDF_FIRST)):
            with suppress(Untreated):
                found.setdefault(known_value(o), o)
    return found


def _told(triple: Triple) -> str:
    return " ".join(term.n3 for term in triple)


def _clauses(axioms: Axioms, expressions: Expressions, triple: Triple) -> Iterator[Clause]:
    s, p, o = triple
    name = _told(triple)
    if p == RDFS_SUBCLASS_OF:
        expressions.include(name, s, o)
    elif p == OWL_EQUIVALENT_CLASS:
        of_data = ((each, RDF_TYPE, _DATATYPE) in axioms.about(each) for each in (s, o))
        if not any(of_data):  # a datatype is read where it is used
            expressions.include(name, s, o)
            expressions.include(name, o, s)
    elif p == _DISJOINT:
        yield from _apart(expressions, name, [s, o])
    elif p in PROPERTY_AXIOMS:
        yield from of_properties(axioms, expressions, triple)
    elif p == f"{OWL}hasKey":
        yield from key(axioms, expressions, triple)
    elif p == RDF_TYPE:
        yield from _typed(axioms, expressions, triple)


def _typed(axioms: Axioms, expressions: Expressions, triple: Triple) -> Iterator[Clause]:
    s, _, o = triple
    name = _told(triple)
    if isinstance(o, BlankNode):
        yield from reach(expressions, name, member(_X, IRI(str(constant(o)))), o)
    elif o == f"{OWL}AllDisjointClasses":
        # A list names a set: a class that it repeats stands there once.
        yield from _apart(expressions, name, list(dict.fromkeys(_listed(axioms, s, "members"))))
    elif o == f"{OWL}AllDifferent":
        found = _listed(axioms, s, "distinctMembers") or _listed(axioms, s, "members")
        yield from all_different(name, [constant(each) for each in found])
    elif o == f"{OWL}AllDisjointProperties":
        yield from disjoint(expressions, name, list(dict.fromkeys(_listed(axioms, s, "members"))))
    elif o in KINDS:
        yield from of_kind(expressions, s, name, str(o))
    elif o == NEGATIVE:
        yield from negative(axioms, expressions, s)
    elif o == RULE:
        yield from rule(axioms, expressions, s)


def _listed(axioms: Axioms, node: Term, word: str) -> list[Term]:
    head = axioms.value(node, f"{OWL}{word}")
    return [] if head is None else axioms.members(head)


def _apart(expressions: Expressions, name: str, classes: list[Term]) -> Iterator[Clause]:
    named = [expressions.around(name, each) for each in classes]
    for one, other in combinations(named, 2):
        yield Clause(name, (member(_X, one), member(_X, other)), ())


def _always() -> Iterator[Clause]:
    """What holds in every ontology."""
    yield Clause("owl:Nothing", (member(_X, OWL_NOTHING),), ())
    different = TriplePattern(_X, OWL_DIFFERENT_FROM, _Y)
    yield Clause("owl:differentFrom", (TriplePattern(_X, OWL_DIFFERENT_FROM, _X),), ())
    yield implies("owl:differentFrom", (different,), TriplePattern(_Y, OWL_DIFFERENT_FROM, _X))
