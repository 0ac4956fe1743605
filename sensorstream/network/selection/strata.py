"""In which order the rules of one moment fire: after those whose graphs they may see.

A text is read once. What asks for a kind of triples finds those that make it by index, so a text
more costs what its rules depend on, and not a look at all rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Clause
from sensorstream.errors import UnsupportedQuery
from sensorstream.network.components import components, strata
from sensorstream.network.recursion.kinds import Conclusions, KindIndex, with_conclusions
from sensorstream.network.recursion.reads import Kind, reads, written
from sensorstream.network.selection.ruleset import Member, Ruleset


class _Datalog:
    """Datalog rules: from which kinds of triples they derive others."""

    def __init__(self, clauses: Iterable[Clause], conclusions: Conclusions) -> None:
        self._derived: Final = KindIndex[Kind]()
        for clause in clauses:
            read = {each.kind for each in reads(clause.body)}
            for made in with_conclusions(map(written, clause.head), conclusions) if read else ():
                for kind in read:
                    self._derived.add(made, kind)

    def sources(self, kind: Kind) -> Iterator[Kind]:
        """The kinds that a triple of this one may be derived from, in one step."""
        return self._derived.meeting(kind)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Triples of a kind, which some Datalog rules may derive."""

    datalog: _Datalog
    kind: Kind


_Node: TypeAlias = Member | _Asked
"""A rule leads to what it asks for, and that to what it is derived from and the rules making it."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The rules of a text, and for each what it asks for and makes."""

    members: tuple[Member, ...]
    asked: tuple[frozenset[_Asked], ...]
    made: tuple[frozenset[Kind], ...]


class Order:
    """The rules of all texts that run, in the order in which they fire."""

    def __init__(self, conclusions: Conclusions) -> None:
        """``conclusions`` are those from one triple, the same until :meth:`renew`."""
        self._conclusions: Final = conclusions
        self._texts: dict[str, _Read] = {}
        self._makers = KindIndex[Member]()
        self._datalog: dict[tuple[Clause, ...], _Datalog] = {}

    def check(self, ruleset: Ruleset) -> None:
        """Whether rules could run beside the others, in place of those of their name.

        Raises:
            UnsupportedQuery: they would see what they make themselves; the place is that of their
                first rule in the circle.
        """
        new = self._read(ruleset)
        own = KindIndex[Member]()
        _note(new, own)

        def sources(node: _Node) -> Iterator[_Node]:
            if isinstance(node, _Asked):
                yield from own.meeting(node.kind)
            elif node.ruleset is ruleset:
                yield from new.asked[node.number]
                return
            for each in self._sources(node):
                if not isinstance(each, Member) or each.ruleset.name != ruleset.name:
                    yield each

        roots: Iterable[_Node] = new.members
        for found in components(roots, sources):
            circle = [each for each in found if isinstance(each, Member)]
            if circle and len(found) > 1:
                raise _refusal(circle, ruleset)

    def add(self, ruleset: Ruleset) -> None:
        """Rules run from now on, in place of those of their name."""
        self.drop(ruleset.name)
        new = self._texts[ruleset.name] = self._read(ruleset)
        self._datalog.update((ruleset.sees, each.datalog) for asked in new.asked for each in asked)
        _note(new, self._makers)

    def drop(self, name: str) -> None:
        """The rules of a text run no more, if there were any."""
        gone = self._texts.pop(name, None)
        if gone is None:
            return
        for member, made in zip(gone.members, gone.made, strict=True):
            for kind in made:
                self._makers.remove(kind, member)
        used = {id(one.datalog) for each in self._texts.values() for a in each.asked for one in a}
        self._datalog = {key: each for key, each in self._datalog.items() if id(each) in used}

    def renew(self) -> None:
        """Other conclusions follow from now on."""
        rulesets = [each.members[0].ruleset for each in self._texts.values()]
        self._texts, self._makers, self._datalog = {}, KindIndex(), {}
        for each in rulesets:
            self.add(each)

    def levels(self) -> dict[Member, int]:
        """The level of each rule: it fires after all of lower ones.

        Raises:
            UnsupportedQuery: by conclusions that are new, rules see what they make themselves.
        """
        members = [member for each in self._texts.values() for member in each.members]
        roots: Iterable[_Node] = members

        def check(found: list[_Node]) -> None:
            circle = [each for each in found if isinstance(each, Member)]
            if circle and len(found) > 1:
                raise _refusal(circle, circle[0].ruleset)

        def below(node: _Node) -> list[tuple[_Node, int]]:
            return [(each, int(isinstance(each, Member))) for each in self._sources(node)]

        levels = strata(roots, below, check)
        return {each: levels[each] for each in members}

    def _sources(self, node: _Node) -> Iterable[_Node]:
        if isinstance(node, Member):
            return self._texts[node.ruleset.name].asked[node.number]
        derived = (_Asked(node.datalog, each) for each in node.datalog.sources(node.kind))
        return (*derived, *self._makers.meeting(node.kind))

    def _read(self, ruleset: Ruleset) -> _Read:
        datalog = self._datalog.get(ruleset.sees) or _Datalog(ruleset.sees, self._conclusions)
        return _Read(
            tuple(Member(ruleset, number) for number in range(len(ruleset.asked))),
            tuple(frozenset(_Asked(datalog, each) for each in kinds) for kinds in ruleset.asked),
            tuple(with_conclusions(kinds, self._conclusions) for kinds in ruleset.made),
        )


def _note(read: _Read, makers: KindIndex[Member]) -> None:
    for member, made in zip(read.members, read.made, strict=True):
        for kind in made:
            makers.add(kind, member)


def _refusal(circle: Iterable[Member], ruleset: Ruleset) -> UnsupportedQuery:
    names = ", ".join(sorted(each.pattern.rule.name for each in circle))
    first = min(each.number for each in circle if each.ruleset is ruleset)
    return UnsupportedQuery(
        f"at one moment what a rule makes may be what it selects: {names}: let it make "
        "triples of another property or class",
        position=ruleset.patterns.patterns[first].rule.position,
    )
