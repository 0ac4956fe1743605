"""Axioms as clauses, and the triples that each needs to say anything about an individual.

An axiom is true if nobody meets its condition: nobody is of its class, or has its property. So with
a bound that derives none of these triples of an individual, an axiom without clauses adds nothing
there (locality: Cuenca Grau, Horrocks, Kazakov and Sattler, "Modular reuse of ontologies", JAIR 31,
2008, section 5.1; here of each individual, not of the ontology).

Keys and SWRL rules concern individuals that have a name; that is given with each
(:data:`~sensorstream.reasoning.dl.bounds.clauses.NAMED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, TypeAlias
from urllib.parse import quote

from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import OWL, RDFS
from sensorstream.network.recursion.derivation_rule import constant
from sensorstream.reasoning.dl.axioms import COUNTS, RULE, Atom, Axioms, atoms_of, name_of
from sensorstream.reasoning.dl.bounds.class_expressions import (
    SELF,
    UNION,
    ClauseExpressions,
    kind_of,
    limits_of,
)
from sensorstream.reasoning.dl.bounds.clauses import (
    NAMED,
    THING,
    VALUES,
    BoundClause,
    ClauseHead,
    PropertyRole,
    Untreated,
    implies,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import Listed, known_value, read_range, without
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable

Needs: TypeAlias = tuple[TriplePattern, ...]
"""Triples of ``?x``, one of which must hold."""
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")
ANYBODY: Final[Needs] = (member(_X, THING),)
_DATATYPE: Final = IRI(f"{RDFS}Datatype")
NUMBER: Final = f"{VALUES}number:"
"""Links individuals of one list to their numbers; the name of the axiom follows."""
_FEW: Final = 3


@frozen
class Stated:
    """An axiom: its main triple, and the readers of its parts."""

    axioms: Axioms
    expressions: ClauseExpressions
    triple: Triple

    @property
    def name(self) -> str:
        """The axiom as text, which names its clauses."""
        return name_of(self.triple)

    @property
    def ends(self) -> tuple[Term, Term]:
        """Subject and object of the triple."""
        return self.triple[0], self.triple[2]

    def clauses(self) -> Iterator[BoundClause]:
        """Clauses with the meaning of the axiom.

        Raises:
            Untreated: it has none here.
        """
        _, p, o = self.triple
        if p == rdf.TYPE and isinstance(o, BlankNode):
            return self.reach(member(_X, IRI(str(constant(o)))), o)
        says, _ = self._entry
        return says(self)

    def needs(self) -> Needs:
        """Triples of which the axiom needs one; ``ANYBODY`` if that is not known."""
        try:
            found = self._needs(self._entry[1])
        except Untreated:
            return ANYBODY
        return ANYBODY if ANYBODY[0] in found else tuple(dict.fromkeys(found))

    @property
    def _entry(self) -> _Entry:
        _, p, o = self.triple
        return _TYPES.get(str(o), _NOTHING) if p == rdf.TYPE else LINKS.get(p, _NOTHING)

    def _needs(self, needed: str) -> Needs:
        one, other = self.ends
        kind, _, which = needed.partition(" ")
        of = _of_class if kind == "class" else _of_property
        match which:
            case "1":
                return of(self, one)
            case "1 or 2":
                return of(self, one) + of(self, other)
            case "1 and 2":
                return min(of(self, one), of(self, other), key=_width)
            case "first":
                return of(self, self.axioms.members(other)[0])
        return ANYBODY

    def roles(self, *terms: Term) -> list[PropertyRole]:
        """Properties, or inverses of them."""
        return [self.expressions.role(each) for each in terms]

    def listed(self, *words: str) -> list[Term]:
        """The members of a list that the subject is linked to: a set, with each of them once."""
        heads = (self.axioms.value(self.triple[0], f"{OWL}{word}") for word in words)
        found = (self.axioms.members(head) for head in heads if head is not None)
        return list(dict.fromkeys(next(filter(None, found), [])))

    def reach(self, premise: TriplePattern, of_class: Term) -> Iterator[BoundClause]:
        """Clauses that put ``?x`` in a class expression if the premise holds."""
        target = self.expressions.within(self.name, of_class)
        if target == owl.NOTHING:
            yield BoundClause(self.name, (premise,), ())
        elif target != owl.THING:
            yield implies(self.name, (premise,), member(_X, target))

    def apart(self, classes: Sequence[Term]) -> Iterator[BoundClause]:
        """Clauses that no two of the classes have a common member."""
        named = [self.expressions.around(self.name, each) for each in classes]
        for one, other in combinations(named, 2):
            yield BoundClause(self.name, (member(_X, one), member(_X, other)), ())

    def disjoint(self, properties: Sequence[Term]) -> Iterator[BoundClause]:
        """Clauses that no two of the properties link the same two."""
        for one, other in combinations(self.roles(*properties), 2):
            yield BoundClause(self.name, (one.between(_X, _Y), other.between(_X, _Y)), ())


def _subclass(axiom: Stated) -> Iterator[BoundClause]:
    axiom.expressions.include(axiom.name, *axiom.ends)
    yield from ()


def _equal_classes(axiom: Stated) -> Iterator[BoundClause]:
    one, other = axiom.ends
    of_data = ((each, rdf.TYPE, _DATATYPE) in axiom.axioms.about(each) for each in (one, other))
    if not any(of_data):  # a datatype is read where it is used
        axiom.expressions.include(axiom.name, one, other)
        axiom.expressions.include(axiom.name, other, one)
    yield from ()


def _domain(axiom: Stated) -> Iterator[BoundClause]:
    s, o = axiom.ends
    values = axiom.expressions.values
    if isinstance(s, IRI) and s in values.properties:
        values.domain(axiom.name, s, axiom.expressions.within(axiom.name, o))
    else:
        yield from axiom.reach(axiom.expressions.role(s).between(_X, _Y), o)


def _range(axiom: Stated) -> Iterator[BoundClause]:
    s, o = axiom.ends
    role = axiom.expressions.role(s)
    if role.of_values:
        asked = axiom.expressions.values.within(role, without(read_range(axiom.axioms, o)))
        yield BoundClause(axiom.name, (role.between(_X, _Y), member(_Y, asked)), ())
    else:
        yield from axiom.reach(role.between(_Y, _X), o)


def _below(axiom: Stated, one: Term, other: Term) -> Iterator[BoundClause]:
    values = axiom.expressions.values
    if isinstance(one, IRI) and isinstance(other, IRI) and {one, other} <= values.properties:
        values.include(axiom.name, one, other)
    else:
        lower, upper = axiom.roles(one, other)
        yield implies(axiom.name, (lower.between(_X, _Y),), upper.between(_X, _Y))


def _equal_properties(axiom: Stated) -> Iterator[BoundClause]:
    one, other = axiom.ends
    yield from _below(axiom, one, other)
    yield from _below(axiom, other, one)


def _inverse(axiom: Stated) -> Iterator[BoundClause]:
    if isinstance(axiom.triple[0], IRI):  # else it is an expression, which is read where it is used
        forth, back = axiom.roles(*axiom.ends)
        yield implies(axiom.name, (forth.between(_X, _Y),), back.between(_Y, _X))
        yield implies(axiom.name, (back.between(_X, _Y),), forth.between(_Y, _X))


def _chain(axiom: Stated) -> Iterator[BoundClause]:
    s, o = axiom.ends
    steps = axiom.roles(*axiom.axioms.members(o))
    if not steps:
        raise Untreated("a chain without properties")
    places = [Variable(f"y{place}") for place in range(len(steps) + 1)]
    body = [
        step.between(one, other)
        for step, one, other in zip(steps, places, places[1:], strict=False)
    ]
    head = axiom.expressions.role(s).between(places[0], places[-1])
    yield implies(axiom.name, tuple(body), head)


def _key(axiom: Stated) -> Iterator[BoundClause]:
    """Clauses that make two members of a class one if they share a value of each property."""
    s, o = axiom.ends
    of_class = axiom.expressions.around(axiom.name, s)
    body = [member(one, each) for one in (_X, _Y) for each in (of_class, NAMED)]
    for place, role in enumerate(axiom.roles(*axiom.axioms.members(o))):
        shared = Variable(f"y{place}")
        body += [role.between(_X, shared), role.between(_Y, shared)]
        if not role.of_values:
            body.append(member(shared, NAMED))
    yield implies(axiom.name, tuple(body), TriplePattern(_X, owl.SAME_AS, _Y))


def _kind(axiom: Stated) -> Iterator[BoundClause]:
    """Clauses for a kind of property, such as functional or transitive."""
    name, (role,) = axiom.name, axiom.roles(axiom.triple[0])
    one, back = role.between(_X, _Y), role.between(_Y, _X)
    same = TriplePattern(_Y, owl.SAME_AS, _Z)
    match str(axiom.triple[2]).removeprefix(OWL).removesuffix("Property"):
        case "Functional":
            if role.of_values:
                same = axiom.expressions.values.same(_Y, _Z)
            yield implies(name, (one, role.between(_X, _Z)), same)
        case "InverseFunctional":
            yield implies(name, (back, role.between(_Z, _X)), same)
        case "Symmetric":
            yield implies(name, (one,), back)
        case "Asymmetric":
            yield BoundClause(name, (one, back), ())
        case "Transitive":
            yield implies(name, (one, role.between(_Y, _Z)), role.between(_X, _Z))
        case "Reflexive":
            yield implies(name, (member(_X, THING),), role.between(_X, _X))
        case "Irreflexive":
            yield BoundClause(name, (role.between(_X, _X),), ())


def _all_different(axiom: Stated) -> Iterator[BoundClause]:
    """Clauses for individuals of which no two are the same: each has a number in the list."""
    name = axiom.name
    members = [constant(each) for each in axiom.listed("distinctMembers", "members")]
    if len(members) <= _FEW:
        for place, one in enumerate(members):
            for other in members[:place]:
                yield implies(name, (), TriplePattern(other, owl.DIFFERENT_FROM, one))
        return
    number, one_number, other_number = (
        IRI(f"{NUMBER}{quote(name, safe='')}"),
        Variable("one"),
        Variable("other"),
    )
    for place, one in enumerate(members):
        yield implies(name, (), TriplePattern(one, number, Literal(str(place))))
    apart = ((one_number, other_number),)
    first = TriplePattern(_X, number, one_number)
    yield BoundClause(name, (first, TriplePattern(_X, number, other_number)), (), apart)
    differ = ClauseHead((TriplePattern(_X, owl.DIFFERENT_FROM, _Y),))
    yield BoundClause(name, (first, TriplePattern(_Y, number, other_number)), (differ,), apart)


def _negative(axiom: Stated) -> Iterator[BoundClause]:
    """A clause that an individual does not have another one, or a value, for a property."""
    node = axiom.triple[0]
    found = {str(p).removeprefix(OWL): o for _, p, o in axiom.axioms.about(node)}
    name = f"{node.n3} a owl:NegativePropertyAssertion"
    role = axiom.expressions.role(found["assertionProperty"])
    one = constant(found["sourceIndividual"])
    if "targetValue" in found:
        value = found["targetValue"]
        if not isinstance(value, Literal):
            raise Untreated(f"the value {value.n3}")
        asked = axiom.expressions.values.within(role, Listed((known_value(value),)))
        yield BoundClause(name, (role.between(one, _Y), member(_Y, asked)), ())
    else:
        yield BoundClause(name, (role.between(one, constant(found["targetIndividual"])),), ())


def _rule(axiom: Stated) -> Iterator[BoundClause]:
    """The clauses of a SWRL rule, one for each atom of its head."""
    node = axiom.triple[0]
    read = _Rule(axiom.expressions, f"the rule {node.n3}")
    for atom in atoms_of(axiom.axioms, node, "body"):
        read.condition(atom)
    body = (*read.body, *(member(each, NAMED) for each in read.individuals))
    for atom in atoms_of(axiom.axioms, node, "head"):
        yield BoundClause(read.name, body, (*read.otherwise, read.conclusion(atom)))


class _Rule:
    """A SWRL rule while it is read."""

    def __init__(self, expressions: ClauseExpressions, name: str) -> None:
        self.name = name
        self._expressions = expressions
        self.body: list[TriplePattern] = []
        self.individuals: dict[Variable, None] = {}
        self.otherwise: list[ClauseHead] = []
        """Heads for the case that a condition fails because two individuals are the same."""

    def condition(self, atom: Atom) -> None:
        """Add an atom of the body."""
        match atom.kind:
            case "ClassAtom":
                of_class = self._expressions.around(self.name, self._of(atom))
                self.body.append(member(self._individual(atom, 1), of_class))
            case "IndividualPropertyAtom":
                self.body.append(self._link(atom))
            case "DatavaluedPropertyAtom":
                role, value = self._expressions.role(self._of(atom)), self._argument(atom, 2)
                if not isinstance(value, Literal) and not atom.is_variable(value):
                    raise Untreated(f"the value {value.n3}")
                end = Variable(f"value {value}")
                self.body.append(role.between(self._individual(atom, 1), end))
                if isinstance(value, Literal):
                    asked = Listed((known_value(value),))
                    self.body.append(member(end, self._expressions.values.within(role, asked)))
            case "DifferentIndividualsAtom":
                self.otherwise.append(ClauseHead((self._pair(atom, owl.SAME_AS),)))
            case kind:
                raise Untreated(f"a {kind} in the body of a rule")

    def conclusion(self, atom: Atom) -> ClauseHead:
        """The conclusion that an atom of the head makes."""
        match atom.kind:
            case "ClassAtom":
                of_class = self._expressions.within(self.name, self._of(atom))
                triple = member(self._individual(atom, 1), of_class)
            case "IndividualPropertyAtom":
                triple = self._link(atom)
            case "DatavaluedPropertyAtom":
                role, value = self._expressions.role(self._of(atom)), self._argument(atom, 2)
                if not isinstance(value, Literal):
                    raise Untreated("a variable for a value in the head of a rule")
                end = self._expressions.values.known(role, value)
                triple = role.between(self._individual(atom, 1), end)
            case "SameIndividualAtom":
                triple = self._pair(atom, owl.SAME_AS)
            case "DifferentIndividualsAtom":
                triple = self._pair(atom, owl.DIFFERENT_FROM)
            case kind:
                raise Untreated(f"a {kind} in the head of a rule")
        return ClauseHead((triple,))

    def _link(self, atom: Atom) -> TriplePattern:
        role = self._expressions.role(self._of(atom))
        return role.between(self._individual(atom, 1), self._individual(atom, 2))

    def _pair(self, atom: Atom, link: IRI) -> TriplePattern:
        return TriplePattern(self._individual(atom, 1), link, self._individual(atom, 2))

    def _of(self, atom: Atom) -> Term:
        """The class or the property that an atom is about."""
        if atom.of is None:
            word = "classPredicate" if atom.kind == "ClassAtom" else "propertyPredicate"
            raise Untreated(f"an atom without {word}")
        return atom.of

    def _argument(self, atom: Atom, number: int) -> Term:
        found = atom.arguments[number - 1]
        if found is None:
            raise Untreated(f"an atom without argument{number}")
        return found

    def _individual(self, atom: Atom, number: int) -> PatternTerm:
        term = self._argument(atom, number)
        if isinstance(term, Literal):
            raise Untreated(f"the individual {term.n3}")
        if not atom.is_variable(term):
            return constant(term)
        found = Variable(str(term))
        self.individuals[found] = None
        return found


def _of_property(axiom: Stated, term: Term) -> Needs:
    role = axiom.expressions.role(term)
    if role.of_values:
        return (role.between(_X, _Y),)
    return (TriplePattern(_X, role.name, _Y),)


def _of_class(axiom: Stated, node: Term) -> Needs:
    """The triples that membership in a class expression needs."""
    if node == owl.THING:
        return ANYBODY
    if node == owl.NOTHING:
        return ()
    if isinstance(node, IRI):
        return (member(_X, node),)
    if not isinstance(node, BlankNode):
        return ANYBODY
    kind, value = kind_of(axiom.axioms, node)
    if kind == owl.INTERSECTION_OF:
        parts = [_of_class(axiom, each) for each in axiom.axioms.members(value)]
        return min(parts, key=_width, default=ANYBODY)
    if kind == UNION:
        return sum((_of_class(axiom, each) for each in axiom.axioms.members(value)), ())
    at_least = False
    if kind in COUNTS:
        number, least, _ = limits_of(kind, value)
        at_least = least and number > 0
    if at_least or kind in (owl.SOME_VALUES_FROM, owl.HAS_VALUE, SELF):
        on = axiom.axioms.value(node, owl.ON_PROPERTY)
        return ANYBODY if on is None else _of_property(axiom, on)
    return ANYBODY


def _width(found: Needs) -> tuple[bool, int]:
    return ANYBODY[0] in found, len(found)


_Entry: TypeAlias = tuple[Callable[[Stated], Iterator[BoundClause]], str]
"""The clauses of an axiom, and its needs: those of its subject (1), of its subject or object (2),
of the narrower of two classes, or of the first of a list.
"""
_NOTHING: Final[_Entry] = (lambda _: iter(()), "")
LINKS: Final[Mapping[str, _Entry]] = {
    rdfs.SUBCLASS_OF: (_subclass, "class 1"),
    owl.EQUIVALENT_CLASS: (_equal_classes, "class 1 or 2"),
    f"{OWL}disjointWith": (lambda each: each.apart(each.ends), "class 1 and 2"),
    f"{OWL}hasKey": (_key, "class 1"),
    rdfs.DOMAIN: (_domain, "property 1"),
    rdfs.RANGE: (_range, "property 1"),
    rdfs.SUBPROPERTY_OF: (lambda each: _below(each, *each.ends), "property 1"),
    owl.EQUIVALENT_PROPERTY: (_equal_properties, "property 1 or 2"),
    owl.INVERSE_OF: (_inverse, "property 1 or 2"),
    f"{OWL}propertyDisjointWith": (lambda each: each.disjoint(each.ends), "property 1"),
    f"{OWL}propertyChainAxiom": (_chain, "property first"),
}
"""The clauses and the needs of an axiom, by the property of its main triple."""
_TYPES: Final[Mapping[str, _Entry]] = {
    **{
        f"{OWL}{word}Property": (_kind, "property 1")
        for word in (
            *("Functional", "InverseFunctional", "Symmetric", "Asymmetric", "Transitive"),
            "Irreflexive",
        )
    },
    f"{OWL}ReflexiveProperty": (_kind, ""),
    f"{OWL}AllDisjointClasses": (lambda each: each.apart(each.listed("members")), ""),
    f"{OWL}AllDisjointProperties": (lambda each: each.disjoint(each.listed("members")), ""),
    f"{OWL}AllDifferent": (_all_different, ""),
    owl.NEGATIVE_ASSERTION: (_negative, ""),
    RULE: (_rule, ""),
}
"""The same by the type that the main triple gives."""
