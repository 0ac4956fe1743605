"""What waits for the engine: bounded, and taken from all senders in turn."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from sensorstream.errors import Busy

Path: TypeAlias = tuple[str, str, str]
"""Whose it is: address, source, connection. Each level takes turns within the one before, so that
an address gains nothing by many sources, and a source nothing by many connections."""

_T = TypeVar("_T")
_SOON: Final = 1.0
"""Seconds after which a sender that is refused may find room."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends: an address, and what tells its connections apart."""

    address: str = ""
    connection: str = ""

    def path(self, source: str) -> Path:
        """Its place in the queue, for messages of a source."""
        return self.address, source, self.connection


HERE: Final = Sender()
"""This process itself."""


class Waiting(Generic[_T]):
    """A queue that is fair between senders, and keeps the order of each path.

    Bounded by the dynamic thresholds of Choudhury and Hahne (1998), with factor 1: an address is
    refused once as much of it waits as there is room left. So one alone has half of the queue, two
    have a third each, and there is room for a newcomer until many addresses have filled it. Every
    operation is O(1). Not thread-safe.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._root: _Lane[_T] = _Lane()

    def __len__(self) -> int:
        return self._root.messages

    @property
    def bytes(self) -> int:
        """The size of all that waits."""
        return self._root.bytes

    def put(self, path: Path, size: int, item: _T) -> None:
        """Let an item of so many bytes wait.

        Raises:
            Busy: too much waits; an item that is larger than the whole queue waits alone.
        """
        root = self._root
        own = root.lanes.get(path[0])
        messages, taken = (own.messages, own.bytes) if own is not None else (0, 0)
        left, free = self._most - root.messages, self._most_bytes - root.bytes
        if root.messages and (messages >= left or taken >= free or size > free):
            raise Busy(
                f"{root.messages} messages ({root.bytes} bytes) wait already, {messages} of them "
                f"({taken} bytes) from {path[0] or 'here'}: send it again later; "
                "limits.waiting_messages and limits.waiting_bytes allow more",
                retry_after=_SOON,
            )
        lane = root
        for key in path:
            lane.messages += 1
            lane.bytes += size
            lane = lane.lanes.setdefault(key, _Lane())
        lane.messages += 1
        lane.bytes += size
        lane.items.append((size, item))

    def take(self) -> _T:
        """The next item, of the sender whose turn it is.

        Raises:
            IndexError: nothing waits.
        """
        if not self._root.messages:
            raise IndexError("nothing waits")
        lane = self._root
        above = []
        while lane.lanes:
            key = next(iter(lane.lanes))
            above.append((lane, key, lane.lanes.pop(key)))
            lane = above[-1][2]
        size, item = lane.items.popleft()
        lane.messages -= 1
        lane.bytes -= size
        for parent, key, child in reversed(above):
            parent.messages -= 1
            parent.bytes -= size
            if child.messages:
                # It is the last to have a turn again.
                parent.lanes[key] = child
        return item


@dataclass(slots=True)
class _Lane(Generic[_T]):
    """What waits of one sender: items, or lanes in the order of their turns."""

    messages: int = 0
    bytes: int = 0
    items: deque[tuple[int, _T]] = field(default_factory=deque)
    lanes: dict[str, _Lane[_T]] = field(default_factory=dict)
