"""In which order the rules of one moment fire: after those whose graphs they may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sensorstream.dotr.syntax import Clause, Mode, Rule
from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.components import components
from sensorstream.network.recursion.reads import Kind, reads, written
from sensorstream.sparql.algebra import Pattern

_ANY = IRI("urn:any")


@dataclass(frozen=True, slots=True)
class Ordered:
    """A rule, the Datalog rules it sees, and the patterns of its selectors."""

    rule: Rule
    clauses: tuple[Clause, ...]
    reads: tuple[Pattern, ...]


def levels(
    rules: Sequence[Ordered], conclusions: Callable[[Triple], Iterable[Triple]]
) -> list[int]:
    """The level of each rule: it fires after all of lower ones.

    Raises:
        UnsupportedQuery: rules would see what they make themselves.
    """
    readers: dict[Pattern, list[int]] = {}
    for number, each in enumerate(rules):
        if each.rule.mode is Mode.INSTANT:
            for pattern in each.reads:
                readers.setdefault(pattern, []).append(number)
    kinds = {pattern: {read.kind for read in reads(pattern)} for pattern in readers}
    follow = _Following(conclusions)
    sources: dict[int, set[int]] = {number: set() for number in range(len(rules))}
    for writer, each in enumerate(rules):
        added = frozenset(written(triple) for triple in each.rule.template)
        seen: dict[tuple[Clause, ...], frozenset[Kind]] = {}
        for pattern, numbers in readers.items():
            for number in numbers:
                clauses = rules[number].clauses
                if clauses not in seen:
                    seen[clauses] = follow.all(added, clauses)
                if any(one.meets(other) for one in seen[clauses] for other in kinds[pattern]):
                    sources[number].add(writer)
    found = [0] * len(rules)
    for members in components(range(len(rules)), lambda number: sources[number]):
        if len(members) > 1 or members[0] in sources[members[0]]:
            names = ", ".join(sorted(rules[each].rule.name for each in members))
            raise UnsupportedQuery(
                f"{rules[members[0]].rule.position}: at one moment what a rule makes may be what "
                f"it selects: {names}: let it make triples of another property or class"
            )
        found[members[0]] = 1 + max((found[each] for each in sources[members[0]]), default=-1)
    return found


class _Following:
    """What may follow from triples of some kinds."""

    def __init__(self, conclusions: Callable[[Triple], Iterable[Triple]]) -> None:
        self._conclusions = conclusions
        self._known: dict[tuple[frozenset[Kind], tuple[Clause, ...]], frozenset[Kind]] = {}
        self._readers: dict[tuple[Clause, ...], Mapping[IRI | None, list[Clause]]] = {}

    def all(self, added: frozenset[Kind], clauses: tuple[Clause, ...]) -> frozenset[Kind]:
        """The kinds themselves, and those that follow from them."""
        known = self._known.get((added, clauses))
        if known is None:
            known = self._known[added, clauses] = self._closure(added, clauses)
        return known

    def _closure(self, added: frozenset[Kind], clauses: tuple[Clause, ...]) -> frozenset[Kind]:
        found = set(added)
        ahead = list(added)
        by_predicate = self._by_predicate(clauses)
        while ahead:
            kind = ahead.pop()
            new = [Kind(*each[1:]) for each in self._concluded(kind)]
            near = clauses
            if kind.predicate is not None:
                near = (*by_predicate.get(kind.predicate, ()), *by_predicate.get(None, ()))
            for clause in near:
                if any(read.kind.meets(kind) for read in reads(clause.body)):
                    new += [written(each) for each in clause.head]
            for each in new:
                if each not in found:
                    found.add(each)
                    ahead.append(each)
        return frozenset(found)

    def _concluded(self, kind: Kind) -> Iterable[Triple]:
        if kind.predicate is None:
            return ()
        sample = kind.object if kind.object is not None else _ANY
        return [
            (s, p, o)
            for s, p, o in self._conclusions((_ANY, kind.predicate, sample))
            if _ANY in (s, o)
        ]

    def _by_predicate(self, clauses: tuple[Clause, ...]) -> Mapping[IRI | None, list[Clause]]:
        known = self._readers.get(clauses)
        if known is None:
            found: dict[IRI | None, list[Clause]] = {}
            for clause in clauses:
                for predicate in {read.kind.predicate for read in reads(clause.body)}:
                    found.setdefault(predicate, []).append(clause)
            known = self._readers[clauses] = found
        return known
