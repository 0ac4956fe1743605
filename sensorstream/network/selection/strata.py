"""In which order the rules of one moment fire: after those whose graphs they may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    """A rule, the Datalog rules it sees, and the patterns of its selectors.

    ``sees`` is equal for rules that see the same Datalog rules.
    """

    rule: Rule
    sees: int
    clauses: tuple[Clause, ...]
    reads: tuple[Pattern, ...]


def levels(
    rules: Sequence[Ordered], conclusions: Callable[[Triple], Iterable[Triple]]
) -> list[int]:
    """The level of each rule: it fires after all of lower ones.

    Raises:
        UnsupportedQuery: rules would see what they make themselves.
    """
    # Rules by what they see and select: many differ in a constant only.
    groups: dict[tuple[int, Pattern], list[int]] = {}
    for number, each in enumerate(rules):
        if each.rule.mode is Mode.INSTANT:
            for pattern in each.reads:
                groups.setdefault((each.sees, pattern), []).append(number)
    wanted = {key: {read.kind for read in reads(key[1])} for key in groups}
    clauses = {each.sees: each.clauses for each in rules}
    following = {sees: _Following(known, conclusions) for sees, known in clauses.items()}
    writers: dict[frozenset[Kind], list[int]] = {}
    for number, each in enumerate(rules):
        writers.setdefault(frozenset(map(written, each.rule.template)), []).append(number)
    sources: dict[int, set[int]] = {number: set() for number in range(len(rules))}
    for added, numbers in writers.items():
        seen = {sees: each.all(added) for sees, each in following.items()}
        for (sees, pattern), selecting in groups.items():
            kinds = wanted[sees, pattern]
            if any(one.meets(other) for one in seen[sees] for other in kinds):
                for number in selecting:
                    sources[number].update(numbers)
    found = [0] * len(rules)
    for members in components(range(len(rules)), lambda number: sources[number]):
        if len(members) > 1 or members[0] in sources[members[0]]:
            names = ", ".join(sorted(rules[each].rule.name for each in members))
            raise UnsupportedQuery(
                f"at one moment what a rule makes may be what it selects: {names}: let it make "
                "triples of another property or class",
                position=rules[members[0]].rule.position,
            )
        found[members[0]] = 1 + max((found[each] for each in sources[members[0]]), default=-1)
    return found


class _Following:
    """What may follow from triples of some kinds by Datalog rules, and by the reasoner."""

    def __init__(
        self, clauses: tuple[Clause, ...], conclusions: Callable[[Triple], Iterable[Triple]]
    ) -> None:
        self._clauses = clauses
        self._conclusions = conclusions
        self._readers: dict[IRI | None, list[Clause]] = {}
        for clause in clauses:
            for predicate in {read.kind.predicate for read in reads(clause.body)}:
                self._readers.setdefault(predicate, []).append(clause)

    def all(self, added: frozenset[Kind]) -> frozenset[Kind]:
        """The kinds themselves, and those that follow from them."""
        found = set(added)
        ahead = list(added)
        readers = self._readers
        while ahead:
            kind = ahead.pop()
            new = [Kind(*each[1:]) for each in self._concluded(kind)]
            near: Iterable[Clause] = self._clauses
            if kind.predicate is not None:
                near = (*readers.get(kind.predicate, ()), *readers.get(None, ()))
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
