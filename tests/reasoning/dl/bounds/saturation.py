"""What rules derive, by the definition: every rule again and again until nothing is new.

Equality is substitution: each individual gets the triples of those that are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.reasoning.dl.bounds.foreseen import APART, apart
from sensorstream.reasoning.dl.bounds.rules import LOWER
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Call,
    Comparison,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Not,
    Or,
    Pattern,
    TriplePattern,
    Variable,
)

Fact = tuple[Term, Term, Term]
Row = dict[str, Term]


class Facts:
    """Triples, found by predicate and by one end."""

    def __init__(self, triples: Iterable[Fact] = ()) -> None:
        self.all: set[Fact] = set()
        self._found: dict[tuple[Term | None, ...], list[Fact]] = defaultdict(list)
        for triple in triples:
            self.add(triple)

    def add(self, triple: Fact) -> bool:
        if triple in self.all:
            return False
        self.all.add(triple)
        s, p, o = triple
        for key in ((s, p, None), (None, p, o), (None, p, None), (s, None, None), (None, None, o)):
            self._found[key].append(triple)
        return True

    def match(self, s: Term | None, p: Term | None, o: Term | None) -> Sequence[Fact]:
        if s is not None and o is not None and p is not None:
            return [(s, p, o)] if (s, p, o) in self.all else []
        return list(self._found.get((s, p, o), ()))


def saturate(
    rules: Sequence[DerivationRule], facts: Iterable[Fact], lower: Facts | None = None
) -> Facts:
    """The facts with everything that the rules derive from them."""
    found = Facts(facts)
    while True:
        fresh = {
            triple
            for rule in rules
            for row in solutions(rule.body, found, lower or Facts(), {})
            for head in rule.head
            if not isinstance((triple := _filled(head, row))[0], Literal)
        }
        fresh.update(_equated(found))
        if not sum(map(found.add, fresh)):
            return found


def solutions(pattern: Pattern, facts: Facts, lower: Facts, row: Row) -> Iterator[Row]:
    match pattern:
        case BGP(patterns):
            yield from _matches(patterns, facts, row)
        case Filter(condition, inner):
            for each in solutions(inner, facts, lower, row):
                if _holds(condition, facts, lower, each):
                    yield each
        case Graph(name, inner) if name == LOWER:
            yield from solutions(inner, lower, lower, row)
        case Extend(inner, variable, expression):
            for each in solutions(inner, facts, lower, row):
                yield {**each, variable.name: IRI(_text(expression, each))}
        case _:
            raise AssertionError(pattern)


def _holds(condition: Expression, facts: Facts, lower: Facts, row: Row) -> bool:
    match condition:
        case Not(operand):
            return not _holds(operand, facts, lower, row)
        case Exists(pattern):
            return next(solutions(pattern, facts, lower, row), None) is not None
        case And(left, right):
            return _holds(left, facts, lower, row) and _holds(right, facts, lower, row)
        case Or(left, right):
            return _holds(left, facts, lower, row) or _holds(right, facts, lower, row)
        case Call("ISIRI", (argument,)):
            return isinstance(_value(argument, row), IRI)
        case Call("STRSTARTS", (one, Literal() as start)):
            return _text(one, row).startswith(start.lexical)
        case Call(name, (one, other, Literal() as table)) if name == APART:
            return apart(table.lexical)(str(_value(one, row)), str(_value(other, row)))
        case Call("ISBLANK", (argument,)):
            return isinstance(_value(argument, row), BlankNode)
        case Comparison("<", Call("STR", (left,)), Call("STR", (right,))):
            names = _value(left, row), _value(right, row)
            return all(isinstance(each, IRI) for each in names) and str(names[0]) < str(names[1])
        case Comparison("!=", left, right):
            return _value(left, row) != _value(right, row)
    raise AssertionError(condition)


def _text(expression: Expression, row: Row) -> str:
    match expression:
        case Call("IRI" | "STR", (argument,)):
            return _text(argument, row)
        case Call("CONCAT", arguments):
            return "".join(_text(each, row) for each in arguments)
        case Literal():
            return expression.lexical
    return str(_value(expression, row))


def _matches(patterns: Sequence[TriplePattern], facts: Facts, row: Row) -> Iterator[Row]:
    if not patterns:
        yield row
        return
    first, *rest = patterns
    asked = (_value(first.subject, row), first.predicate, _value(first.object, row))
    for triple in facts.match(*asked):  # type: ignore[arg-type]
        extended = dict(row)
        for end, term in ((first.subject, triple[0]), (first.object, triple[2])):
            if isinstance(end, Variable) and extended.setdefault(end.name, term) != term:
                break
        else:
            yield from _matches(rest, facts, extended)


def _value(end: object, row: Row) -> Term | None:
    if isinstance(end, Variable):
        return row.get(end.name)
    assert isinstance(end, IRI | Literal)
    return end


def _filled(triple: TriplePattern, row: Row) -> Fact:
    s, o = _value(triple.subject, row), _value(triple.object, row)
    assert s is not None
    assert o is not None
    assert isinstance(triple.predicate, IRI)
    return s, triple.predicate, o


def _equated(facts: Facts) -> Iterator[Fact]:
    for one, _, other in facts.match(None, OWL_SAME_AS, None):
        yield other, OWL_SAME_AS, one
        for _, p, o in facts.match(one, None, None):
            yield other, p, o
        for s, p, _ in facts.match(None, None, one):
            if p != RDF_TYPE:
                yield s, p, other
