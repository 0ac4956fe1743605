"""A derivation rule, and the form in which each of its solutions is one derivation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import count, product
from typing import Final

from sensorstream.errors import ProgramError
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.functions import CASTS, Trait, named
from sensorstream.sparql.variable_scope import in_scope, names_in
from sensorstream.sparql.walk import kept_in, optional_in, with_kept

_NODE: Final = "NODE"
"""The function of :func:`node_of`, which no text can call."""


@frozen
class DerivationRule:
    """A rule: the triples of ``head`` hold for each solution of ``body``; ``name`` is for people.

    The body is the pattern of a WHERE clause. A triple that is not well-formed in a solution
    (unbound, a literal as subject) is left out, as in CONSTRUCT (SPARQL 1.1, section 16.2).
    """

    name: str
    head: tuple[TriplePattern, ...]
    body: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class RuleClause:
    """An alternative of a rule; its rows contain every variable, so each row is one derivation.

    ``head`` are the triples of the rule's head whose variables this alternative can bind. Clauses
    are compared by identity, as each pair of a program is asked which feeds which.
    """

    rule: DerivationRule
    head: tuple[TriplePattern, ...]
    body: algebra.Project

    @property
    def invented(self) -> tuple[Invention, ...]:
        """The variables of the head to which BIND gives new terms.

        Casts do not count: however often they are repeated, they make few terms of one.
        """
        sources = self.sources
        named = names_in(self.head)
        found: dict[str, Invention] = {}
        for extend in _extends(self.body.pattern):
            name, expression = extend.variable.name, _uncast(extend.expression)
            copied = isinstance(expression, Variable) and expression.name not in found
            if not copied and not isinstance(expression, IRI | Literal):
                found[name] = Invention(name, sources[name], _sort(expression))
        return tuple(each for name, each in found.items() if name in named)

    @property
    def sources(self) -> dict[str, frozenset[str]]:
        """The variables, themselves not computed, that each variable of BIND is computed from."""
        found: dict[str, frozenset[str]] = {}
        for extend in _extends(self.body.pattern):
            used = names_in(extend.expression)
            empty: frozenset[str] = frozenset()
            found[extend.variable.name] = empty.union(
                *(found.get(name, frozenset((name,))) for name in used)
            )
        return found


class ComputedSort(Enum):
    """The sort of a computed term."""

    NODE = "a blank node"
    NAME = "an IRI"
    ANY = "any term"


_GIVE_NAMES: Final = named(Trait.GIVES_NAME)


def _uncast(expression: Expression) -> Expression:
    """The expression inside casts to datatypes, or the expression itself."""
    while isinstance(expression, algebra.FunctionCall) and expression.function in CASTS:
        if len(expression.arguments) != 1:
            break
        (expression,) = expression.arguments
    return expression


def _sort(expression: Expression) -> ComputedSort:
    if is_node(expression):
        return ComputedSort.NODE
    named = isinstance(expression, algebra.Call) and expression.name in _GIVE_NAMES
    return ComputedSort.NAME if named else ComputedSort.ANY


@frozen
class Invention:
    """A variable with a term that is computed from those of ``sources``; ``sort`` is its kind."""

    variable: str
    sources: frozenset[str]
    sort: ComputedSort


def node_of(key: str, variables: Iterable[str]) -> algebra.Call:
    """A blank node for a key and terms of some variables: the same one wherever it is computed.

    A variable may be unbound. The number of steps in which nodes are made of nodes is bounded.
    """
    return algebra.Call(_NODE, (Literal(key), *map(Variable, variables)))


def is_node(expression: object) -> bool:
    """Whether an expression is one of :func:`node_of`."""
    return isinstance(expression, algebra.Call) and expression.name == _NODE


def constant(term: Term) -> IRI | Literal:
    """Convert a term of a graph to a constant of a rule, where a blank node would be a variable.

    A blank node becomes an IRI of its text. Terms match by their text, and no other IRI begins with
    ``_:``; :func:`meant` is the way back.
    """
    return IRI(term) if isinstance(term, BlankNode) else term


def meant(constant: IRI | Literal) -> Term:
    """The term of the graph that a constant of a rule stands for."""
    if isinstance(constant, IRI) and constant.startswith("_:"):
        return BlankNode(constant)
    return constant


def clauses(rule: DerivationRule) -> list[RuleClause]:
    """The clauses of a rule: one per alternative of UNION, and of paths that equal triples.

    No two solutions of a clause agree in all variables, so a row that is removed and added in one
    instant is the same derivation. Over-deletion needs that: if two derivations shared a row, one
    could replace the other unnoticed, although it may be supported by its own conclusion.

    Raises ProgramError if the head cannot be written.
    """
    _check_head(rule)
    fresh = count()
    found = []
    for body in _alternatives(rule.body, fresh):
        bound = in_scope(body)
        head = tuple(triple for triple in rule.head if names_in(triple) <= bound)
        if head:
            found.append(
                RuleClause(rule, head, algebra.Project(body, tuple(map(Variable, sorted(bound)))))
            )
    return found


def _check_head(rule: DerivationRule) -> None:
    bound = in_scope(rule.body)
    for triple in rule.head:
        if not isinstance(triple.predicate, IRI | Variable):
            raise ProgramError(
                f"rule {rule.name}: a property path in the head: expected triples with a property"
            )
        for end in (triple.subject, triple.object):
            if isinstance(end, BlankNode):
                raise ProgramError(
                    f"rule {rule.name}: the head makes a blank node, {end}: expected a name, "
                    "for example with BIND(IRI(CONCAT(…)) AS ?new) in the body"
                )
        if isinstance(triple.subject, Literal):
            raise ProgramError(f"rule {rule.name}: a literal as subject: {triple.subject.n3}")
        if missing := sorted(names_in(triple) - bound):
            raise ProgramError(
                f"rule {rule.name}: the body does not bind ?{missing[0]} of the head; "
                f"it binds {', '.join(f'?{name}' for name in sorted(bound)) or 'nothing'}"
            )


def _alternatives(pattern: Pattern, fresh: Iterator[int]) -> list[Pattern]:
    """The pattern as a union of patterns without UNION, except in parts evaluated as a whole.

    UNION distributes over every operator of which it is the (left) input, because each operator
    handles its solutions one by one (SPARQL 1.1, section 18.5).
    """
    match pattern:
        case algebra.BGP(patterns):
            ways = product(*(_ways(each, fresh) for each in patterns))
            return [
                algebra.BGP(tuple(triple for way in chosen for triple in way)) for chosen in ways
            ]
        case algebra.Union(left, right):
            return [*_alternatives(left, fresh), *_alternatives(right, fresh)]
        case _ if isinstance(pattern, _ROWWISE):
            found = product(*(_alternatives(each, fresh) for each in kept_in(pattern)))
            return [with_kept(pattern, each) for each in found]
    return [pattern]


_ROWWISE: Final = algebra.OneByOne | algebra.Graph | algebra.Window


def _ways(triple: TriplePattern, fresh: Iterator[int]) -> list[tuple[TriplePattern, ...]]:
    """The ways of a path as triples, with a variable at each joint (section 18.2.2.4)."""
    subject, path, object_ = _asked(triple.subject), triple.predicate, _asked(triple.object)
    match path:
        case algebra.Inverse(inner):
            return _ways(TriplePattern(object_, inner, subject), fresh)
        case algebra.Sequence(left, right):
            between = Variable(f".step{next(fresh)}")
            firsts = _ways(TriplePattern(subject, left, between), fresh)
            seconds = _ways(TriplePattern(between, right, object_), fresh)
            return [(*first, *second) for first in firsts for second in seconds]
        case algebra.Alternative(left, right):
            return [
                *_ways(TriplePattern(subject, left, object_), fresh),
                *_ways(TriplePattern(subject, right, object_), fresh),
            ]
    return [(TriplePattern(subject, path, object_),)]


def _asked(end: PatternTerm) -> PatternTerm:
    """Convert an end: a blank node of a pattern becomes a variable that rows contain."""
    return Variable(f".{end}") if isinstance(end, BlankNode) else end


def _extends(pattern: Pattern) -> Iterator[algebra.Extend]:
    """The BIND of a body, inner ones first, without those of sub-selects and right sides."""
    if isinstance(pattern, _ROWWISE):
        missing = optional_in(pattern) if isinstance(pattern, algebra.LeftJoin) else ()
        for each in (*kept_in(pattern), *missing):
            yield from _extends(each)
    if isinstance(pattern, algebra.Extend):
        yield pattern
