"""In which ways rules conclude a given triple from what a graph holds: rules, backwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeAlias

from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.expressions.expression_functions import test_of
from sensorstream.network.network import Network
from sensorstream.network.recursion.kinds import KindIndex
from sensorstream.network.recursion.reads import Kind, written
from sensorstream.network.recursion.rule import DerivationRule, clauses, meant
from sensorstream.network.rows import Row
from sensorstream.reasoning.rulesets.conjunction import triples_of
from sensorstream.reasoning.rulesets.graphs_read import GraphsRead
from sensorstream.reasoning.rulesets.solving import Binding, bound, solutions
from sensorstream.reasoning.rulesets.substitution import Substitution, can_be_substituted
from sensorstream.sparql.algebra import (
    BGP,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    PatternTerm,
    Project,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.printing.term_text import triple_text
from sensorstream.sparql.scope import existences, in_scope, names_in


@dataclass(frozen=True, slots=True)
class Application:
    """One solution of a rule's body, for which a triple of its head holds.

    ``rule`` is its name, ``bindings`` the variables of its text, ``premises`` the triples that the
    body must match. ``paths`` are what it must match by a path that repeats, as text: what the path
    went along is not among the premises.
    """

    rule: str
    bindings: tuple[tuple[str, Term], ...]
    premises: tuple[Triple, ...]
    paths: tuple[str, ...] = ()


_Test: TypeAlias = tuple[tuple[str, ...], Callable[[Row], bool]]
"""A condition of some variables, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """A triple of the head of a rule without alternatives, and what its body asks for."""

    number: int
    rule: str
    head: TriplePattern
    body: Pattern
    triples: tuple[TriplePattern, ...]
    tests: tuple[_Test, ...] | None
    """None: the body has more than triples and conditions."""


class Applications:
    """The rules, found by what they conclude, over a graph that does not change meanwhile."""

    def __init__(self, rules: Iterable[DerivationRule], kb: KnowledgeBase) -> None:
        """The rules have no lists; see :func:`.lists.unrolled`."""
        self._kb = kb
        self._ways: KindIndex[_Way] = KindIndex()
        number = 0
        for rule in rules:
            for clause in clauses(rule):
                body = clause.body.pattern
                asked = tuple(dict.fromkeys(_matched(body)))
                tests = _tests(body)
                for head in clause.head:
                    way = _Way(number, rule.name, head, body, asked, tests)
                    self._ways.add(written(head), way)
                    number += 1

    def of(self, triple: Triple) -> Iterator[Application]:
        """The applications that conclude a triple, in the order of the rules.

        The rules are asked one after the other, each with what the triple tells of its variables.
        """
        near = dict.fromkeys(self._ways.meeting(Kind(triple[1], triple[2])))
        for way in sorted(near, key=lambda each: each.number):
            head = way.head
            given = bound((head.subject, head.predicate, head.object), triple)
            if given is not None:
                for row in self._rows(way, given):
                    yield _application(way, row)

    def _rows(self, way: _Way, given: dict[str, Term]) -> Iterator[Binding]:
        if way.tests is None:
            yield from _solved(way, given, self._kb)
            return
        for row in solutions(way.triples, self._kb.index, given):
            if all(test(tuple(row.get(name) for name in names)) for names, test in way.tests):
                yield row


def _matched(body: Pattern) -> Iterator[TriplePattern]:
    """The triple patterns that every solution matches, in whichever graph."""
    match body:
        case Join(left, right):
            yield from _matched(left)
            yield from _matched(right)
        case Filter(_, inner) | Extend(inner, _, _) | LeftJoin(inner, _, _) | Minus(inner, _):
            yield from _matched(inner)
        case Graph(_, inner):
            yield from _matched(inner)
        case _:
            yield from triples_of(body)


def _tests(body: Pattern) -> tuple[_Test, ...] | None:
    match body:
        case BGP():
            return ()
        case Filter(condition, inner) if not existences(condition):
            below = _tests(inner)
            if below is None:
                return None
            names = tuple(sorted(names_in(condition)))
            places = {name: place for place, name in enumerate(names)}
            return (*below, (names, test_of(condition, places)))
    return None


def _solved(way: _Way, given: Binding, kb: KnowledgeBase) -> Iterator[Binding]:
    """The solutions of any body with some values, by operators as those of a query."""
    blank = {name for name, term in given.items() if isinstance(term, BlankNode)}
    names = {name for name in given if can_be_substituted(way.body, {name}, blank & {name})}
    rule = DerivationRule(way.rule, (), way.body)
    made = Substitution(rule, names)({name: given[name] for name in names})
    if made is None:
        return
    variables = tuple(map(Variable, sorted(in_scope(made.body) - names)))
    with closing(GraphsRead(kb, [made])) as graphs, closing(Network()) as network:
        node = graphs.build(network, Project(made.body, variables))
        for row in list(node.rows()):
            pairs = zip(node.variables, row, strict=True)
            found = {name: term for name, term in pairs if term is not None}
            if all(found.get(name, term) == term for name, term in given.items()):
                yield {**found, **given}


def _application(way: _Way, row: Binding) -> Application:
    premises: dict[Triple, None] = {}
    paths: list[str] = []
    for each in way.triples:
        subject, object_ = _filled(each.subject, row), _filled(each.object, row)
        if isinstance(each.predicate, IRI | Variable):
            premises[subject, _filled(each.predicate, row), object_] = None  # type: ignore[index]
        else:
            paths.append(triple_text(replace(each, subject=subject, object=object_)))
    bindings = tuple((name, row[name]) for name in sorted(row) if not name.startswith("."))
    return Application(way.rule, bindings, tuple(premises), tuple(paths))


def _filled(end: PatternTerm, row: Binding) -> Term:
    if isinstance(end, Variable):
        return row[end.name]
    assert isinstance(end, IRI | Literal)
    return meant(end)
