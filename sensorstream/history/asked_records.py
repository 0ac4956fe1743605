"""The messages, alerts and statements that a store is asked for: what is chosen, what is told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from sensorstream.errors import Contradiction
from sensorstream.model.events import Provenance, Status
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant

NOT_WHOLE: Final = (Status.UNMATCHED, Status.PARTIAL, Status.REJECTED, Status.SKIPPED)
RECENT: Final = 10_000
"""The number of newest statements of an individual that are read."""
SEARCHED: Final = 20_000
SEARCHED_BYTES: Final = 64 * 2**20
"""The number of messages, and of their bytes, that a search for words looks at."""
COUNTED: Final = 100_000
"""The number of messages that are counted at a time."""


@frozen
class Quarantined:
    """A message that was not taken in, or not completely, and the reason.

    ``code`` is that of the error that rejected it; "": there was none.
    """

    seq: int
    id: str
    source: str
    received_at: datetime
    status: Literal["unmatched", "partial", "rejected", "skipped"]
    reason: str
    content: bytes
    contradiction: Contradiction | None = None
    code: str = ""


@frozen
class QuarantineChoice:
    """A choice of messages; None is any.

    ``code`` is that of an error. Received from ``since`` on and before ``until``; with a ``seq``
    above ``after`` and below ``before``; with all of ``words`` in its content, as UTF-8, where the
    case of ASCII letters does not count.
    """

    status: str | None = None
    code: str | None = None
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    before: int | None = None
    words: tuple[str, ...] | None = None


EVERY: Final = QuarantineChoice()


@frozen
class Choice:
    """The first chosen messages, oldest first: ``seq``, id, source; and the number of all.

    ``newest`` is the ``seq`` of the last one; 0: there is none.
    """

    first: tuple[tuple[int, str, str], ...]
    count: int
    newest: int


@frozen
class KeptMessage:
    """A message without its content, which has ``size`` bytes.

    ``received`` is its time of arrival on the time line. ``status`` is None until it is taken in.
    ``facts`` are those of :func:`.facts_of`; None: not yet. ``replay_of`` names the quarantined
    message that it replaces; "": none.
    """

    seq: int
    id: str
    source: str
    received_at: datetime
    received: int
    size: int
    status: Status | None
    reason: str
    contradiction: Contradiction | None
    facts: Mapping[str, Any] | None
    replay_of: str = ""
    dismissed_at: datetime | None = None


@frozen
class CountedMessages:
    """The numbers of messages by the time of their arrival and their status.

    ``counts`` has a row for each part of ``seconds`` seconds since 1970 with messages: its number,
    the status (None: not taken in yet), the number of messages. ``oldest``: the arrival of the
    oldest message that was looked at; None: all were.
    """

    seconds: int
    counts: tuple[tuple[int, Status | None, int], ...]
    oldest: datetime | None


@frozen
class Left:
    """The traces of a message in history: statements, and the last end of their stays."""

    asserted: int = 0
    inferred: int = 0
    at: Instant | None = None


@frozen
class Behind:
    """A message behind an alert; fields are None if its entry of the journal was deleted."""

    seq: int
    source: str | None
    received_at: datetime | None
    content: bytes | None

    @property
    def dropped(self) -> bool:
        """Whether its entry of the journal was deleted."""
        return self.received_at is None


@frozen
class Latest:
    """A value that an individual has, or had last; ``valid_to`` is None while it has it."""

    triple: Triple
    provenance: Provenance
    valid_to: Instant | None
    inferred: bool


class ClassMember(NamedTuple):
    """An individual that had a class until ``valid_to``; ``number`` is its own in the store."""

    valid_to: Instant
    number: int
    name: Subject
