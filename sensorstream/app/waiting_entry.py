"""An entry on its way through the pipeline."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from sensorstream.app.waiting import HERE, Path, Sender
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import SensorStreamError
from sensorstream.journal.entry import Entry
from sensorstream.journal.message import TakeMessage
from sensorstream.logs import concerned


@dataclass(slots=True)
class WaitingEntry:
    """An entry that is to be journalled and applied, and who waits for its outcome."""

    entry: Entry
    sender: Sender = HERE
    future: Future[Outcome] = field(default_factory=Future)
    repeated: bool = False
    """Whether it is a message that the journal may have already: it is looked for there."""
    heavy: bool = False
    """Whether it was taken as a heavy one."""
    early: bool = False
    """Whether its sender is answered as soon as it is in the journal."""
    since: float = field(default_factory=time.perf_counter)
    concerned: Mapping[str, str] = field(default_factory=concerned)
    """Of what the log speaks with it: the request that brought it."""

    @property
    def origin(self) -> str:
        """That of a message; empty: it has none."""
        return self.entry.origin if isinstance(self.entry, TakeMessage) else ""

    @property
    def path(self) -> Path:
        """Its place in the queue; changes of one kind keep their order."""
        entry = self.entry
        return self.sender.path(entry.source if isinstance(entry, TakeMessage) else entry.kind)

    @property
    def size(self) -> int:
        """The bytes that it occupies while it waits."""
        return len(self.entry.content) if isinstance(self.entry, TakeMessage) else 0

    def end(self, outcome: Outcome | SensorStreamError) -> None:
        """Answer; who was answered early hears no more."""
        if self.early and self.future.done():
            return
        error = outcome.rejection if isinstance(outcome, Outcome) else outcome
        if isinstance(outcome, Outcome) and error is None:
            self.future.set_result(outcome)
        else:
            self.future.set_exception(error)


def described(entry: Entry) -> str:
    """What an entry is, in plain letters."""
    if isinstance(entry, TakeMessage):
        # Maybe it is the source that cannot be stored.
        return f"a message of {len(entry.content)} bytes from {entry.source[:80]!a}"
    return f"an entry of the kind '{entry.kind}'"
