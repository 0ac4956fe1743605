"""What rules derive, by the definition: every rule again and again until nothing is new.

Equality is substitution: each individual gets the triples of those that are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.reasoning.dl.bounds.bound_rules import Conclusion
from sensorstream.reasoning.dl.bounds.foreseen_conclusions import APART, apart
from sensorstream.sparql.algebra import (
    And,
    Call,
    Comparison,
    Expression,
    Not,
    Or,
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
    rules: Sequence[Conclusion], facts: Iterable[Fact], lower: Facts | None = None
) -> Facts:
    """The facts with everything that the rules derive from them."""
    found = Facts(facts)
    while True:
        fresh = {
            triple
            for rule in rules
            for row in solutions(rule, found, lower or Facts())
            for head in rule.heads
            if not isinstance((triple := _filled(head, row))[0], Literal)
        }
        fresh.update(_equated(found))
        if not sum(map(found.add, fresh)):
            return found


def solutions(rule: Conclusion, facts: Facts, lower: Facts) -> Iterator[Row]:
    for row in _matches(rule.premises, facts, {}):
        if not all(_holds(test, row) for test in rule.tests):
            continue
        if any(next(_matches(each, lower, row), None) is not None for each in rule.absent):
            continue
        made = {
            each.variable.name: IRI(f"{each.prefix}{row[each.owner.name]}") for each in rule.names
        }
        yield row | made


def _holds(condition: Expression, row: Row) -> bool:
    match condition:
        case Not(operand):
            return not _holds(operand, row)
        case And(left, right):
            return _holds(left, row) and _holds(right, row)
        case Or(left, right):
            return _holds(left, row) or _holds(right, row)
        case Call("ISIRI", (argument,)):
            return isinstance(_value(argument, row), IRI)
        case Call("STRSTARTS", (Call("STR", (one,)), Literal() as start)):
            return str(_value(one, row)).startswith(start.lexical)
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
    for one, _, other in facts.match(None, owl.SAME_AS, None):
        yield other, owl.SAME_AS, one
        for _, p, o in facts.match(one, None, None):
            yield other, p, o
        for s, p, _ in facts.match(None, None, one):
            if p != rdf.TYPE:
                yield s, p, other
