"""A cache of answers: islands of equal shape have equal answers.

The shape of an island consists of its assertions, with a number for each member and a class for
each value (:mod:`.value_classes`). Members are ordered by the assertions about them and their
neighbours; if the order is not unique, equal islands may get different shapes and are asked about
twice, but different islands never get the same shape.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import TypeAlias

from sensorstream.reasoning.dl.probes import Entailed
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.value_classes import ValueClasses

Answer: TypeAlias = Sequence[Entailed] | None
"""The entailments about each member; None if the island contradicts the axioms."""

_ROUNDS = 2
_LARGEST = 64


class Shape:
    """The key of an island, and its members in the order of the key."""

    __slots__ = ("key", "order")

    def __init__(self, key: Hashable, order: Sequence[int] | None) -> None:
        self.key = key
        self.order = order


class Memo:
    """The answers for the shapes used last; ``hits`` and ``misses`` count look-ups."""

    __slots__ = ("_answers", "_classes", "_size", "hits", "misses")

    def __init__(self, classes: ValueClasses, size: int) -> None:
        self._classes = classes
        self._size = size
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def shape(self, facts: IslandFacts) -> Shape | None:
        """The shape of an island; None if it is so large that it will probably not occur again."""
        count = len(facts.names)
        if count > _LARGEST or not self._size:
            return None
        values = set(self._classes.told(facts.values))
        if count == 1:
            # Sets, because repeated assertions have no effect.
            told = (frozenset(facts.types), frozenset(values), frozenset(facts.links))
            return Shape((facts.names[0], *told, bool(facts.different)), None)
        order = _order(facts, values)
        place = {member: number for number, member in enumerate(order)}
        return Shape(
            (
                tuple(facts.names[member] for member in order),
                frozenset((place[n], c) for n, c in facts.types),
                frozenset((place[n], p, each) for n, p, each in values),
                frozenset((place[n], p, place[m]) for n, p, m in facts.links),
                frozenset((place[n], place[m]) for n, m in facts.same),
                frozenset((place[n], place[m]) for n, m in facts.different),
            ),
            order,
        )

    def look_up(self, shape: Shape | None) -> tuple[Answer] | None:
        """A 1-tuple, because an answer of None means contradiction; None if not known yet."""
        if shape is None or shape.key not in self._answers:
            self.misses += 1
            return None
        self.hits += 1
        self._answers.move_to_end(shape.key)
        answer = self._answers[shape.key]
        if answer is None or shape.order is None:
            return (answer,)
        back = shape.order
        members = [Entailed()] * len(back)
        for number, each in enumerate(answer):
            members[back[number]] = _renumbered(each, back)
        return (members,)

    def store(self, shape: Shape, answer: Answer) -> None:
        """Store an answer; the least recently used one is removed."""
        if answer is not None and shape.order is not None:
            place = [0] * len(shape.order)
            for number, member in enumerate(shape.order):
                place[member] = number
            answer = [_renumbered(answer[member], place) for member in shape.order]
        self._answers[shape.key] = answer
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)


def _renumbered(entailed: Entailed, place: Sequence[int]) -> Entailed:
    if not entailed.links and not entailed.same:
        return entailed
    return Entailed(
        entailed.types,
        frozenset((role, place[other]) for role, other in entailed.links),
        entailed.values,
        frozenset(place[other] for other in entailed.same),
    )


def _order(facts: IslandFacts, values: set[tuple[int, str, Hashable]]) -> list[int]:
    """The members, ordered by the assertions about them and their neighbours."""
    told: list[list[str]] = [[name or ""] for name in facts.names]
    for n, name in facts.types:
        told[n].append(name)
    for n, prop, each in values:
        told[n].append(f"{prop} {each}")
    around: list[list[tuple[str, int]]] = [[] for _ in told]
    pairs = [("=", facts.same), ("≠", facts.different)]
    edges = [*facts.links, *((n, kind, m) for kind, some in pairs for n, m in some)]
    for n, role, m in edges:
        around[n].append((f"> {role}", m))
        around[m].append((f"< {role}", n))
    ranks = _ranked([tuple(sorted(set(each))) for each in told])
    for _ in range(_ROUNDS):
        ranks = _ranked(
            [
                (rank, tuple(sorted({(role, ranks[m]) for role, m in near})))
                for rank, near in zip(ranks, around, strict=True)
            ]
        )
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def _ranked(colours: Sequence[tuple[object, ...]]) -> list[int]:
    number = {colour: rank for rank, colour in enumerate(sorted(set(colours)))}
    return [number[colour] for colour in colours]
