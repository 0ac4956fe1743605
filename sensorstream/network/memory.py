"""What a join remembers of one of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from sensorstream.network.rows import Bag, Row

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
