"""What waits for the engine: bounded, and taken from all senders in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from sensorstream.errors import Busy
from sensorstream.model.frozen import frozen

Path: TypeAlias = tuple[str, str, str]
"""Whose it is: address, source, connection. Each level takes turns within the one before, so that
an address gains nothing by many sources, and a source nothing by many connections."""

_T = TypeVar("_T")
_SOON: Final = 1.0
"""Seconds after which a sender that is refused may find room."""


@frozen
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

    There are two rows of turns: of paths whose next item is heavy, as ``heavy`` tells of a path
    and a size, and of all others.

    Bounded by the dynamic thresholds of Choudhury and Hahne (1998), with factor 1: an address is
    refused once as much of it waits as there is room left. So one alone has half of the queue, two
    have a third each, and there is room for a newcomer until many addresses have filled it. Every
    operation is O(1). Not thread-safe.
    """

    def __init__(
        self,
        most: int,
        most_bytes: int,
        heavy: Callable[[Path, int], bool] = lambda path, size: False,
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._heavy = heavy
        self._all = _Amount()
        self._addresses: dict[str, _Amount] = {}
        self._items: dict[Path, deque[tuple[int, _T]]] = {}
        self._light_turns, self._heavy_turns = _Turns(), _Turns()

    def __len__(self) -> int:
        return self._all.messages

    @property
    def bytes(self) -> int:
        """The size of all that waits."""
        return self._all.bytes

    def senders(self, *, heavy: bool) -> int:
        """How many paths wait whose next item is heavy; or is not."""
        return self._turns(heavy).paths

    def put(self, path: Path, size: int, item: _T) -> None:
        """Let an item of so many bytes wait.

        Raises:
            Busy: too much waits; an item that is larger than the whole queue waits alone.
        """
        all_, own = self._all, self._addresses.get(path[0], _Amount())
        left, free = self._most - all_.messages, self._most_bytes - all_.bytes
        if all_.messages and (own.messages >= left or own.bytes >= free or size > free):
            raise Busy(
                f"{all_.messages} messages ({all_.bytes} bytes) wait already, {own.messages} of "
                f"them ({own.bytes} bytes) from {path[0] or 'here'}: send it again later; "
                "limits.waiting_messages and limits.waiting_bytes allow more",
                retry_after=_SOON,
            )
        self._addresses[path[0]] = own
        for amount in (all_, own):
            amount.messages += 1
            amount.bytes += size
        if path in self._items:
            self._items[path].append((size, item))
        else:
            self._items[path] = deque([(size, item)])
            self._turns(self._heavy(path, size)).add(path)

    def take(self, *, heavy: bool = False) -> _T:
        """The next item that is heavy, or not, of the sender whose turn it is.

        Raises:
            IndexError: no such item waits.
        """
        turns = self._turns(heavy)
        if not turns.paths:
            raise IndexError("nothing waits")
        path = turns.take()
        items = self._items[path]
        size, item = items.popleft()
        own = self._addresses[path[0]]
        for amount in (self._all, own):
            amount.messages -= 1
            amount.bytes -= size
        if not own.messages:
            del self._addresses[path[0]]
        if items:
            self._turns(self._heavy(path, items[0][0])).add(path)
        else:
            del self._items[path]
        return item

    def _turns(self, heavy: bool) -> _Turns:
        return self._heavy_turns if heavy else self._light_turns


@dataclass(slots=True)
class _Amount:
    """What waits, of all or of one address."""

    messages: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _Turns:
    """Paths in the order of their turns: addresses, sources in each, connections in each."""

    paths: int = 0
    addresses: dict[str, dict[str, dict[str, None]]] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        """Of its kin it is the last to have a turn."""
        address, source, connection = path
        self.addresses.setdefault(address, {}).setdefault(source, {})[connection] = None
        self.paths += 1

    def take(self) -> Path:
        """Remove the first; those it belongs to are the last to have a turn again."""
        address = next(iter(self.addresses))
        sources = self.addresses.pop(address)
        source = next(iter(sources))
        connections = sources.pop(source)
        connection = next(iter(connections))
        del connections[connection]
        if connections:
            sources[source] = connections
        if sources:
            self.addresses[address] = sources
        self.paths -= 1
        return address, source, connection
