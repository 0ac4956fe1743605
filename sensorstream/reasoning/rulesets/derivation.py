"""The reason why a triple follows by rules: one derivation, down to given triples.

Nothing is kept for this while the rules run. When somebody asks, the rules are applied backwards to
the graph, level by level, until given triples derive the triple; among all that was found, the
derivation with the fewest steps one above the other is taken. So no triple is a reason of itself,
however the rules go round in circles.

Source: W. F. Dowling, J. H. Gallier, "Linear-time algorithms for testing the satisfiability of
propositional Horn formulae", 1984, for what follows from a set of applications.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.network.expressions.expression_functions import test_of
from sensorstream.network.network import Network
from sensorstream.network.recursion.derivation_rule import DerivationRule, clauses
from sensorstream.network.recursion.triple_kinds import KindIndex, TriplesRead, written
from sensorstream.network.rows import Row
from sensorstream.reasoning.dl.quickxplain import minimal_conflict
from sensorstream.reasoning.rulesets.graphs_read import GraphsRead
from sensorstream.reasoning.rulesets.pattern_solutions import (
    Binding,
    Substitution,
    bound,
    can_be_substituted,
    filled,
    filled_triple,
    solutions,
    triples_of,
)
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, TriplePattern, Variable
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.variable_scope import existences, in_scope, names_in


@frozen
class RuleApplication:
    """A solution of a rule's body, for which a triple of its head holds.

    ``rule`` is its name, ``bindings`` the variables of its text, ``premises`` the triples that the
    body must match. ``paths`` are the repeating paths that it must match, as text: the triples
    along them are not among the premises.
    """

    rule: str
    bindings: tuple[tuple[str, Term], ...]
    premises: tuple[Triple, ...]
    paths: tuple[str, ...] = ()


_Test: TypeAlias = tuple[tuple[str, ...], Callable[[Row], bool]]
"""A condition of some variables, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """A triple of the head of a rule without alternatives, and the needs of its body."""

    number: int
    rule: str
    head: TriplePattern
    body: Pattern
    triples: tuple[TriplePattern, ...]
    tests: tuple[_Test, ...] | None
    """None: the body has more than triples and conditions."""


class Applications:
    """The rules by their conclusions, over a graph that does not change meanwhile."""

    def __init__(self, rules: Iterable[DerivationRule], kb: KnowledgeBase) -> None:
        """Index the rules, which have no lists; see :func:`.lists.unrolled`."""
        self._kb = kb
        self._ways: KindIndex[_Way] = KindIndex()
        number = 0
        for rule in rules:
            for clause in clauses(rule):
                body = clause.body.pattern
                asked = tuple(dict.fromkeys(triples_of(body, in_graphs=True)))
                tests = _tests(body)
                for head in clause.head:
                    way = _Way(number, rule.name, head, body, asked, tests)
                    self._ways.add(written(head), way)
                    number += 1

    def of(self, triple: Triple) -> Iterator[RuleApplication]:
        """The applications that conclude a triple, in the order of the rules; each is asked with
        the values that the triple gives its variables.
        """
        near = dict.fromkeys(self._ways.meeting(TriplesRead(triple[1], triple[2])))
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


def _tests(body: Pattern) -> tuple[_Test, ...] | None:
    match body:
        case algebra.BGP():
            return ()
        case algebra.Filter(condition, inner) if not existences(condition):
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
        node = graphs.build(network, algebra.Project(made.body, variables))
        for row in list(node.rows()):
            pairs = zip(node.variables, row, strict=True)
            found = {name: term for name, term in pairs if term is not None}
            if all(found.get(name, term) == term for name, term in given.items()):
                yield {**found, **given}


def _application(way: _Way, row: Binding) -> RuleApplication:
    premises: dict[Triple, None] = {}
    paths: list[str] = []
    for each in way.triples:
        if isinstance(each.predicate, IRI | Variable):
            premises[filled_triple(each, row)] = None
        else:
            subject, object_ = filled(each.subject, row), filled(each.object, row)
            paths.append(part_text(replace(each, subject=subject, object=object_)))
    bindings = tuple((name, row[name]) for name in sorted(row) if not name.startswith("."))
    return RuleApplication(way.rule, bindings, tuple(premises), tuple(paths))


MOST_APPLICATIONS: Final = 20_000
"""Applications of rules that are looked at for one question."""
_MOST_OF_A_PART: Final = 2_000
"""The same, when a part of the statements is tried: most parts do not suffice."""
_MOST_LEAVES: Final = 40
"""A derivation from more statements is told as it was found."""
_ASSERTED: Final = Origin.STATIC | Origin.WINDOW


@frozen
class FirstDerivations:
    """The derived triples, each with an application of a rule that concludes it. Premises that are
    not among ``steps`` are given. ``limits`` says what was not found, and why; "" if all was.
    """

    steps: Mapping[Triple, RuleApplication]
    limits: str = ""


def derivation(
    triple: Triple,
    applications: Applications,
    kb: KnowledgeBase,
    facts: Collection[Triple] = (),
    *,
    said: Collection[Triple] | None = None,
    most: int = MOST_APPLICATIONS,
) -> FirstDerivations:
    """A derivation of a triple that a knowledge base holds, over whose index the rules are applied.

    Given are the triples of the static graph and the window, and ``facts``; but the triple itself
    has a reason only if a rule derives it. Conclusions from the static graph get a derivation last,
    in this graph, and it need not be found: what depends on the window does not wait for it.
    ``said`` are the triples of the window that count; None: all. ``most`` applications are looked
    at.
    """

    def is_of_static(each: Triple) -> bool:
        return each in facts or bool(kb.fixed(each))

    def is_asserted(each: Triple) -> bool:
        marks = kb.marks(each)
        counts = marks & Origin.WINDOW and (said is None or each in said)
        return bool(counts or marks & Origin.STATIC or each in facts)

    def is_static(each: Triple) -> bool:
        return each in facts or bool(kb.marks(each) & Origin.STATIC)

    if kb.marks(triple) & Origin.STATIC_INFERRED:
        search = _Search(applications, is_static, is_of_static, most)
        steps = search.derive([triple])
        return FirstDerivations(steps, "" if triple in steps else search.limits())
    search = _Search(
        applications, lambda each: is_asserted(each) or is_of_static(each), lambda _: True, most
    )
    steps = search.derive([triple])
    if triple not in steps:
        return FirstDerivations({}, search.limits())
    behind = {
        premise: None
        for step in steps.values()
        for premise in step.premises
        if premise not in steps and not is_asserted(premise)
    }
    static = _Search(applications, is_static, is_of_static, most)
    return FirstDerivations({**static.derive([*behind]), **steps})


def grounds(
    triple: Triple,
    applications: Applications,
    kb: KnowledgeBase,
    facts: Collection[Triple] = (),
    *,
    most: int = MOST_APPLICATIONS,
) -> tuple[list[Triple], FirstDerivations]:
    """A minimal set of the window's triples from which a triple follows, and its derivation.
    Without any of them no derivation of it is found among ``most`` applications. The set is empty
    if there is no derivation, or none that needs the window.
    """
    first = derivation(triple, applications, kb, facts, most=most)
    leaves = [each for each in _leaves(first) if kb.marks(each) & _ASSERTED == Origin.WINDOW]

    def again(chosen: Sequence[Triple]) -> FirstDerivations:
        return derivation(triple, applications, kb, facts, said=chosen, most=most)

    return _narrowed(triple, first, leaves, again) if len(leaves) > 1 else (leaves, first)


def minimal(
    triple: Triple,
    applications: Applications,
    kb: KnowledgeBase,
    facts: Collection[Triple] = (),
) -> FirstDerivations:
    """A derivation as :func:`derivation`, from statements of which none can be left out: without
    any of those that messages or the ontology say, none is found among the first
    :data:`_MOST_OF_A_PART` applications.
    """
    first = derivation(triple, applications, kb, facts)
    leaves = [each for each in _leaves(first) if each not in facts]

    def again(chosen: Sequence[Triple]) -> FirstDerivations:
        given = frozenset((*chosen, *facts))
        part = _Search(applications, given.__contains__, lambda _: True, _MOST_OF_A_PART)
        return FirstDerivations(part.derive([triple]), first.limits)

    if triple not in first.steps or len(leaves) > _MOST_LEAVES:
        return first
    return _narrowed(triple, first, leaves, again)[1]


def _narrowed(
    triple: Triple,
    first: FirstDerivations,
    leaves: list[Triple],
    again: Callable[[Sequence[Triple]], FirstDerivations],
) -> tuple[list[Triple], FirstDerivations]:
    """The leaves of which none can be left out, and a derivation from them."""
    kept = minimal_conflict(leaves, lambda chosen: triple in again(chosen).steps)
    return (leaves, first) if len(kept) == len(leaves) else (kept, again(kept))


def _leaves(found: FirstDerivations) -> list[Triple]:
    """The triples at which a derivation ends."""
    premises = dict.fromkeys(each for step in found.steps.values() for each in step.premises)
    return [each for each in premises if each not in found.steps]


class _Search:
    """The applications that were found for some triples, and those behind them."""

    def __init__(
        self,
        applications: Applications,
        is_leaf: Callable[[Triple], bool],
        is_usable: Callable[[Triple], bool],
        most: int,
    ) -> None:
        """Begin; ``is_leaf``: a triple needs no reason; ``is_usable``: it may be a premise."""
        self._applications = applications
        self._is_leaf = is_leaf
        self._is_usable = is_usable
        self._left = most
        self._most = most
        self._found: list[tuple[Triple, RuleApplication]] = []

    def derive(self, asked: list[Triple]) -> dict[Triple, RuleApplication]:
        """The steps to those triples that are derived from leaves, and are no leaves."""
        seen = dict.fromkeys(asked)
        ahead = asked
        while True:
            premises = dict.fromkeys(each for triple in ahead for each in self._premises_of(triple))
            steps = self._forward(asked)
            ahead = [each for each in premises if each not in seen and not self._is_leaf(each)]
            if not ahead or not self._left or all(triple in steps for triple in asked):
                return _behind(asked, steps)
            seen.update(dict.fromkeys(ahead))

    def limits(self) -> str:
        """The reason why a triple is not derived."""
        if self._left:
            return "no rule derives it from what else is asserted"
        return (
            f"no derivation is among the first {self._most:,} applications of rules that were "
            "looked at"
        )

    def _premises_of(self, triple: Triple) -> Iterator[Triple]:
        """The premises of the applications that conclude a triple; notes the applications."""
        for application in islice(self._applications.of(triple), self._left):
            self._left -= 1
            premises = application.premises
            if triple not in premises and all(map(self._is_usable, premises)):
                self._found.append((triple, application))
                yield from premises

    def _forward(self, asked: Collection[Triple]) -> dict[Triple, RuleApplication]:
        """The first application, in rounds, for each triple that follows by those found."""
        waits: dict[Triple, list[int]] = {}
        missing: list[int] = []
        ready: deque[Triple] = deque()
        steps: dict[Triple, RuleApplication] = {}
        for number, (triple, application) in enumerate(self._found):
            missing.append(len(application.premises))
            for premise in application.premises:
                if premise not in waits:
                    waits[premise] = []
                    if premise not in asked and self._is_leaf(premise):
                        ready.append(premise)
                waits[premise].append(number)
            if not application.premises and triple not in steps:
                steps[triple] = application
                ready.append(triple)
        while ready:
            for number in waits.get(ready.popleft(), ()):
                missing[number] -= 1
                triple, application = self._found[number]
                if not missing[number] and triple not in steps:
                    steps[triple] = application
                    ready.append(triple)
        return steps


def _behind(
    asked: Iterable[Triple], steps: Mapping[Triple, RuleApplication]
) -> dict[Triple, RuleApplication]:
    """The steps that the triples need."""
    found: dict[Triple, RuleApplication] = {}
    ahead = [triple for triple in asked if triple in steps]
    while ahead:
        triple = ahead.pop()
        if triple not in found:
            found[triple] = steps[triple]
            ahead += [each for each in steps[triple].premises if each in steps]
    return found
