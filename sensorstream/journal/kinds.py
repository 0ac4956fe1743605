"""The kinds of entries."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import datetime
from typing import Final

from sensorstream.engine.outcome import Outcome
from sensorstream.errors import HistoryError
from sensorstream.journal import message, notice, registration, takeover
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Record, message_id
from sensorstream.model.events import Message, Status
from sensorstream.model.timeline import Instant

_MODULES: Final = (message, takeover, notice, registration)
KINDS: Final[tuple[type[Entry], ...]] = tuple(
    each
    for module in _MODULES
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Entry) and "kind" in vars(each)
)
"""The classes of these modules that have a name in the journal."""
_BY_NAME: Final[Mapping[str, type[Entry]]] = {each.kind: each for each in KINDS}
COSTLY: Final = frozenset(each.kind for each in KINDS if each.costly)
"""The kinds whose replay is slow."""


def new_record(entry: Entry, seq: int, now: datetime, arrival: Instant) -> Record:
    """The record of a new entry, with number ``seq``; ``arrival`` is its time for the engine."""
    content, source = entry.encode()
    came = Message(message_id(seq), content, arrival, source)
    origin = entry.origin if isinstance(entry, TakeMessage) else ""
    return Record(seq, came, now, kind=entry.kind, origin=origin)


def entry_of(record: Record) -> Entry:
    """The entry of a record; raises HistoryError if this version has no such kind of entry."""
    kind = _BY_NAME.get(record.kind)
    if kind is None:
        raise HistoryError(
            f"entry {record.seq} of the journal is of the kind '{record.kind}', expected one of "
            f"{', '.join(_BY_NAME)}: it was written by a newer SensorStream"
        )
    return kind.decode(record.message.content, record.message.source)


def replay(record: Record, target: Target, refused: Container[str]) -> Outcome:
    """Apply an entry of the journal again; see :meth:`.Entry.apply`. A skipped entry changes
    nothing, but the engine is told that a skipped message came.
    """
    if record.status is Status.SKIPPED and record.kind != TakeMessage.kind:
        return Outcome(record.message, Status.SKIPPED)
    return entry_of(record).apply(target, record, refused)
