"""The base of operators of patterns in time, and their memory.

All that ends at one moment is taken in as one instant, so the output at the instant t are the
solutions that end at t, and they are never taken back: the absence of something is decided when
everything that could have come by t is there. An instant may have several rounds, when CONSTRUCT
queries feed the stream. Where nobody asks in between, an operator gets the rows of many instants at
once, in the order of their ends, and takes in one instant after the other.

Source: "EP-SPARQL", section 4.2 (timewise monotonicity).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_expressions import Rank
from sensorstream.network.node import Node
from sensorstream.network.rows import TIMES, TimedRow, slots_of

ended: Final[Callable[[TimedRow], Any]] = itemgetter(1)
"""The end of a row."""
_NO_ROWS: Final[Sequence[TimedRow]] = ()


class OncePerInstant(Node):
    """Gives out a solution once an instant, however often it is found: results are sets."""

    _instant: Instant | None = None
    _seen: set[TimedRow]

    def flush(self) -> None:
        super().flush()  # type: ignore[safe-super]
        self.added, found = [], self.added
        found.sort(key=ended)
        self.give(found)

    def give(self, rows: list[TimedRow]) -> None:
        """Add solutions to the output, except those of this instant that are there already."""
        if not rows:
            return
        if rows[0][1] != self._instant:
            self._instant = rows[0][1]
            self._seen = set()
        seen, added = self._seen, self.added
        for row in rows:
            if row not in seen:
                seen.add(row)
                added.append(row)


class TimedNode(OncePerInstant):
    """An operator that remembers what has happened.

    ``always`` are the solutions from background knowledge alone.
    """

    always: Sequence[TimedRow] = ()

    def rows(self) -> Iterator[TimedRow]:
        return iter(self.always)

    def load(self) -> None:
        self.renew()

    def size(self) -> int:
        return sum(len(side) for _, side in self.kept())


def by_instant(
    lefts: list[TimedRow], rights: list[TimedRow]
) -> Iterable[tuple[Instant, list[TimedRow], list[TimedRow]]]:
    """The end of each instant with the rows of both sides that end then."""
    first = (lefts or rights)[0][1]
    if all(not rows or rows[0][1] == rows[-1][1] == first for rows in (lefts, rights)):
        return ((first, lefts, rights),)
    sides: dict[Instant, tuple[list[TimedRow], list[TimedRow]]] = {}
    for side, rows in enumerate((lefts, rights)):
        for row in rows:
            sides.setdefault(row[1], ([], []))[side].append(row)
    return [(end, *sides[end]) for end in sorted(sides)]


class Lasting(ABC):
    """The memory of one side, by a key: rows that hold always, and some that happened."""

    repeats: Final = 0

    def __init__(self, key: Callable[[TimedRow], Any]) -> None:
        self._key = key
        self.always: dict[Any, list[TimedRow]] = {}

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def add(self, rows: Iterable[TimedRow]) -> None:
        """Add rows, none of which ends before one that is there."""

    @abstractmethod
    def at(self, key: Any) -> Sequence[TimedRow]:
        """The rows of a key."""

    @abstractmethod
    def forget(self, now: Instant) -> None:
        """Forget rows that nothing that ends at ``now`` or later can be joined with."""

    @abstractmethod
    def happened(self) -> Iterator[TimedRow]:
        """The rows that do not hold always, in the order of their ends."""

    def update(self, added: Iterable[TimedRow], removed: Iterable[TimedRow]) -> None:
        """Add rows; none is ever removed."""
        self.add(added)

    def rows(self) -> Iterator[TimedRow]:
        """The rows that hold always."""
        return chain.from_iterable(self.always.values())

    def ways(self, other: Any) -> int:
        """Return 0: the pairs are not counted."""
        return 0

    def renew(self, rows: Iterable[TimedRow]) -> None:
        """Replace the rows that hold always."""
        self.always = {}
        for row in dict.fromkeys(rows):
            self.always.setdefault(self._key(row), []).append(row)


class Kept(Lasting):
    """The rows of one side by a key, in the order of their ends, and those that hold always.

    Rows that ended ``longest`` ago or earlier are forgotten: O(1) for each, in all. With ``last``,
    the latest of those stays for each key, to know that there was one. With a ``rank``,
    :meth:`fitting` looks at no other rows. ``idle``: no rows are kept, as nothing that happens can
    be joined with them.
    """

    def __init__(
        self,
        key: Callable[[TimedRow], Any],
        longest: int | None,
        *,
        last: bool = False,
        rank: Rank | None = None,
        idle: bool = False,
    ) -> None:
        super().__init__(key)
        self._idle = idle
        self._rank = rank
        self.longest = longest
        """The age beyond which rows are forgotten; None: never."""
        self._last = last
        self._lanes: dict[Any, Lane] = {}
        # Ends and keys of all rows that can get too old, oldest first.
        self._ends: deque[tuple[Instant, Any]] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def update(self, added: Iterable[TimedRow], removed: Iterable[TimedRow]) -> None:
        if not self._idle:
            self.add(added)

    def add(self, rows: Iterable[TimedRow]) -> None:
        lanes, key, rank = self._lanes, self._key, self._rank
        ends = self._ends if self.longest is not None else None
        for row in rows:
            at = key(row)
            lane = lanes.get(at)
            if lane is None:
                lane = lanes[at] = Lane() if rank is None else _RankedLane(rank)
            lane.put(row)
            self._size += 1
            if ends is not None:
                ends.append((row[1], at))

    def before(self, key: Any, time: Instant) -> Sequence[TimedRow]:
        lane = self._lanes.get(key)
        return _NO_ROWS if lane is None else lane.before(time)

    def fitting(self, key: Any, right: TimedRow) -> Sequence[TimedRow]:
        """A superset of the rows of a key that fit a right row by rank, perhaps later ones too."""
        lane = self._lanes.get(key)
        return _NO_ROWS if lane is None else lane.fitting(right)

    def is_used(self, key: Any, row: TimedRow) -> bool:
        """Whether a row of a key has been used."""
        return row in self._lanes[key].used

    def use(self, key: Any, row: TimedRow) -> None:
        """Remove one row of a key."""
        lane = self._lanes[key]
        lane.used.add(row)
        self._size -= 1
        if self.longest is None:
            # Without a length, `forget` does not drop used rows at the beginning.
            while lane and lane.rows[lane.head] in lane.used:
                lane.used.discard(lane.rows[lane.head])
                lane.drop()
            if not lane:
                del self._lanes[key]

    def at(self, key: Any) -> Sequence[TimedRow]:
        lane, always = self._lanes.get(key), self.always.get(key)
        happened = _NO_ROWS if lane is None else lane.all()
        return happened if always is None else [*happened, *always]

    def forget(self, now: Instant) -> None:
        if self.longest is None:
            return
        ends, horizon = self._ends, now - self.longest
        while ends and ends[0][0] < horizon:
            _, key = ends.popleft()
            lane = self._lanes[key]
            if self._last and not lane.old:
                lane.old = True
                continue
            if lane.rows[lane.head] in lane.used:
                lane.used.discard(lane.rows[lane.head])
            else:
                self._size -= 1
            lane.drop()
            if not lane:
                del self._lanes[key]

    def happened(self) -> Iterator[TimedRow]:
        lanes = self._lanes.values()
        everything = (row for lane in lanes for row in lane.all() if row not in lane.used)
        return iter(sorted(everything, key=ended))


class Present(Lasting):
    """The rows of the instant at work, by a key; O(1) a row."""

    def __init__(self, key: Callable[[TimedRow], Any]) -> None:
        super().__init__(key)
        self._rows: dict[Any, list[TimedRow]] = {}
        self._instant: Instant | None = None

    def __len__(self) -> int:
        return 0

    def add(self, rows: Iterable[TimedRow]) -> None:
        for row in rows:
            self._rows.setdefault(self._key(row), []).append(row)

    def at(self, key: Any) -> Sequence[TimedRow]:
        return self._rows.get(key, _NO_ROWS)

    def forget(self, now: Instant) -> None:
        if now != self._instant:
            self._instant, self._rows = now, {}

    def happened(self) -> Iterator[TimedRow]:
        return chain.from_iterable(self._rows.values())


class Lane:
    """The rows of one key; the first ``head`` are gone already."""

    __slots__ = ("head", "old", "rows", "used")

    def __init__(self) -> None:
        self.rows: list[TimedRow] = []
        self.head = 0
        self.old = False
        """Whether the first row is too old, and stays."""
        self.used: set[TimedRow] = set()
        """Rows that are used up, but still in the list."""

    def __len__(self) -> int:
        return len(self.rows) - self.head

    def put(self, row: TimedRow) -> None:
        self.rows.append(row)

    def fitting(self, right: TimedRow) -> Sequence[TimedRow]:
        return self.before(right[0])

    def drop(self) -> None:
        self.head += 1
        if 2 * self.head > len(self.rows):
            del self.rows[: self.head]
            self.head = 0

    def span(self, first: Instant, last: Instant) -> range:
        """The places of the rows that ended in a span of time, both ends included."""
        start = bisect_left(self.rows, first, lo=self.head, key=ended)
        return range(start, bisect_right(self.rows, last, lo=start, key=ended))

    def all(self) -> Sequence[TimedRow]:
        return self.rows[self.head :] if self.head else self.rows

    def before(self, time: Instant) -> Sequence[TimedRow]:
        rows, head = self.rows, self.head
        until = len(rows)
        if rows[-1][1] >= time:
            until = bisect_left(rows, time, lo=head, key=ended)
        return rows if not head and until == len(rows) else rows[head:until]


class _RankedLane(Lane):
    """Rows of one key that are also in the order of a value."""

    __slots__ = ("_others", "_rank", "_ranked", "_ranks", "_values")

    def __init__(self, rank: Rank) -> None:
        super().__init__()
        self._rank = rank
        # The value of each row; all values in order; and the rows in that order.
        self._values: deque[float | None] = deque()
        self._ranks: list[float] = []
        self._ranked: list[TimedRow] = []
        # Rows without a value, oldest first.
        self._others: deque[TimedRow] = deque()

    def put(self, row: TimedRow) -> None:
        self.rows.append(row)
        value = self._rank.of_left(row)
        self._values.append(value)
        if value is None:
            self._others.append(row)
        else:
            place = bisect_right(self._ranks, value)
            self._ranks.insert(place, value)
            self._ranked.insert(place, row)

    def drop(self) -> None:
        value = self._values.popleft()
        if value is None:
            self._others.popleft()
        else:
            # The first of equal values is the oldest.
            place = bisect_left(self._ranks, value)
            del self._ranks[place], self._ranked[place]
        super().drop()

    def fitting(self, right: TimedRow) -> Sequence[TimedRow]:
        bound = self._rank.bound(right)
        if bound is None:
            return [*self._others]
        if self._rank.above:
            found = self._ranked[bisect_left(self._ranks, bound) :]
        else:
            found = self._ranked[: bisect_right(self._ranks, bound)]
        return [*found, *self._others] if self._others else found


def order_of_use(names: Sequence[str]) -> Callable[[TimedRow], Any]:
    """Make the key by which rows are used: their ends, starts, and bindings by name."""
    places = sorted(
        ((place, n) for n, place in slots_of(names).items() if n not in TIMES), key=ended
    )

    def order(row: TimedRow) -> Any:
        bindings = [(name, row[place]) for place, name in places if row[place] is not None]
        return row[1], row[0], bindings

    return order
