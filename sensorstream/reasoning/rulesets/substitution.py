"""Rules with terms in the place of variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.expressions.values import truth
from sensorstream.network.recursion.rule import DerivationRule, constant
from sensorstream.reasoning.rulesets.conjunction import triples_of
from sensorstream.sparql.algebra import (
    And,
    Call,
    Exists,
    Expression,
    Extend,
    Filter,
    FunctionCall,
    Group,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    Project,
    TriplePattern,
    Values,
    Variable,
)
from sensorstream.sparql.scope import existences, in_scope, names_in
from sensorstream.sparql.walk import children, nodes, replaced


def substituted(rule: DerivationRule, binding: Mapping[str, Term]) -> DerivationRule | None:
    """The rule for the solutions with these terms; None: it concludes nothing from them.

    Filters that the terms decide are gone, and so is what cannot be written. The terms must be
    bound by patterns that the body no longer needs, and :func:`can_be_substituted`.
    """
    constants = {name: constant(term) for name, term in binding.items()}

    def known(part: object) -> object | None:
        return constants.get(part.name) if isinstance(part, Variable) else None

    head = tuple(triple for each in rule.head if _is_well_formed(triple := replaced(each, known)))
    if rule.head and not head:
        return None
    body = _decided(rule.body, binding)
    if body is None:
        return None
    body = replaced(body, known)
    if not all(map(_is_well_formed, triples_of(body))):
        return None
    return replace(rule, head=head, body=body)


def can_be_substituted(body: Pattern, named: Set[str], blank: Set[str]) -> bool:
    """Whether a body means the same with terms for variables as with the patterns that bind them.

    ``named`` are the variables, ``blank`` those of them that stand for blank nodes.

    Not where a variable is a column of a sub-select, of VALUES or of BIND, not where a filter has a
    variable from outside its group, and not where a function that remains gets a blank node.
    """
    for part in nodes(body):
        match part:
            case Project(_, columns) | Values(columns, _):
                if any(each.name in named for each in columns):
                    return False
            case Group():
                if named & names_in((part.keys, part.aggregates)):
                    return False
            case Extend(_, variable, expression):
                if variable.name in named or _asks_kind(expression, blank):
                    return False
            case Filter(condition, inner):
                for each in conjuncts(condition):
                    mentioned = _names(each)
                    if mentioned & named - in_scope(inner):
                        return False
                    if not mentioned <= named and _asks_kind(each, blank):
                        return False
    return True


def _asks_kind(expression: Expression, names: Set[str]) -> bool:
    """Whether a function is called with one of these variables; sameTerm compares texts only."""
    return any(
        isinstance(part, Call | FunctionCall)
        and not (isinstance(part, Call) and part.name == "SAMETERM")
        and any(isinstance(each, Variable) and each.name in names for each in part.arguments)
        for part in nodes(expression)
    )


def _names(expression: object) -> frozenset[str]:
    """The variables of an expression, without those of patterns in it."""
    if isinstance(expression, Variable):
        return frozenset((expression.name,))
    if isinstance(expression, Exists):
        return frozenset()
    return frozenset().union(*map(_names, children(expression)))


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that must all hold."""
    if isinstance(condition, And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def _is_decided(condition: Expression, binding: Mapping[str, Term]) -> bool:
    return not existences(condition) and names_in(condition) <= binding.keys()


def _decided(body: Pattern, binding: Mapping[str, Term]) -> Pattern | None:
    """The body without the conditions that the terms decide; None: one of them is not true."""
    match body:
        case Filter(condition, inner):
            left: Expression | None = None
            for each in conjuncts(condition):
                if _is_decided(each, binding):
                    holds = _truth(each, binding)
                    if holds is False:
                        return None
                    if holds:
                        continue
                left = each if left is None else And(left, each)
            below = _decided(inner, binding)
            if below is None or left is None:
                return below
            return Filter(left, below)
        case Join(one, other):
            first, second = _decided(one, binding), _decided(other, binding)
            return None if first is None or second is None else Join(first, second)
        case Extend(inner, variable, expression):
            below = _decided(inner, binding)
            return None if below is None else Extend(below, variable, expression)
        case LeftJoin() | Minus():
            below = _decided(body.left, binding)
            return None if below is None else replace(body, left=below)
    return body


def _truth(condition: Expression, binding: Mapping[str, Term]) -> bool | None:
    """Whether a condition holds; None: that cannot be told from these terms."""
    names = sorted(names_in(condition))
    try:
        value = value_of(condition, {name: place for place, name in enumerate(names)})
    except (NotIncremental, UnsupportedQuery):
        return None
    return truth(value(tuple(binding[name] for name in names))) is True


def _is_well_formed(triple: TriplePattern) -> bool:
    """Whether the constants of a pattern are where RDF has such terms."""
    predicate = triple.predicate
    if isinstance(predicate, IRI) and predicate.startswith("_:"):
        return False
    return not isinstance(triple.subject, Literal) and not isinstance(predicate, Literal)
