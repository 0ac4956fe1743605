"""What the pipeline works on next, and when: groups of messages, changes, readers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition
from typing import Any, Final, TypeAlias, TypeVar

from sensorstream.app.waiting import Path, Waiting
from sensorstream.app.waiting_entry import WaitingEntry
from sensorstream.errors import Unavailable
from sensorstream.journal.message import TakeMessage
from sensorstream.settings import LimitSettings

_GROUP: Final = 100
"""The most messages made durable together: of more, the effects could not be stored meanwhile."""
_GROUP_BYTES: Final = 16 * 1024 * 1024
"""The most bytes made durable together, but for a single message."""
_GROUP_SECONDS: Final = 0.03
"""How long a group may take while there are several senders: it is answered whole."""
_COMPANY: Final = 1.0
"""Seconds for which there are several senders after two have been seen together."""

_Seen = TypeVar("_Seen")


class EntryQueue:
    """Entries and readers come from any thread; one thread takes them, and tells how long it took.

    Light messages are taken in groups, a heavy one is a group of its own, and an entry that is no
    message is worked on alone (:meth:`alone`).
    """

    def __init__(self, limits: LimitSettings) -> None:
        self._heavy = Heavy()
        self._waiting: Waiting[WaitingEntry] = Waiting(
            limits.waiting_messages, limits.waiting_bytes, self._heavy.expects
        )
        # What waits to read between two groups, with its future.
        self._readers: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        # An entry that needs its own group, found while a group was collected: it is next.
        self._next: WaitingEntry | None = None
        self._gate = Condition()
        # Seconds that a message of a group took, lately; and when there were several senders last.
        self._pace = 0.0
        self._company = -_COMPANY
        self._last_path: Path | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def bytes(self) -> int:
        """The size of all that waits."""
        return self._waiting.bytes

    @property
    def heavy_senders(self) -> int:
        """Senders whose next message is heavy."""
        return self._waiting.senders(heavy=True)

    @property
    def closed(self) -> bool:
        """Whether nothing more is let in."""
        return self._closed

    @property
    def rests(self) -> bool:
        """Whether somebody waits to read, or no light message waits."""
        return bool(self._readers) or not self._light

    @property
    def has_light_group(self) -> bool:
        """Whether a group of light messages is to be taken next, before all else."""
        return self._light > 0 and self._next is None and not (self._readers or self._closed)

    def put(self, waiting: WaitingEntry) -> None:
        """Let an entry wait for its turn.

        Raises:
            Busy: too much waits already.
            Unavailable: the queue is closed.
        """
        with self._gate:
            if self._closed:
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
            if self._closed:
                raise Unavailable("the server is stopping or broken: ask again later")
            self._readers.append((read, future))
            self._gate.notify()
        return future

    def take(self, due_in: Callable[[], float | None]) -> list[WaitingEntry] | None:
        """The next group of messages; empty when somebody or the clock is due, None at the end.

        ``due_in`` gives the seconds until the clock is; None: it never is.
        """
        with self._gate:
            if not (self._light or self._is_heavy_due or self._readers or self._closed):
                self._gate.wait(self._nap(due_in))
            group = self._take_heavy() if self._is_heavy_due else self._take_light()
            done = not (group or self._next or self._waiting)
            return None if self._closed and done else group

    def alone(self) -> WaitingEntry | None:
        """The entry that is worked on alone after the group just taken, if there is one."""
        alone, self._next = self._next, None
        return alone

    def let_read(self) -> None:
        """Let those read who wait for it; those who come meanwhile after the next group."""
        for _ in range(len(self._readers)):
            read, future = self._readers.popleft()
            try:
                future.set_result(read())
            except Exception as error:
                future.set_exception(error)

    def applied(self, waiting: WaitingEntry, seconds: float) -> None:
        """The engine took so long for an entry."""
        self._heavy.took(waiting.path, waiting.size, seconds)

    def worked(self, group: Sequence[WaitingEntry], seconds: float) -> None:
        """What was taken together took so long in all."""
        first = group[0]
        if not isinstance(first.entry, TakeMessage):
            if self._heavy.took(first.path, first.size, seconds) or first.heavy:
                self._heavy.turn(first.path, seconds, waited=0)
        elif first.heavy:
            self._heavy.turn(first.path, seconds, waited=self._light)
        else:
            self._pace = (self._pace + seconds / len(group)) / 2

    def close(self) -> bool:
        """Let nothing more in; whether it was open. What waits is still taken."""
        with self._gate:
            was_open = not self._closed
            self._closed = True
            self._gate.notify()
        return was_open

    def turn_away_readers(self) -> None:
        """Tell those who still wait to read that nothing will come."""
        while self._readers:
            _, future = self._readers.popleft()
            future.set_exception(Unavailable("the server is stopping or broken: ask again later"))

    def turn_all_away(self) -> None:
        """Close, and refuse all that waits: nobody takes it any more."""
        self.close()
        self.turn_away_readers()
        alone = self.alone()
        left = [] if alone is None else [alone]
        while self._waiting:
            left.append(self._waiting.take(heavy=not self._light))
        for waiting in left:
            waiting.future.set_exception(
                Unavailable("the server stopped after an error: send it again later")
            )

    @property
    def _light(self) -> int:
        return self._waiting.senders(heavy=False)

    @property
    def _is_heavy_due(self) -> bool:
        waits = self.heavy_senders > 0
        return waits and (self._closed or not self._heavy.pause(others=self._light > 0))

    def _nap(self, due_in: Callable[[], float | None]) -> float | None:
        """Seconds to wait for a message before something else is due; None: no limit."""
        pause = self._heavy.pause(others=False) if self._waiting else None
        return min((each for each in (pause, due_in()) if each is not None), default=None)

    def _take_heavy(self) -> list[WaitingEntry]:
        """A group of its own: nobody's answer waits for it but the sender's."""
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
        if isinstance(first.entry, TakeMessage):
            return [first]
        self._next = first
        return []

    def _most(self) -> int:
        """The most messages of the next group: as many as were lately processed in that time."""
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
"""How many times its seconds others have the engine after a heavy one."""
_LONGEST: Final = 20.0
"""As long at most, until others have had enough messages."""
_MESSAGES: Final = 300
"""How many others are taken for each sender that waited: then far fewer than a hundredth wait."""
_LATELY: Final = 1.0
"""Seconds without others (or a pause, if longer) after which there is nobody to pause for."""

_Kin: TypeAlias = tuple[str, str]


class Heavy:
    """The row of heavy messages; ``counter`` gives seconds. The caller sees to threads."""

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
        """A message or change took so long; whether that was slow for its size."""
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
        """A heavy one has had its turn, for which so many senders of others have waited.

        0 for a change, which somebody waits for: it is not put off for long.
        """
        self._path, self._took, self._ended = path, min(seconds, _MOST), self._counter()
        self._owed = waited * _MESSAGES

    def others(self, path: Path) -> None:
        """A message that is not heavy is taken."""
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
