"""Individuals of whom the same is asserted are asked about as two of them.

Parts of an island are *twins* if what is asserted of them, and of them and the others, is the same
but for the names: a thousand observations of one sensor, say, each with its result. Of twins two
are kept; what holds of these holds of all.

Why: let f exchange each further twin for the second, and leave all other individuals alone. What
it makes of the assertions A is a part of them, f(A) ⊆ A, so what follows from f(A) follows from A.
Names need not differ in OWL: a model of f(A) becomes one of A where each further twin is the same
element as the second, so what follows from A about those who are kept follows from f(A). And A is
the same if twins are exchanged for each other, so they have the same types, the same links to all
others, and each pair of them is as the two that are kept. Values are compared by their class
(:mod:`.value_classes`): an element that has one value of a class may have all of them. So may it
where axioms compare values by keys only, if nobody else has them: in the model of f(A) nobody needs
to have a value that f(A) does not mention, as there are more of its class.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sensorstream.reasoning.dl.memo import Answer
from sensorstream.reasoning.dl.probes import Entailed
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.value_classes import ValueClasses

_KEPT: Final = 2
HUB: Final = 8
"""Who has more neighbours than this stands between parts, and is in none."""
_LARGEST: Final = 8
"""The members of a part that may have twins."""

_Part: TypeAlias = list[int]
_Edge: TypeAlias = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class Folded:
    """An island with two of each kind of twins.

    ``kept`` are the numbers, in the whole island, of its members. ``kinds`` are the twins of each
    kind: parts with their members in the same order, the two that are kept first.
    """

    facts: IslandFacts
    kept: Sequence[int]
    kinds: Sequence[Sequence[_Part]]
    size: int

    def unfolded(self, answer: Answer) -> Answer:
        """What the answer says of all members."""
        if answer is None:
            return None
        homes = {
            member: _Home(parts, place, number)
            for parts in self.kinds
            for number, part in enumerate(parts[:_KEPT])
            for place, member in enumerate(part)
        }
        of = [homes.get(n) or _Home([[n]], 0, 0) for n in self.kept]
        members = [Entailed()] * self.size
        for home, told in zip(of, answer, strict=True):
            # What holds of the first of twins, holds of each with all others.
            for part in () if home.number else home.parts:
                links = (
                    (role, one)
                    for role, each in told.links
                    for one in of[each].all_for(home.parts, part)
                )
                same = (one for each in told.same for one in of[each].all_for(home.parts, part))
                members[part[home.place]] = (
                    Entailed(told.types, frozenset(links), told.values, frozenset(same))
                    if told.links or told.same
                    else told
                )
        return members


@dataclass(frozen=True, slots=True)
class _Home:
    """Where a member that is kept stands: its part and the twins of it, its place in each."""

    parts: Sequence[_Part]
    place: int
    number: int

    def all_for(self, twins: Sequence[_Part], part: _Part) -> Iterator[int]:
        """For whom it stands, where the first of some twins stands for this part of theirs."""
        for each in self.parts:
            if self.parts is not twins or (each is part) is not bool(self.number):
                yield each[self.place]


def folded(facts: IslandFacts, values: ValueClasses) -> Folded | None:
    """The island with two of each kind of twins; None: nobody has more."""
    count = len(facts.names)
    if count <= _KEPT:
        return None
    edges = [
        *facts.links,
        *(
            (n, kind, m)
            for kind, some in (("=", facts.same), ("≠", facts.different))
            for n, m in some
        ),
    ]
    told: list[set[Hashable]] = [set() for _ in facts.names]
    for n, name in facts.types:
        told[n].add(name)
    for n, prop, value in values.told(facts.values):
        told[n].add((prop, value))
    kinds: dict[Hashable, list[_Part]] = {}
    for part, key in _parts(facts.names, edges, told):
        kinds.setdefault(key, []).append(part)
    twins = [parts for parts in kinds.values() if len(parts) > _KEPT]
    gone = {member for parts in twins for part in parts[_KEPT:] for member in part}
    if not gone:
        return None
    kept = [n for n in range(count) if n not in gone]
    place = {n: at for at, n in enumerate(kept)}
    return Folded(
        IslandFacts(
            [facts.names[n] for n in kept],
            [(place[n], name) for n, name in facts.types if n in place],
            [(place[n], p, place[m]) for n, p, m in facts.links if n in place and m in place],
            [(place[n], p, v, kind, tag) for n, p, v, kind, tag in facts.values if n in place],
            [(place[n], place[m]) for n, m in facts.same if n in place and m in place],
            [(place[n], place[m]) for n, m in facts.different if n in place and m in place],
            facts.asked,
        ),
        kept,
        twins,
        count,
    )


def _parts(
    names: Sequence[str | None], edges: Sequence[_Edge], told: Sequence[set[Hashable]]
) -> Iterator[tuple[_Part, Hashable]]:
    """Those who are connected without anybody who stands between, in an order by what is told.

    Each with what is told of it: equal keys are of parts that are the same but for the names.
    """
    near: list[dict[int, set[tuple[str, str]]]] = [{} for _ in names]
    for n, role, m in edges:
        near[n].setdefault(m, set()).add((">", role))
        near[m].setdefault(n, set()).add(("<", role))
    fixed = {n for n, name in enumerate(names) if name is not None or len(near[n]) > HUB}
    seen = set(fixed)
    for start in range(len(names)):
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for each in part:  # grows while it is read
            fresh = [m for m in near[each] if m not in seen]
            seen.update(fresh)
            part.extend(fresh)
        if len(part) > _LARGEST:
            continue
        colours = {
            n: (
                frozenset(told[n]),
                frozenset((m, frozenset(near[n][m])) for m in near[n] if m in fixed),
                frozenset(near[n].get(n, ())),
            )
            for n in part
        }
        if len(part) > 1:
            part.sort(key=lambda n: sorted(map(repr, _flat(colours[n]))))
        at = {n: place for place, n in enumerate(part)}
        inner = frozenset(
            (at[n], at[m], frozenset(near[n][m]))
            for n in part
            for m in near[n]
            if m in at and m != n
        )
        yield part, (tuple(colours[n] for n in part), inner)


def _flat(colour: tuple[frozenset[Hashable], ...]) -> Iterator[Hashable]:
    for place, some in enumerate(colour):
        for each in some:
            if isinstance(each, tuple):
                yield place, *(tuple(sorted(e)) if isinstance(e, frozenset) else e for e in each)
            else:
                yield place, each
