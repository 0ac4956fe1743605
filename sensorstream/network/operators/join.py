"""Join: solutions of both sides that agree (SPARQL 1.1, section 18.5); what it remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from sensorstream.network.node import Node
from sensorstream.network.rows import Bag, Row, key_of, merged, slots_of

_NO_ROWS: Final[Bag] = {}


class Memory:
    """A bag of rows by a key; O(1) per change."""

    def __init__(self, key: Callable[[Row], Any]) -> None:
        self._key = key
        self._bags: dict[Any, Bag] = {}
        self._size = 0
        # How many rows occur more than once: mostly none, and then a bag is its rows.
        self._repeated = 0

    def __len__(self) -> int:
        return self._size

    @property
    def repeats(self) -> bool:
        """Whether a row occurs more than once."""
        return self._repeated > 0

    def update(self, added: Iterable[Row], removed: Iterable[Row]) -> None:
        """Take a change in; what is both added and removed does no harm."""
        key, bags = self._key, self._bags
        for row in added:
            at = key(row)
            bag = bags.get(at)
            if bag is None:
                bags[at] = {row: 1}
            elif row in bag:
                self._repeated += bag[row] == 1
                bag[row] += 1
            else:
                bag[row] = 1
            self._size += 1
        for row in removed:
            at = key(row)
            bag = bags[at]
            count = bag[row] - 1
            if count:
                self._repeated -= count == 1
                bag[row] = count
            else:
                del bag[row]
                if not bag:
                    del bags[at]
            self._size -= 1

    def at(self, key: Any) -> Iterable[Row]:
        """The rows of a key, each as often as it occurs."""
        bag = self._bags.get(key, _NO_ROWS)
        return _repeated(bag) if self._repeated else bag

    def count(self, key: Any) -> int:
        """How many rows a key has."""
        bag = self._bags.get(key, _NO_ROWS)
        return sum(bag.values()) if self._repeated else len(bag)

    def ways(self, other: Memory) -> int:
        """The pairs of rows of both that have the same key; O(keys)."""
        return sum(self.count(key) * other.count(key) for key in self._bags)

    def bag(self, key: Any) -> Bag:
        """The rows of a key with their counts."""
        return self._bags.get(key, _NO_ROWS)

    def rows(self) -> Iterator[Row]:
        """All rows, each as often as it occurs."""
        return (row for bag in self._bags.values() for row in _repeated(bag))


def _repeated(bag: Bag) -> Iterator[Row]:
    return (row for row, count in bag.items() for _ in range(count))


def join_key(left: Node, right: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shared variables of two operators: those both always bind, and the others."""
    shared = [name for name in left.variables if name in right.variables]
    certain = left.certain & right.certain
    return (
        tuple(name for name in shared if name in certain),
        tuple(name for name in shared if name not in certain),
    )


_Side: TypeAlias = tuple[Callable[[Row], Any], Memory, Callable[[Row, Iterable[Row]], list[Row]]]


class Join(Node):
    """Remembers both sides by what they share; ``output`` selects and orders the variables.

    What goes is worked off first: of a pair that goes nothing is left for what comes. So, unless
    rows repeat or differ in what is not selected, what comes and what goes share no row, and
    no operator needs to look for one.
    """

    def __init__(self, left: Node, right: Node, output: Sequence[str] | None = None) -> None:
        everything = tuple(dict.fromkeys((*left.variables, *right.variables)))
        variables = everything if output is None else tuple(output)
        super().__init__(
            (left, right), variables, (left.certain | right.certain).intersection(variables)
        )
        keys, loose = join_key(left, right)
        lefts, rights = slots_of(left.variables), slots_of(right.variables)
        left_key = key_of([lefts[name] for name in keys])
        right_key = key_of([rights[name] for name in keys])
        self._left, self._right = Memory(left_key), Memory(right_key)
        layout = (left.variables, right.variables, variables, loose)
        # For the rows of each side: their key, those of the other side, and how they are joined.
        self._of_left = (left_key, self._right, merged(*layout))
        self._of_right = (right_key, self._left, merged(*layout, backward=True))
        self._whole = not loose and set(variables) == set(everything)
        self._apart = False

    def flush(self) -> None:
        left, right = self.inputs
        left_added, left_removed = left.change()
        right_added, right_removed = right.change()
        unique = not self._left.repeats and not self._right.repeats
        # Most often only one of the four is there.
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

    def _join(self, rows: Iterable[Row], side: _Side, out: list[Row]) -> None:
        key, memory, joined = side
        take = self.meter.take
        for row in rows:
            at = key(row)
            if (ways := memory.count(at)) > 1:
                take(ways)
            out += joined(row, memory.at(at))

    def load(self) -> None:
        left, right = self.inputs
        self._left.update(left.rows(), ())
        self._right.update(right.rows(), ())

    def rows(self) -> Iterator[Row]:
        key, memory, joined = self._of_left
        for row in self._left.rows():
            at = key(row)
            self.meter.take(1 + memory.count(at))
            yield from joined(row, memory.at(at))

    def expected(self) -> int:
        return self._left.ways(self._right)

    def size(self) -> int:
        return len(self._left) + len(self._right)

    def describe(self) -> str:
        keys, loose = join_key(*self.inputs)
        on = ", ".join(f"?{name}" for name in (*keys, *loose))
        return f"Join on {on}" if on else "Product"
