"""The axioms of an ontology as clauses, and those that have none here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_DIFFERENT_FROM,
    OWL_EQUIVALENT_CLASS,
    OWL_EQUIVALENT_PROPERTY,
    OWL_HAS_VALUE,
    OWL_INTERSECTION_OF,
    OWL_INVERSE_OF,
    OWL_NOTHING,
    OWL_ONE_OF,
    OWL_SAME_AS,
    OWL_THING,
    RDF_TYPE,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUBCLASS_OF,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.network.recursion.rule import constant
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import THING, Alternative, Clause, Role, member
from sensorstream.reasoning.dl.bounds.expressions import UNION, Expressions, Untreated
from sensorstream.sparql.algebra import TriplePattern, Variable

_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")
_OF_CLASSES: Final = frozenset({OWL_INTERSECTION_OF, UNION, OWL_COMPLEMENT_OF, OWL_ONE_OF})
_DISJOINT: Final = f"{OWL}disjointWith"
_UNSUPPORTED: Final = frozenset(
    f"{OWL}{word}"
    for word in (
        "hasKey",
        "disjointUnionOf",
        "NegativePropertyAssertion",
        "AllDisjointProperties",
    )
)
_SWRL: Final = "http://www.w3.org/2003/11/swrl#Imp"
_KINDS: Final = frozenset(
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


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Clauses that say together what the treated axioms say, and the axioms left out."""

    clauses: tuple[Clause, ...]
    untreated: tuple[str, ...]


def normal_form(triples: tuple[Triple, ...]) -> NormalForm:
    """An ontology as clauses over the assertions about its individuals."""
    triples = tuple(_defined(triples))
    axioms = Axioms(triples)
    expressions = Expressions(axioms)
    untreated: dict[str, None] = {}
    for triple in triples:
        try:
            expressions.clauses += _clauses(axioms, expressions, triple)
        except Untreated as error:
            untreated[f"{_told(triple)}: {error}"] = None
    clauses = [*expressions.clauses, *_always()]
    if any(each.object == THING for clause in clauses for each in clause.body):
        clauses += _things(axioms, clauses)
    return NormalForm(tuple(dict.fromkeys(clauses)), tuple(untreated))


def _defined(triples: tuple[Triple, ...]) -> Iterator[Triple]:
    """OWL 1 writes a definition as an expression that has the name of the class."""
    for place, (s, p, o) in enumerate(triples):
        if p in _OF_CLASSES and isinstance(s, IRI):
            expression = BlankNode(f"_:definition-{place}")
            yield s, OWL_EQUIVALENT_CLASS, expression
            yield expression, p, o
        else:
            yield s, p, o


def _told(triple: Triple) -> str:
    return " ".join(term.n3 for term in triple)


def _clauses(axioms: Axioms, expressions: Expressions, triple: Triple) -> Iterator[Clause]:
    s, p, o = triple
    name = _told(triple)
    if p == RDFS_SUBCLASS_OF:
        expressions.include(name, s, o)
    elif p == OWL_EQUIVALENT_CLASS:
        if IRI(f"{OWL}onDatatype") in {link for _, link, _ in axioms.about(o)}:
            raise Untreated("a data range")
        expressions.include(name, s, o)
        expressions.include(name, o, s)
    elif p == _DISJOINT:
        yield from _apart(expressions, name, [s, o])
    elif p == RDFS_DOMAIN:
        role = expressions.role(s, values=True)
        yield from _reach(expressions, name, role.between(_X, _Y), o)
    elif p == RDFS_RANGE:
        role = expressions.role(s)
        yield from _reach(expressions, name, role.between(_Y, _X), o)
    elif p in (RDFS_SUBPROPERTY_OF, OWL_EQUIVALENT_PROPERTY):
        one, other = (expressions.role(each, values=True) for each in (s, o))
        yield _implies(name, [one.between(_X, _Y)], other.between(_X, _Y))
        if p == OWL_EQUIVALENT_PROPERTY:
            yield _implies(name, [other.between(_X, _Y)], one.between(_X, _Y))
    elif p == OWL_INVERSE_OF and isinstance(s, IRI):
        one, other = expressions.role(s), expressions.role(o)
        yield _implies(name, [one.between(_X, _Y)], other.between(_Y, _X))
        yield _implies(name, [other.between(_X, _Y)], one.between(_Y, _X))
    elif p == f"{OWL}propertyDisjointWith":
        one, other = (expressions.role(each, values=True) for each in (s, o))
        yield Clause(name, (one.between(_X, _Y), other.between(_X, _Y)), ())
    elif p == f"{OWL}propertyChainAxiom":
        yield _chain(axioms, expressions, name, s, o)
    elif p == RDF_TYPE:
        yield from _typed(axioms, expressions, triple)
    elif p in _UNSUPPORTED:
        raise Untreated("this kind of axiom")


def _typed(axioms: Axioms, expressions: Expressions, triple: Triple) -> Iterator[Clause]:
    s, _, o = triple
    name = _told(triple)
    if isinstance(o, BlankNode):
        yield from _reach(expressions, name, member(_X, IRI(str(constant(o)))), o)
    elif o == f"{OWL}AllDisjointClasses":
        # A list names a set: a class that it repeats stands there once.
        yield from _apart(expressions, name, list(dict.fromkeys(_listed(axioms, s, "members"))))
    elif o == f"{OWL}AllDifferent":
        found = _listed(axioms, s, "distinctMembers") or _listed(axioms, s, "members")
        for one, other in combinations(found, 2):
            if isinstance(one, IRI) and isinstance(other, IRI):
                yield _implies(name, [], TriplePattern(one, OWL_DIFFERENT_FROM, other))
    elif o in _KINDS:
        yield from _kind(expressions.role(s), name, str(o))
    elif o in _UNSUPPORTED or o == _SWRL:
        raise Untreated("this kind of axiom")


def _listed(axioms: Axioms, node: Term, word: str) -> list[Term]:
    head = axioms.value(node, f"{OWL}{word}")
    return [] if head is None else axioms.members(head)


def _kind(role: Role, name: str, kind: str) -> Iterator[Clause]:
    one, back = role.between(_X, _Y), role.between(_Y, _X)
    same = TriplePattern(_Y, OWL_SAME_AS, _Z)
    match kind.removeprefix(OWL).removesuffix("Property"):
        case "Functional":
            yield _implies(name, [one, role.between(_X, _Z)], same)
        case "InverseFunctional":
            yield _implies(name, [back, role.between(_Z, _X)], same)
        case "Symmetric":
            yield _implies(name, [one], back)
        case "Asymmetric":
            yield Clause(name, (one, back), ())
        case "Transitive":
            yield _implies(name, [one, role.between(_Y, _Z)], role.between(_X, _Z))
        case "Reflexive":
            yield _implies(name, [member(_X, THING)], role.between(_X, _X))
        case "Irreflexive":
            yield Clause(name, (role.between(_X, _X),), ())


def _implies(name: str, body: list[TriplePattern], head: TriplePattern) -> Clause:
    return Clause(name, tuple(body), (Alternative((head,)),))


def _reach(
    expressions: Expressions, name: str, premise: TriplePattern, of_class: Term
) -> Iterator[Clause]:
    """Where the premise holds, ``?x`` is in a class expression."""
    target = expressions.within(name, of_class)
    if target not in (OWL_THING, OWL_NOTHING):
        yield _implies(name, [premise], member(_X, target))
    elif target == OWL_NOTHING:
        yield Clause(name, (premise,), ())


def _apart(expressions: Expressions, name: str, classes: list[Term]) -> Iterator[Clause]:
    named = [expressions.around(name, each) for each in classes]
    for one, other in combinations(named, 2):
        yield Clause(name, (member(_X, one), member(_X, other)), ())


def _chain(axioms: Axioms, expressions: Expressions, name: str, s: Term, o: Term) -> Clause:
    steps = [expressions.role(each) for each in axioms.members(o)]
    if not steps:
        raise Untreated("a chain without properties")
    places = [Variable(f"y{place}") for place in range(len(steps) + 1)]
    body = [
        step.between(one, other)
        for step, one, other in zip(steps, places, places[1:], strict=False)
    ]
    return _implies(name, body, expressions.role(s).between(places[0], places[-1]))


def _always() -> Iterator[Clause]:
    """What holds in every ontology."""
    yield Clause("owl:Nothing", (member(_X, OWL_NOTHING),), ())
    yield Clause("owl:differentFrom", (TriplePattern(_X, OWL_DIFFERENT_FROM, _X),), ())


def _things(axioms: Axioms, clauses: list[Clause]) -> Iterator[Clause]:
    """Everything an assertion or an axiom speaks of is an individual."""
    classes = set(axioms.typed(f"{OWL}Class")) | {OWL_THING, IRI(f"{OWL}NamedIndividual")}
    links = {*axioms.typed(f"{OWL}ObjectProperty"), OWL_SAME_AS, OWL_DIFFERENT_FROM}
    values = set(axioms.typed(f"{OWL}DatatypeProperty"))
    # Also where no clause is left of the expression that names them.
    named = {o for _, p, o in axioms.triples if p == OWL_HAS_VALUE and isinstance(o, IRI)}
    for _, p, o in axioms.triples:
        if p == OWL_ONE_OF:
            named.update(each for each in axioms.members(o) if isinstance(each, IRI))
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
    for of_class in sorted(each for each in classes if isinstance(each, IRI)):
        yield _implies("individuals", [member(_X, of_class)], member(_X, THING))
    for link in sorted(each for each in links | values if isinstance(each, IRI)):
        yield _implies("individuals", [TriplePattern(_X, link, _Y)], member(_X, THING))
        if link in links:
            yield _implies("individuals", [TriplePattern(_Y, link, _X)], member(_X, THING))
    for each in sorted(named):
        yield _implies("individuals", [], member(each, THING))
