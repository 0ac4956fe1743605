"""Places found by an index: rows that a relation of places joins, and fences of many queries.

Only the places whose bounding boxes meet are compared, so what a row costs are its hits. The index
knows longitude and latitude; places in other reference systems are compared with all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model.geometry import DEGREES, Geometry, shapely
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.expression_functions import test_of
from sensorstream.network.node import Node
from sensorstream.network.operators.join import JoinOperator, Memory
from sensorstream.network.operators.matching import Matching, MatchTest
from sensorstream.network.plan.nodes import PlaceJoinPlan, PlacesCompared, Plan
from sensorstream.network.rows import Bag, Row, slots_of
from sensorstream.sparql.algebra import FunctionCall, Variable
from sensorstream.sparql.place_functions import place

_Box: TypeAlias = tuple[float, float, float, float]
_LEAST_RADIUS: Final = 6.33e6
"""Metres; the Earth is nowhere more curved."""
_FEW: Final = 16


class PlaceIndex:
    """Literals, found by a literal of which ``holds`` is true: a row of that and one of these.

    It holds for places that touch, or are no more than ``metres`` apart. An index of most literals
    (STRtree) and a list of about the square root of as many new ones are searched; O(root) for a
    change. ``take`` counts the comparisons.
    """

    def __init__(
        self,
        holds: Callable[[Row], bool],
        metres: float = 0.0,
        take: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._holds = holds
        self._metres = metres
        self._take = take
        self._boxes: dict[Term, _Box] = {}
        self._anywhere: dict[Term, None] = {}
        self._tree: Any = None
        self._in_tree: list[Term] = []
        self._placed: set[Term] = set()
        self._new: dict[Term, None] = {}
        self._gone = 0
        self._asked: Term | None = None
        self._found: list[Term] = []

    def __len__(self) -> int:
        return len(self._boxes) + len(self._anywhere)

    def add(self, literal: Term) -> None:
        """Add a literal that is not there; nothing is true of one that is no place."""
        self._asked = None
        try:
            box = _box(place(literal))
        except TermError:
            return
        if box is None:
            self._anywhere[literal] = None
            return
        self._boxes[literal] = box
        if literal in self._placed:
            self._gone -= 1
        else:
            self._new[literal] = None

    def discard(self, literal: Term) -> None:
        """Remove a literal."""
        self._asked = None
        self._anywhere.pop(literal, None)
        if self._boxes.pop(literal, None) is not None and literal in self._placed:
            self._gone += 1
        self._new.pop(literal, None)

    def passed(self, asked: Term | None) -> list[Term]:
        """The literals for which the test is true."""
        if asked is None:
            return []
        if asked != self._asked:
            found = self._near(asked)
            self._take(len(found))
            self._found = [each for each in found if self._holds((asked, each))]
            self._asked = asked
        return self._found

    def any_passed(self, asked: Term | None) -> bool:
        """Whether the test is true for any literal."""
        return bool(self.passed(asked))

    def _near(self, asked: Term) -> list[Term]:
        try:
            geometry = place(asked)
        except TermError:
            return []
        box = _box(geometry, self._metres)
        if box is None:
            return [*self._boxes, *self._anywhere]
        if len(self._new) > _FEW + math.isqrt(len(self._in_tree)) or (
            2 * self._gone > len(self._in_tree)
        ):
            self._rebuild()
        boxes, west, south, east, north = self._boxes, *box
        found = [
            each
            for each in self._new
            if west <= boxes[each][2]
            and boxes[each][0] <= east
            and south <= boxes[each][3]
            and boxes[each][1] <= north
        ]
        if self._tree is not None:
            shape = shapely("box")(*box) if self._metres else geometry.shape
            in_tree = self._in_tree
            found += [each for at in self._tree.query(shape) if (each := in_tree[at]) in boxes]
        return [*found, *self._anywhere] if self._anywhere else found

    def _rebuild(self) -> None:
        self._in_tree = list(self._boxes)
        self._placed = set(self._in_tree)
        self._tree = shapely("STRtree")([place(each).shape for each in self._in_tree])
        self._new.clear()
        self._gone = 0


def _box(geometry: Geometry, metres: float = 0.0) -> _Box | None:
    """The degrees that a place takes, with some metres around it; None: it may be anywhere."""
    if geometry.system.code != DEGREES or not geometry.size:
        return None
    west, south, east, north = geometry.shape.bounds
    if metres:
        angle = min(max(metres, 0.0) / _LEAST_RADIUS, math.pi / 2)
        narrow = math.cos(math.radians(max(-south, north)))
        if math.sin(angle) >= narrow:
            return None
        wide, high = math.degrees(math.asin(math.sin(angle) / narrow)), math.degrees(angle)
        west, south, east, north = west - wide, south - high, east + wide, north + high
    return None if west < -180 or east > 180 else (west, south, east, north)


def constant_places(function: IRI) -> PlaceIndex:
    """An index of the constants of a relation, for values of which it is asked."""
    call = FunctionCall(function, (Variable("value"), Variable("constant")))
    return PlaceIndex(test_of(call, {"value": 0, "constant": 1}))


class _PlaceMemory(Memory):
    """Rows by the literal of a place, found by places of the other side."""

    def __init__(self, key: Callable[[Row], Any], index: PlaceIndex) -> None:
        super().__init__(key)
        self._index = index

    def update(self, added: Iterable[Row], removed: Iterable[Row]) -> None:
        key, bags, index = self._key, self._bags, self._index
        changed = {key(row): None for row in (*added, *removed)}
        before = [each for each in changed if each in bags]
        super().update(added, removed)
        for each in before:
            if each not in bags:
                index.discard(each)
        for each in changed:
            if each in bags and each not in before and isinstance(each, Literal):
                index.add(each)

    def at(self, key: Any) -> Collection[Row]:
        return [*chain.from_iterable(map(super().at, self._index.passed(key)))]

    def count(self, key: Any) -> int:
        return sum(map(super().count, self._index.passed(key)))

    def bag(self, key: Any) -> Bag:
        found = self._index.passed(key)
        if len(found) == 1:
            return super().bag(found[0])
        return dict(chain.from_iterable(super(_PlaceMemory, self).bag(e).items() for e in found))


class PlaceJoinOperator(JoinOperator):
    """The rows of two sides, of whose places a condition is true."""

    def __init__(self, plan: PlaceJoinPlan, left: Node, right: Node) -> None:
        super().__init__(left, right, plan.variables)
        keys, memories = _by_places(self, plan.places)
        self._left, self._right = memories
        self._of_left = (keys[0], self._right, self._of_left[2])
        self._of_right = (keys[1], self._left, self._of_right[2])

    def expected(self) -> int:
        return len(self._left)


class PlaceMatching(Matching):
    """OPTIONAL or EXISTS, with a condition on places of both sides, which share no variable."""

    def __init__(
        self, plan: Plan, left: Node, right: Node, question: MatchTest, places: PlacesCompared
    ) -> None:
        super().__init__(plan, left, right, question)
        keys, memories = _by_places(self, places)
        self._left_key, self._right_key = keys
        self._left, self._right = memories


_Keys: TypeAlias = tuple[Callable[[Row], Any], Callable[[Row], Any]]


def _by_places(
    node: Node, places: PlacesCompared
) -> tuple[_Keys, tuple[_PlaceMemory, _PlaceMemory]]:
    """The places in the rows of both inputs of an operator, and memories that find rows by them."""
    left, right = node.inputs
    names = places.left, places.right
    keys = (
        itemgetter(slots_of(left.variables)[names[0]]),
        itemgetter(slots_of(right.variables)[names[1]]),
    )

    def take(number: int) -> None:
        node.meter.take(number)

    def memory(key: Callable[[Row], Any], *row: str) -> _PlaceMemory:
        holds = test_of(places.condition, slots_of(row))
        return _PlaceMemory(key, PlaceIndex(holds, places.metres, take))

    return keys, (memory(keys[0], *reversed(names)), memory(keys[1], *names))
