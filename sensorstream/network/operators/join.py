"""Join: solutions of both sides that agree (SPARQL 1.1, section 18.5), and its memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

from sensorstream.network.node import Node
from sensorstream.network.rows import (
    TIMES,
    Bag,
    Row,
    compatible,
    key_of,
    merged,
    overlapping,
    repeated,
    slots_of,
)

_NO_ROWS: Final[Bag] = {}


class Memory:
    """A bag of rows by a key; O(1) per change."""

    def __init__(self, key: Callable[[Row], Any]) -> None:
        self._key = key
        self._bags: dict[Any, Bag] = {}
        self._size = 0
        self.repeats = 0
        """The number of rows that occur more than once: mostly none, so a bag is its rows."""

    def __len__(self) -> int:
        return self._size

    def update(self, added: Iterable[Row], removed: Iterable[Row]) -> None:
        """Take in a change, in which a row may be both added and removed."""
        key, bags = self._key, self._bags
        for row in added:
            at = key(row)
            bag = bags.get(at)
            if bag is None:
                bags[at] = {row: 1}
            elif row in bag:
                self.repeats += bag[row] == 1
                bag[row] += 1
            else:
                bag[row] = 1
            self._size += 1
        for row in removed:
            at = key(row)
            bag = bags[at]
            count = bag[row] - 1
            if count:
                self.repeats -= count == 1
                bag[row] = count
            else:
                del bag[row]
                if not bag:
                    del bags[at]
            self._size -= 1

    def at(self, key: Any) -> Collection[Row]:
        """The rows of a key, each as often as it occurs."""
        bag = self._bags.get(key, _NO_ROWS)
        return [*repeated(bag)] if self.repeats else bag

    def count(self, key: Any) -> int:
        """The number of rows of a key."""
        bag = self._bags.get(key, _NO_ROWS)
        return sum(bag.values()) if self.repeats else len(bag)

    def ways(self, other: Memory) -> int:
        """The number of pairs of rows of both that have the same key; O(keys)."""
        return sum(self.count(key) * other.count(key) for key in self._bags)

    def bag(self, key: Any) -> Bag:
        """The rows of a key with their counts."""
        return self._bags.get(key, _NO_ROWS)

    def times(self, row: Row) -> int:
        """The number of times that a row is there."""
        return self._bags.get(self._key(row), _NO_ROWS).get(row, 0)

    def rows(self) -> Iterator[Row]:
        return (row for bag in self._bags.values() for row in repeated(bag))


def join_key(left: Node, right: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shared variables of two operators: those both always bind, and the others."""
    shared = [n for n in left.variables if n in right.variables and n not in TIMES]
    certain = left.certain & right.certain
    return (
        tuple(name for name in shared if name in certain),
        tuple(name for name in shared if name not in certain),
    )


class Remembered(Protocol):
    """The memory of a join for one side, by a key."""

    @property
    def repeats(self) -> int:
        """The number of rows that occur more than once."""

    def __len__(self) -> int: ...

    def update(self, added: Iterable[Row], removed: Iterable[Row]) -> None:
        """Take in a change."""

    def at(self, key: Any) -> Collection[Row]:
        """The rows of a key that rows of the other side meet."""

    def rows(self) -> Iterator[Row]:
        """The rows that exist without an event, each as often as it occurs."""

    def ways(self, other: Any) -> int:
        """The number of pairs of such rows of both that have the same key."""


_Key: TypeAlias = Callable[[Row], Any]
_Joined: TypeAlias = Callable[[Row, Iterable[Row]], list[Row]]


def _memory(key: _Key, _other: Node) -> Remembered:
    return Memory(key)


class Sides:
    """The comparison of rows of two operators, and the joined rows as the ``output`` variables.

    Rows are compared by the variables both always bind, and by the variables ``alike``.
    """

    def __init__(
        self,
        left: Node,
        right: Node,
        output: Sequence[str] | None = None,
        alike: Sequence[str] = (),
    ) -> None:
        self.keys, self.loose = join_key(left, right)
        lefts, rights = slots_of(left.variables), slots_of(right.variables)
        everything = tuple(dict.fromkeys((*left.variables, *right.variables)))
        self.variables = everything if output is None else tuple(output)
        self.left_key: _Key = key_of([lefts[name] for name in (*self.keys, *alike)])
        self.right_key: _Key = key_of([rights[name] for name in (*self.keys, *alike)])
        self.is_whole = not self.loose and set(self.variables) == set(everything)
        """Whether different pairs of rows are different rows together."""
        self._left, self._right = left.variables, right.variables

    def joined(self, *, backward: bool = False) -> _Joined:
        """Make a function of a left row and right rows with its key: the joined rows that agree.

        ``backward``: a function of a right row and left rows.
        """
        return merged(self._left, self._right, self.variables, self.loose, backward=backward)

    def agree(self) -> Callable[[Row, Row], bool] | None:
        """Make a test of whether rows of one key agree in what may be unbound; None: always."""
        return compatible(self._left, self._right, self.loose)

    def overlap(self) -> Callable[[Row, Row], bool] | None:
        """Make a test of whether rows that agree share a bound variable; None: always."""
        if self.keys:
            return None
        if not self.loose:
            return lambda left, right: False
        return overlapping(self._left, self._right, self.loose)


JoinSide: TypeAlias = tuple[_Key, Remembered, _Joined]


class JoinOperator(Node):
    """Remembers both sides by what they share; ``output`` selects and orders the variables.

    Deletions are processed before insertions, so a removed pair is never joined with a new row.
    Unless rows repeat or differ in what is not selected, ``added`` and ``removed`` then share no
    row, and no operator needs to look for one.
    """

    def __init__(
        self,
        left: Node,
        right: Node,
        output: Sequence[str] | None = None,
        alike: Sequence[str] = (),
        memory: Callable[[_Key, Node], Remembered] = _memory,
    ) -> None:
        """Join two operators; ``memory`` makes the memory of a side for the rows of the other."""
        sides = Sides(left, right, output, alike)
        certain = (left.certain | right.certain).intersection(sides.variables)
        super().__init__((left, right), sides.variables, certain)
        self._left, self._right = memory(sides.left_key, right), memory(sides.right_key, left)
        # For the rows of each side: their key, the memory of the other side, and the join.
        self._of_left = (sides.left_key, self._right, sides.joined())
        self._of_right = (sides.right_key, self._left, sides.joined(backward=True))
        self._whole = sides.is_whole
        self._apart = False

    def flush(self) -> None:
        left, right = self.inputs
        left_added, left_removed = left.change()
        right_added, right_removed = right.change()
        unique = not self._left.repeats and not self._right.repeats
        # Mostly only one of the four is not empty.
        if left_removed:
            self._join(left_removed, self._of_left, self.removed)
            self._left.update((), left_removed)
        if right_removed:
            self._join(right_removed, self._of_right, self.removed)
            self._right.update((), right_removed)
        if left_added:
            self._join(left_added, self._of_left, self.added)
            self._left.update(left_added, ())
        if right_added:
            self._join(right_added, self._of_right, self.added)
            self._right.update(right_added, ())
        unique = unique and not self._left.repeats and not self._right.repeats
        self._apart = unique and self._whole

    @property
    def apart(self) -> bool:
        return self._apart or not self.added or not self.removed

    def _join(self, rows: Iterable[Row], side: JoinSide, out: list[Row]) -> None:
        key, memory, joined = side
        for row in rows:
            if others := memory.at(key(row)):
                if len(others) > 1:
                    self.meter.take(len(others))
                out += joined(row, others)

    def load(self) -> None:
        left, right = self.inputs
        self._left.update(left.rows(), ())
        self._right.update(right.rows(), ())

    def rows(self) -> Iterator[Row]:
        key, memory, joined = self._of_left
        for row in self._left.rows():
            others = memory.at(key(row))
            self.meter.take(1 + len(others))
            yield from joined(row, others)

    def expected(self) -> int:
        return self._left.ways(self._right)

    def size(self) -> int:
        return len(self._left) + len(self._right)
