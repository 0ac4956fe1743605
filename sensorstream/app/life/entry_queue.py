"""The queue before the engine: bounded, and fair between senders."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import Condition
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Busy, SensorStreamError, Unavailable
from sensorstream.journal.entry import Entry
from sensorstream.journal.message import TakeMessage
from sensorstream.logs import concerned
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.settings.settings import LimitSettings

if TYPE_CHECKING:  # the packages of traces need not be installed
    from sensorstream.app.life.traces import EntryTrace

Path: TypeAlias = tuple[str, str, str]
"""Address, source and connection of a sender. Each level takes turns within the one before, so that
an address gains nothing by many sources, and a source nothing by many connections."""

_T = TypeVar("_T")
_SOON: Final = 1.0
"""Seconds after which a sender that is refused may find room."""


@frozen
class MessageSender:
    """A sender: an address, and a key that tells its connections apart."""

    address: str = ""
    connection: str = ""

    def path(self, source: str) -> Path:
        return self.address, source, self.connection


HERE: Final = MessageSender()
"""This process itself."""


class FairQueue(Generic[_T]):
    """A queue that is fair between senders, and keeps the order of each path.

    It takes turns separately among paths whose next item is heavy, as ``heavy`` decides by path and
    size, and among all others.

    It is bounded by the dynamic thresholds of Choudhury and Hahne (1998), with factor 1: an address
    is refused once as much of it waits as there is room left. So one alone has half of the queue,
    two have a third each, and there is room for a newcomer until many addresses have filled it.
    Every operation is O(1). Not thread-safe.
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
        # Of light items, and of heavy ones.
        self._turns = (_Turns(), _Turns())

    def __len__(self) -> int:
        return self._all.messages

    @property
    def bytes(self) -> int:
        """The size of all that waits."""
        return self._all.bytes

    def senders(self, *, heavy: bool) -> int:
        """The number of paths whose next item is heavy, or is not."""
        return self._turns[heavy].paths

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
            self._turns[self._heavy(path, size)].add(path)

    def take(self, *, heavy: bool = False) -> _T:
        """The next item that is heavy, or not, of the sender whose turn it is.

        Raises:
            IndexError: no such item waits.
        """
        turns = self._turns[heavy]
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
            self._turns[self._heavy(path, items[0][0])].add(path)
        else:
            del self._items[path]
        return item


@mutable
class _Amount:
    """The number and size of waiting items, of all or of one address."""

    messages: int = 0
    bytes: int = 0


@mutable
class _Turns:
    """Paths in the order of their turns: addresses, sources in each, connections in each."""

    paths: int = 0
    addresses: dict[str, dict[str, dict[str, None]]] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        """Add a path, as the last to have a turn within its source."""
        address, source, connection = path
        self.addresses.setdefault(address, {}).setdefault(source, {})[connection] = None
        self.paths += 1

    def take(self) -> Path:
        """Remove the first path; its source and address become the last to have a turn."""
        address, sources = next(iter(self.addresses.items()))
        source, connections = next(iter(sources.items()))
        connection = next(iter(connections))
        del connections[connection], sources[source], self.addresses[address]
        if connections:
            sources[source] = connections
        if sources:
            self.addresses[address] = sources
        self.paths -= 1
        return address, source, connection


@mutable
class WaitingEntry:
    """An entry that is to be journalled and applied, and the future of its outcome."""

    entry: Entry
    sender: MessageSender = HERE
    future: Future[Outcome] = field(default_factory=Future)
    repeated: bool = False
    """Whether it is a message that the journal may have already: it is looked for there."""
    heavy: bool = False
    """Whether it was taken as a heavy one."""
    early: bool = False
    """Whether its sender is answered as soon as it is in the journal."""
    since: float = field(default_factory=time.perf_counter)
    concerned: Mapping[str, str] = field(default_factory=concerned)
    """The facts that the log adds: the request that brought it."""
    trace: EntryTrace | None = None
    """The trace that it belongs to, where there are traces."""

    @property
    def facts(self) -> Mapping[str, str]:
        """The facts that the log adds to lines about its processing."""
        return self.concerned if self.trace is None else {**self.concerned, **self.trace.facts}

    @property
    def exemplar(self) -> dict[str, str] | None:
        """The labels that name its trace beside a metric; None: it is not traced."""
        return None if self.trace is None else self.trace.exemplar

    @property
    def origin(self) -> str:
        """The origin of a message; empty: it has none."""
        return self.entry.origin if isinstance(self.entry, TakeMessage) else ""

    @property
    def path(self) -> Path:
        """The place in the queue; changes of one kind keep their order."""
        entry = self.entry
        return self.sender.path(entry.source if isinstance(entry, TakeMessage) else entry.kind)

    @property
    def size(self) -> int:
        """The bytes that it occupies while it waits."""
        return len(self.entry.content) if isinstance(self.entry, TakeMessage) else 0

    def end(self, outcome: Outcome | SensorStreamError) -> None:
        """Set the outcome, or the error; a sender that was answered early gets neither."""
        if self.early and self.future.done():
            return
        error = outcome.rejection if isinstance(outcome, Outcome) else outcome
        if isinstance(outcome, Outcome) and error is None:
            self.future.set_result(outcome)
        else:
            self.future.set_exception(error)


def described(entry: Entry) -> str:
    """A description of an entry, in plain letters."""
    if isinstance(entry, TakeMessage):
        # Maybe it is the source that cannot be stored.
        return f"a message of {len(entry.content)} bytes from {entry.source[:80]!a}"
    return f"an entry of the kind '{entry.kind}'"


_GROUP: Final = 100
"""The most messages made durable together, few enough to store their effects meanwhile."""
_GROUP_BYTES: Final = 16 * 1024 * 1024
"""The most bytes made durable together, but for a single message."""
_GROUP_SECONDS: Final = 0.03
"""How long a group may take while there are several senders: it is answered whole."""
_COMPANY: Final = 1.0
"""Seconds for which there are several senders after two have been seen together."""

_Seen = TypeVar("_Seen")


class EntryQueue:
    """Entries and readers from any thread, for the one thread that takes them and reports
    durations. Light messages are taken in groups, a heavy one is a group of its own, and an entry
    that is no message is worked on alone (:meth:`alone`).
    """

    def __init__(self, limits: LimitSettings) -> None:
        self._heavy = Heavy()
        self._waiting: FairQueue[WaitingEntry] = FairQueue(
            limits.waiting_messages, limits.waiting_bytes, self._heavy.expects
        )
        # Readers between two groups, each with its future.
        self._readers: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        # An entry that needs its own group, found while a group was collected: it is next.
        self._next: WaitingEntry | None = None
        # All that were taken and are not answered yet, and some that are.
        self._taken: list[WaitingEntry] = []
        self._gate = Condition()
        # Recent seconds of a message in a group; and when there were several senders last.
        self._pace = 0.0
        self._company = -_COMPANY
        self._last_path: Path | None = None
        self.closed = False
        """Whether nothing more is let in."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def bytes(self) -> int:
        return self._waiting.bytes

    @property
    def heavy_senders(self) -> int:
        """Senders whose next message is heavy."""
        return self._waiting.senders(heavy=True)

    @property
    def rests(self) -> bool:
        """Whether somebody waits to read, or no light message waits."""
        return bool(self._readers) or not self._light

    def ahead(self) -> list[WaitingEntry]:
        """The group of light messages that is taken next, before all else; empty: there is none."""
        with self._gate:
            last = self._next or self._readers or self.closed or self._is_heavy_due
            return [] if last else self._take_light()

    def put(self, waiting: WaitingEntry) -> None:
        """Let an entry wait for its turn.

        Raises:
            Busy: too much waits already.
            Unavailable: the queue is closed.
        """
        with self._gate:
            if self.closed:
                raise Unavailable("the server is stopping or broken: send it again later")
            self._waiting.put(waiting.path, waiting.size, waiting)
            self._gate.notify()

    def read(self, read: Callable[[], _Seen]) -> Future[_Seen]:
        """Let ``read`` be called by :meth:`let_read`, after the present group.

        Raises:
            Unavailable: the queue is closed.
        """
        future: Future[_Seen] = Future()
        future.set_running_or_notify_cancel()
        with self._gate:
            if self.closed:
                raise Unavailable("the server is stopping or broken: ask again later")
            self._readers.append((read, future))
            self._gate.notify()
        return future

    def take(self, due_in: Callable[[], float | None]) -> list[WaitingEntry] | None:
        """The next group of messages; empty when a reader or the clock is due, None at the end.
        ``due_in`` gives the seconds until the clock is due; None: it never is.
        """
        self._taken = [each for each in self._taken if not each.future.done()]
        with self._gate:
            if not (self._light or self._is_heavy_due or self._readers or self.closed):
                self._gate.wait(self._nap(due_in))
            group = self._take_heavy() if self._is_heavy_due else self._take_light()
            done = not (group or self._next or self._waiting)
            return None if self.closed and done else group

    def alone(self) -> WaitingEntry | None:
        """The entry that is worked on alone after the group just taken, if there is one."""
        alone, self._next = self._next, None
        return alone

    def let_read(self) -> None:
        """Call the waiting readers; those who come meanwhile wait for the end of the next group."""
        for _ in range(len(self._readers)):
            read, future = self._readers.popleft()
            try:
                future.set_result(read())
            except Exception as error:
                future.set_exception(error)

    def applied(self, waiting: WaitingEntry, seconds: float) -> None:
        """Record the seconds that the engine took for an entry."""
        self._heavy.took(waiting.path, waiting.size, seconds)

    def worked(self, group: Sequence[WaitingEntry], seconds: float) -> None:
        """Record the seconds that a group took in all."""
        first = group[0]
        if not isinstance(first.entry, TakeMessage):
            if self._heavy.took(first.path, first.size, seconds) or first.heavy:
                self._heavy.turn(first.path, seconds, waited=0)
        elif first.heavy:
            self._heavy.turn(first.path, seconds, waited=self._light)
        else:
            self._pace = (self._pace + seconds / len(group)) / 2

    def close(self) -> bool:
        """Let nothing more in; returns whether it was open. Entries that wait are still taken."""
        with self._gate:
            was_open = not self.closed
            self.closed = True
            self._gate.notify()
        return was_open

    def turn_away_readers(self) -> None:
        while self._readers:
            _, future = self._readers.popleft()
            future.set_exception(Unavailable("the server is stopping or broken: ask again later"))

    def turn_all_away(self, error: BaseException) -> None:
        """Close, and refuse all that waits, or was taken and is not answered."""
        self.close()
        self.turn_away_readers()
        self._next = None
        for waiting in self._taken:
            if not waiting.future.done():
                waiting.end(Unavailable(f"it could not be processed: {error}"))
        told = "the server stopped after an error: send it again later"
        while self._waiting:
            self._waiting.take(heavy=not self._light).end(Unavailable(told))

    @property
    def _light(self) -> int:
        return self._waiting.senders(heavy=False)

    @property
    def _is_heavy_due(self) -> bool:
        waits = self.heavy_senders > 0
        return waits and (self.closed or not self._heavy.pause(others=self._light > 0))

    def _nap(self, due_in: Callable[[], float | None]) -> float | None:
        """Seconds to wait for a message before something else is due; None: no limit."""
        pause = self._heavy.pause(others=False) if self._waiting else None
        return min((each for each in (pause, due_in()) if each is not None), default=None)

    def _take_heavy(self) -> list[WaitingEntry]:
        """A group of one heavy message, so that no other sender's answer waits for it."""
        first = self._waiting.take(heavy=True)
        first.heavy = True
        return self._messages_of(first)

    def _take_light(self) -> list[WaitingEntry]:
        group: list[WaitingEntry] = []
        size = 0
        most = self._most()
        while self._light and len(group) < most and size < _GROUP_BYTES:
            first = self._waiting.take()
            if not self._messages_of(first):
                return group
            self._heavy.others(first.path)
            if first.path != self._last_path:
                self._last_path, self._company = first.path, time.monotonic()
            group.append(first)
            size += first.size
        return group

    def _messages_of(self, first: WaitingEntry) -> list[WaitingEntry]:
        self._taken.append(first)
        if isinstance(first.entry, TakeMessage):
            return [first]
        self._next = first
        return []

    def _most(self) -> int:
        """The most messages of the next group: the number lately processed in that time."""
        if not self._pace or time.monotonic() - self._company > _COMPANY:
            return _GROUP
        return max(1, min(_GROUP, int(_GROUP_SECONDS / self._pace)))


_BYTES: Final = 32 * 1024
"""The size from which on a message is heavy: some 400 individuals."""
_SLOW: Final = 0.5
"""Seconds that a message took, after which the next one of its sender is heavy, too."""
_MOST_SLOW: Final = 1000
"""Senders of slow messages that are remembered."""
_HARMLESS: Final = 0.1
"""Seconds that others may wait for a message without a pause after it, as for a group."""
_MOST: Final = 15.0
"""Seconds of its own that a message takes at most; else it has waited for the history."""
_PAUSE: Final = 4.0
"""The pause after a heavy one, in multiples of its duration, in which others have the engine."""
_LONGEST: Final = 20.0
"""The longest pause in seconds, until others have had enough messages."""
_MESSAGES: Final = 300
"""Other messages taken for each sender that waited: then far fewer than a hundredth wait."""
_LATELY: Final = 1.0
"""Seconds without others (or a pause, if longer) after which there is nobody to pause for."""

_Kin: TypeAlias = tuple[str, str]


class Heavy:
    """The turns of heavy messages; ``counter`` gives seconds. The caller sees to threads."""

    def __init__(self, counter: Callable[[], float] = time.monotonic) -> None:
        self._counter = counter
        # Address and source of those whose last message was slow though it was small.
        self._slow: dict[_Kin, None] = {}
        self._path: Path | None = None
        self._took = 0.0
        self._ended = 0.0
        self._others = -_LATELY
        # Messages of others that are to be taken before the next heavy one.
        self._owed = 0

    def expects(self, path: Path, size: int) -> bool:
        """Whether a message of this sender and size is taken to be heavy."""
        return size >= _BYTES or path[:2] in self._slow

    def took(self, path: Path, size: int, seconds: float) -> bool:
        """Record the seconds of a message or change; returns whether it was slow for its size."""
        if size >= _BYTES:
            return False
        kin = path[:2]
        if seconds < _SLOW:
            self._slow.pop(kin, None)
            return False
        if kin not in self._slow:
            if len(self._slow) >= _MOST_SLOW:
                del self._slow[next(iter(self._slow))]
            self._slow[kin] = None
        return True

    def turn(self, path: Path, seconds: float, waited: int) -> None:
        """Record a heavy one's turn, for which ``waited`` other senders have waited. 0 for a
        change, since its caller waits: the next one is not put off for long.
        """
        self._path, self._took, self._ended = path, min(seconds, _MOST), self._counter()
        self._owed = waited * _MESSAGES

    def others(self, path: Path) -> None:
        """Record that a message that is not heavy is taken."""
        if path != self._path:
            self._others = self._counter()
            self._owed -= 1

    def pause(self, *, others: bool) -> float:
        """Seconds until the next heavy one may be taken, if nothing else comes until then.
        ``others``: whether messages wait that are not heavy.
        """
        if self._took <= _HARMLESS:
            return 0.0
        now = self._counter()
        pause = _PAUSE * self._took
        until = self._ended + (pause if self._owed <= 0 else _LONGEST * self._took)
        if not others:
            until = min(until, self._others + max(_LATELY, pause))
        return max(0.0, until - now)
