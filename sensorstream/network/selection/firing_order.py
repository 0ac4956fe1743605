"""The order in which the rules of one moment fire: after those whose graphs they may see.

Each text is read once. The makers of a kind of triples are found by an index, so another text costs
what its rules depend on, and not a look at all rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from sensorstream.errors import UnsupportedQuery
from sensorstream.network.graph_components import reached, strata
from sensorstream.network.recursion.triple_kinds import (
    Conclusions,
    KindIndex,
    TriplesRead,
    reads,
    with_conclusions,
    written,
)
from sensorstream.network.selection.running_rules import RuleMember, Ruleset

_Node: TypeAlias = RuleMember | TriplesRead
"""A rule leads to the kinds of triples that it depends on, and these to the rules making them."""
_Read: TypeAlias = dict[RuleMember, tuple[frozenset[TriplesRead], frozenset[TriplesRead]]]
"""The rules of a text, each with the kinds of triples that it depends on, and makes."""


class Order:
    """The rules of all texts that run, in the order in which they fire."""

    def __init__(self, conclusions: Conclusions) -> None:
        """Make it; ``conclusions`` are those from one triple, the same until :meth:`renew`."""
        self._conclusions: Final = conclusions
        self._texts: dict[str, _Read] = {}
        self._makers = KindIndex[RuleMember]()

    def check(self, ruleset: Ruleset) -> None:
        """Check that a text could run beside the others, in place of that of its name.

        Raises UnsupportedQuery, at its first rule in the cycle, if rules would see what they make.
        """
        before = self._texts.get(ruleset.name)
        self.add(ruleset)
        try:
            self._levels(self._texts[ruleset.name], ruleset)
        finally:
            self.drop(ruleset.name)
            if before is not None:
                self._enter(before)

    def add(self, ruleset: Ruleset) -> None:
        """Add a text, in place of that of its name."""
        new = self._read(ruleset)
        self.drop(ruleset.name)
        self._enter(new)

    def _enter(self, read: _Read) -> None:
        for member, (_, made) in read.items():
            self._texts[member.ruleset.name] = read
            for kind in made:
                self._makers.add(kind, member)

    def drop(self, name: str) -> None:
        """Remove a text, if it is there."""
        for member, (_, made) in self._texts.pop(name, {}).items():
            for kind in made:
                self._makers.remove(kind, member)

    def renew(self) -> None:
        """Read all texts again, as other conclusions follow."""
        rulesets = [next(iter(each)).ruleset for each in self._texts.values()]
        self._texts, self._makers = {}, KindIndex()
        for each in rulesets:
            self.add(each)

    def levels(self) -> dict[RuleMember, int]:
        """The level of each rule: it fires after all of lower ones.

        Raises UnsupportedQuery if, by new conclusions, rules see what they make themselves.
        """
        members = [member for each in self._texts.values() for member in each]
        levels = self._levels(members)
        return {each: levels[each] for each in members}

    def _levels(self, roots: Iterable[_Node], new: Ruleset | None = None) -> dict[_Node, int]:
        """The levels of rules and of what they depend on; ``new`` is the text to refuse."""

        def check(found: list[_Node]) -> None:
            circle = [each for each in found if isinstance(each, RuleMember)]
            if circle and len(found) > 1:
                raise _refusal(circle, new or circle[0].ruleset)

        def below(node: _Node) -> list[tuple[_Node, int]]:
            return [(each, int(isinstance(each, RuleMember))) for each in self._sources(node)]

        return strata(roots, below, check)

    def _sources(self, node: _Node) -> Iterable[_Node]:
        if isinstance(node, RuleMember):
            return self._texts[node.ruleset.name][node][0]
        return self._makers.meeting(node)

    def _read(self, ruleset: Ruleset) -> _Read:
        # The premises of each kind by Datalog rules, in one step.
        derived = KindIndex[TriplesRead]()
        for clause in ruleset.sees:
            read = {each.kind for each in reads(clause.body)}
            kinds = map(written, clause.head)
            for made in with_conclusions(kinds, self._conclusions) if read else ():
                for kind in read:
                    derived.add(made, kind)
        needed = {each: frozenset(reached(each, derived.meeting)) for each in {*ruleset.asked}}
        return {
            RuleMember(ruleset, number): (needed[asked], with_conclusions(made, self._conclusions))
            for number, (asked, made) in enumerate(zip(ruleset.asked, ruleset.made, strict=True))
        }


def _refusal(circle: Iterable[RuleMember], ruleset: Ruleset) -> UnsupportedQuery:
    names = ", ".join(sorted(each.pattern.rule.name for each in circle))
    first = min(each.number for each in circle if each.ruleset is ruleset)
    return UnsupportedQuery(
        f"at one moment what a rule makes may be what it selects: {names}: let it make "
        "triples of another property or class",
        position=ruleset.patterns.patterns[first].rule.position,
    )
