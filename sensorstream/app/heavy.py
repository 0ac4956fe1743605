"""Heavy messages: which they are, and when the next of them may be taken.

A message is never split, so while the engine is at a heavy one, all others wait. A client that
sends them one after the other would have nearly all of the engine's time: others that wait for
their answers have one message each in its turn. So heavy ones pause. They are one row for all
senders together: ten connections gain nothing. Changes that took long, as the registration of a
query may, are in it, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

from sensorstream.app.waiting import Path

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
