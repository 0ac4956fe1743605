"""Keys, negative assertions, disjoint unions and SWRL rules as clauses.

Keys and rules concern individuals that have a name; that is given with each
(:data:`~sensorstream.reasoning.dl.bounds.clauses.NAMED`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from sensorstream.model.terms import Literal, Term, Triple
from sensorstream.model.vocabulary import OWL, OWL_DIFFERENT_FROM, OWL_SAME_AS, RDF_TYPE
from sensorstream.network.recursion.rule import constant
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    NAMED,
    Alternative,
    Clause,
    Untreated,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import Listed, known_value
from sensorstream.reasoning.dl.bounds.expressions import Expressions
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable

SWRL: Final = "http://www.w3.org/2003/11/swrl#"
RULE: Final = f"{SWRL}Imp"
NEGATIVE: Final = f"{OWL}NegativePropertyAssertion"
_X, _Y = Variable("x"), Variable("y")


def disjoint(expressions: Expressions, name: str, properties: list[Term]) -> Iterator[Clause]:
    """No two of the properties link the same two."""
    roles = [expressions.role(each) for each in properties]
    for one, other in combinations(roles, 2):
        yield Clause(name, (one.between(_X, _Y), other.between(_X, _Y)), ())


def key(axioms: Axioms, expressions: Expressions, triple: Triple) -> Iterator[Clause]:
    """Two members of a class are one if they have a value of each property in common."""
    s, _, o = triple
    name = " ".join(term.n3 for term in triple)
    of_class = expressions.around(name, s)
    body = [member(one, each) for one in (_X, _Y) for each in (of_class, NAMED)]
    for place, each in enumerate(axioms.members(o)):
        role, shared = expressions.role(each), Variable(f"y{place}")
        body += [role.between(_X, shared), role.between(_Y, shared)]
        if not role.of_values:
            body.append(member(shared, NAMED))
    yield Clause(name, tuple(body), (Alternative((TriplePattern(_X, OWL_SAME_AS, _Y),)),))


def negative(axioms: Axioms, expressions: Expressions, node: Term) -> Iterator[Clause]:
    """One individual does not have another one, or a value, for a property."""
    found = {str(p).removeprefix(OWL): o for _, p, o in axioms.about(node)}
    name = f"{node.n3} a owl:NegativePropertyAssertion"
    role = expressions.role(found["assertionProperty"])
    one = constant(found["sourceIndividual"])
    if "targetValue" in found:
        value = found["targetValue"]
        if not isinstance(value, Literal):
            raise Untreated(f"the value {value.n3}")
        asked = expressions.values.within(role, Listed((known_value(value),)))
        yield Clause(name, (role.between(one, _Y), member(_Y, asked)), ())
    else:
        yield Clause(name, (role.between(one, constant(found["targetIndividual"])),), ())


def rule(axioms: Axioms, expressions: Expressions, node: Term) -> Iterator[Clause]:
    """What a SWRL rule concludes, one clause for each atom of its head."""
    name = f"the rule {node.n3}"
    read = _Rule(axioms, expressions, name)
    for atom in read.atoms(node, "body"):
        read.condition(atom)
    body = (*read.body, *(member(each, NAMED) for each in read.individuals))
    for atom in read.atoms(node, "head"):
        yield Clause(name, body, (*read.otherwise, read.conclusion(atom)))


class _Rule:
    """One rule, as it is read."""

    def __init__(self, axioms: Axioms, expressions: Expressions, name: str) -> None:
        self._axioms = axioms
        self._expressions = expressions
        self._name = name
        self.body: list[TriplePattern] = []
        self.individuals: dict[Variable, None] = {}
        self.otherwise: list[Alternative] = []
        """What holds where the condition does not, because it is that two are different."""

    def atoms(self, node: Term, part: str) -> list[Term]:
        """The atoms of body or head."""
        head = self._axioms.value(node, f"{SWRL}{part}")
        return [] if head is None else self._axioms.members(head)

    def condition(self, atom: Term) -> None:
        """An atom of the body."""
        match self._kind(atom):
            case "ClassAtom":
                of_class = self._expressions.around(self._name, self._part(atom, "classPredicate"))
                self.body.append(member(self._individual(atom, 1), of_class))
            case "IndividualPropertyAtom":
                self.body.append(self._link(atom))
            case "DatavaluedPropertyAtom":
                role = self._expressions.role(self._part(atom, "propertyPredicate"))
                value = self._part(atom, "argument2")
                end = self._variable(value)
                self.body.append(role.between(self._individual(atom, 1), end))
                if isinstance(value, Literal):
                    asked = Listed((known_value(value),))
                    self.body.append(member(end, self._expressions.values.within(role, asked)))
            case "DifferentIndividualsAtom":
                same = TriplePattern(
                    self._individual(atom, 1), OWL_SAME_AS, self._individual(atom, 2)
                )
                self.otherwise.append(Alternative((same,)))
            case kind:
                raise Untreated(f"a {kind} in the body of a rule")

    def conclusion(self, atom: Term) -> Alternative:
        """An atom of the head."""
        match self._kind(atom):
            case "ClassAtom":
                of_class = self._expressions.within(self._name, self._part(atom, "classPredicate"))
                triple = member(self._individual(atom, 1), of_class)
            case "IndividualPropertyAtom":
                triple = self._link(atom)
            case "DatavaluedPropertyAtom":
                role = self._expressions.role(self._part(atom, "propertyPredicate"))
                value = self._part(atom, "argument2")
                if not isinstance(value, Literal):
                    raise Untreated("a variable for a value in the head of a rule")
                end = self._expressions.values.known(role, value)
                triple = role.between(self._individual(atom, 1), end)
            case "SameIndividualAtom" | "DifferentIndividualsAtom" as kind:
                link = OWL_SAME_AS if kind.startswith("Same") else OWL_DIFFERENT_FROM
                one, other = self._individual(atom, 1), self._individual(atom, 2)
                triple = TriplePattern(one, link, other)
            case kind:
                raise Untreated(f"a {kind} in the head of a rule")
        return Alternative((triple,))

    def _link(self, atom: Term) -> TriplePattern:
        role = self._expressions.role(self._part(atom, "propertyPredicate"))
        return role.between(self._individual(atom, 1), self._individual(atom, 2))

    def _kind(self, atom: Term) -> str:
        kind = self._axioms.value(atom, RDF_TYPE)
        return "atom without a type" if kind is None else str(kind).removeprefix(SWRL)

    def _part(self, atom: Term, word: str) -> Term:
        found = self._axioms.value(atom, f"{SWRL}{word}")
        if found is None:
            raise Untreated(f"an atom without {word}")
        return found

    def _individual(self, atom: Term, number: int) -> PatternTerm:
        term = self._part(atom, f"argument{number}")
        if isinstance(term, Literal):
            raise Untreated(f"the individual {term.n3}")
        if not self._is_variable(term):
            return constant(term)
        found = Variable(str(term))
        self.individuals[found] = None
        return found

    def _variable(self, term: Term) -> Variable:
        if not isinstance(term, Literal) and not self._is_variable(term):
            raise Untreated(f"the value {term.n3}")
        return Variable(f"value {term}")

    def _is_variable(self, term: Term) -> bool:
        return any(p == RDF_TYPE and o == f"{SWRL}Variable" for _, p, o in self._axioms.about(term))
