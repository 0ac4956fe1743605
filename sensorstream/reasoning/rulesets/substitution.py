"""The triple patterns that a body must match, and rules with terms for variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.expression_functions import Value, value_of
from sensorstream.network.recursion.rule import DerivationRule, constant, is_node
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Call,
    Each,
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
from sensorstream.sparql.values import truth
from sensorstream.sparql.walk import children, nodes, replaced


def triples_of(body: Pattern) -> Iterator[TriplePattern]:
    """The triple patterns that every solution matches, without those of EACH."""
    for block in _parts(body):
        if isinstance(block, BGP):
            yield from block.patterns


def eaches_of(body: Pattern) -> Iterator[Each]:
    """The EACH that every solution matches."""
    return (part for part in _parts(body) if isinstance(part, Each))


def _parts(body: Pattern) -> Iterator[Pattern]:
    match body:
        case Join(left, right):
            yield from _parts(left)
            yield from _parts(right)
        case Filter(_, inner) | Extend(inner, _, _) | LeftJoin(inner, _, _) | Minus(inner, _):
            yield from _parts(inner)
        case _:
            yield body


def changed(
    body: Pattern,
    triple: Callable[[TriplePattern], TriplePattern | None],
    each: Callable[[Each], Pattern] = lambda part: part,
) -> Pattern:
    """The body with what :func:`triples_of` and :func:`eaches_of` give replaced; None: left out."""
    match body:
        case BGP(patterns):
            kept = [new for old in patterns if (new := triple(old)) is not None]
            return BGP(tuple(kept))
        case Each():
            return each(body)
        case Join(left, right):
            return together(changed(left, triple, each), changed(right, triple, each))
        case Filter(condition, inner):
            return Filter(condition, changed(inner, triple, each))
        case Extend(inner, variable, expression):
            return Extend(changed(inner, triple, each), variable, expression)
        case LeftJoin(inner, right, condition):
            return LeftJoin(changed(inner, triple, each), right, condition)
        case Minus(inner, right):
            return Minus(changed(inner, triple, each), right)
    return body


def together(left: Pattern, right: Pattern) -> Pattern:
    """Both patterns; two blocks of triples become one."""
    if isinstance(left, BGP) and isinstance(right, BGP):
        return BGP(tuple(dict.fromkeys((*left.patterns, *right.patterns))))
    if left == BGP():
        return right
    return left if right == BGP() else Join(left, right)


class Substitution:
    """A rule whose variables of these names become terms.

    The terms must be bound by patterns that the body no longer needs; see
    :func:`can_be_substituted`. Filters that the terms alone decide are gone.
    """

    def __init__(self, rule: DerivationRule, names: Set[str]) -> None:
        self._rule = rule
        self._conditions: list[tuple[tuple[str, ...], Value]] = []
        self.body = self._undecided(rule.body, names)
        """The body of the rule without the filters that the terms alone decide."""

    def allows(self, binding: Mapping[str, Term]) -> bool:
        """Whether the filters that the terms alone decide hold."""
        return all(
            truth(value(tuple(binding[name] for name in names))) is True
            for names, value in self._conditions
        )

    def __call__(self, binding: Mapping[str, Term]) -> DerivationRule | None:
        """The rule for the solutions with these terms; None: it concludes nothing from them.

        Triples of the head that cannot be written are left out.
        """
        if not self.allows(binding):
            return None
        constants = {name: constant(term) for name, term in binding.items()}
        head = tuple(filter(_is_well_formed, _filled(self._rule.head, constants)))
        if self._rule.head and not head:
            return None
        body = _with_constants(self.body, constants)
        if not all(map(_is_well_formed, triples_of(body))):
            return None
        return DerivationRule(self._rule.name, head, body)

    def _undecided(self, body: Pattern, names: Set[str]) -> Pattern:
        """The body without the conditions of :attr:`_conditions`, which are collected."""
        match body:
            case Filter(condition, inner):
                left: Expression | None = None
                for each in conjuncts(condition):
                    if not self._decides(each, names):
                        left = each if left is None else And(left, each)
                below = self._undecided(inner, names)
                return below if left is None else Filter(left, below)
            case Join(one, other):
                return Join(self._undecided(one, names), self._undecided(other, names))
            case Extend(inner, variable, expression):
                return Extend(self._undecided(inner, names), variable, expression)
            case LeftJoin() | Minus():
                return replace(body, left=self._undecided(body.left, names))
        return body

    def _decides(self, condition: Expression, names: Set[str]) -> bool:
        """Whether the terms alone tell if a condition holds, which is then noted."""
        if existences(condition):
            return False
        its_names = tuple(sorted(names_in(condition)))
        if not names >= set(its_names):
            return False
        try:
            value = value_of(condition, {name: place for place, name in enumerate(its_names)})
        except (NotIncremental, UnsupportedQuery):
            return False
        self._conditions.append((its_names, value))
        return True


def _with_constants(body: Pattern, constants: Mapping[str, IRI | Literal]) -> Pattern:
    if isinstance(body, BGP):
        # By far the most frequent body.
        return BGP(_filled(body.patterns, constants))
    return replaced(
        body, lambda part: constants.get(part.name) if isinstance(part, Variable) else None
    )


def _filled(
    triples: Iterable[TriplePattern], constants: Mapping[str, IRI | Literal]
) -> tuple[TriplePattern, ...]:
    return tuple(
        TriplePattern(
            constants.get(s.name, s) if isinstance(s := each.subject, Variable) else s,
            constants.get(p.name, p) if isinstance(p := each.predicate, Variable) else p,  # type: ignore[arg-type]
            constants.get(o.name, o) if isinstance(o := each.object, Variable) else o,
        )
        for each in triples
    )


def can_be_substituted(body: Pattern, named: Set[str], blank: Set[str]) -> bool:
    """Whether a body means the same with terms for variables as with the patterns that bind them.

    ``named`` are the variables, ``blank`` those of them that stand for blank nodes.

    Not where a variable is a column of a sub-select, of VALUES or of BIND, not where a filter has a
    variable from outside its group, not where a function that remains gets a blank node, and not
    for a regular expression, which is checked before there are values if it is a constant.
    """
    for part in nodes(body):
        match part:
            case Call("REGEX" | "REPLACE", (_, *patterns)):
                if any(isinstance(each, Variable) and each.name in named for each in patterns):
                    return False
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
    """Whether a function is called with one of these variables, but for those of texts only."""
    return any(
        isinstance(part, Call | FunctionCall)
        and not (isinstance(part, Call) and (part.name == "SAMETERM" or is_node(part)))
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


def _is_well_formed(triple: TriplePattern) -> bool:
    """Whether the constants of a pattern are where RDF has such terms."""
    predicate = triple.predicate
    if isinstance(predicate, IRI) and predicate.startswith("_:"):
        return False
    return not isinstance(triple.subject, Literal) and not isinstance(predicate, Literal)
