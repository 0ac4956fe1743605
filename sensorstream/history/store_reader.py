"""The reading side of a store, beside its writer; the writing side is :class:`.Store`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Protocol

from sensorstream.alerts.alert_records import LoggedDelivery, RaisedAlert
from sensorstream.errors import Contradiction
from sensorstream.model.events import Evidence, Provenance, Status
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.timeline import Instant

NOT_WHOLE: Final = (Status.UNMATCHED, Status.PARTIAL, Status.REJECTED, Status.SKIPPED)
RECENT: Final = 10_000
"""The number of newest statements of an individual that are read."""
SEARCHED: Final = 20_000
SEARCHED_BYTES: Final = 64 * 2**20
"""The number of messages, and of their bytes, that a search for words looks at."""
COUNTED: Final = 100_000
"""The number of messages that are counted at a time."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Choice:
    """The first chosen messages, oldest first: ``seq``, id, source; and the number of all.

    ``newest`` is the ``seq`` of the last one; 0: there is none.
    """

    first: tuple[tuple[int, str, str], ...]
    count: int
    newest: int


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class CountedMessages:
    """The numbers of messages by the time of their arrival and their status.

    ``counts`` has a row for each part of ``seconds`` seconds since 1970 with messages: its number,
    the status (None: not taken in yet), the number of messages. ``oldest``: the arrival of the
    oldest message that was looked at; None: all were.
    """

    seconds: int
    counts: tuple[tuple[int, Status | None, int], ...]
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Left:
    """The traces of a message in history: statements, and the last end of their stays."""

    asserted: int = 0
    inferred: int = 0
    at: Instant | None = None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


class StoreReader(Protocol):
    """Messages, alerts and statements of a store. Safe to use from several threads.

    All methods raise :class:`.HistoryError` when the store fails, or exceeds its time limit.
    """

    def quarantined(self, limit: int, chosen: QuarantineChoice = EVERY) -> list[Quarantined]:
        """Up to ``limit`` messages, newest first, without those replayed or dismissed."""

    def choose(self, chosen: QuarantineChoice, limit: int) -> Choice:
        """Up to ``limit`` of the chosen messages, and the number of all."""

    def dismiss(self, chosen: QuarantineChoice, limit: int, now: datetime) -> tuple[int, int]:
        """Take up to ``limit`` messages out of quarantine, oldest first; the journal keeps them.

        Returns the number taken out, and the number of chosen ones that are left.
        """

    def keep_contradiction(self, id_: str, reason: str, found: Contradiction) -> None:
        """Store the contradiction that was found for a refused message."""

    def kept_by_origins(self, origins: Collection[str]) -> dict[str, tuple[KeptMessage, bytes]]:
        """The newest message of each origin in the journal, and the SHA-256 of its content."""

    def kept_message(self, name: str) -> KeptMessage:
        """The message with an id; raises UnknownMessage if the journal has none."""

    def replay_of_message(self, name: str) -> str | None:
        """The id of the message that replaced a quarantined one; None: there is none."""

    def content_of_message(self, name: str) -> bytes:
        """The original content of a message; raises UnknownMessage if there is none."""

    def kept_messages(
        self, chosen: QuarantineChoice, limit: int
    ) -> tuple[list[KeptMessage], int | None]:
        """Up to ``limit`` messages, newest first, and the ``seq`` before which others may be.

        Words are looked for in the newest :data:`SEARCHED` messages, and :data:`SEARCHED_BYTES`
        bytes, of those chosen by the rest.
        """

    def count_messages(self, chosen: QuarantineChoice, most: int) -> CountedMessages:
        """The numbers of chosen messages, in about ``most`` parts of the time.

        Only the newest :data:`COUNTED` are looked at; with words as many as a search looks at.
        """

    def left_for_history(self, message: KeptMessage, names: Collection[str]) -> Left:
        """The traces of a message in history about some individuals."""

    def alerts_before(self, limit: int, seq: int | None = None) -> list[RaisedAlert]:
        """Up to ``limit`` alerts, newest first, with a number below ``seq``."""

    def alerts_after(self, limit: int, seq: int) -> list[RaisedAlert]:
        """Up to ``limit`` alerts, oldest first, with a number above ``seq``."""

    def alerts_named(self, ids: Collection[str]) -> list[RaisedAlert]:
        """The alerts with some ids, oldest first."""

    def alerts_of_rules(self, start: Instant | None, end: Instant | None) -> list[RaisedAlert]:
        """The alerts of rules whose time is in ``[start, end)``, oldest first; None: no bound."""

    def evidence_of_alert(self, id_: str) -> tuple[RaisedAlert, Evidence | None]:
        """An alert with the evidence of its rule; None: the system raised it.

        Raises UnknownAlert if there is no alert with this id.
        """

    def messages_behind(
        self, id_: str, limit: int, after: int = 0
    ) -> tuple[RaisedAlert, list[Behind]]:
        """An alert and up to ``limit`` messages behind it, in order, with numbers above ``after``.

        They are those that said, or caused, what the alert's rule matched. An alert of the system
        has the message that raised it. Raises UnknownAlert if there is no alert with this id.
        """

    def deliveries_of_alerts(self, ids: Collection[str]) -> list[LoggedDelivery]:
        """The deliveries of some alerts to webhooks, oldest first."""

    def latest_values(self, names: Collection[Subject]) -> dict[Subject, list[Latest]]:
        """The last values of each property of some individuals, as far as they are in history.

        Several values of a property that ended at the same instant are all included. A property
        without a value among the newest :data:`RECENT` statements of its individual is left out.
        Raises QueryError if there are more than 100,000 values.
        """

    def last_members(
        self, name: IRI, before: tuple[Instant, int], limit: int
    ) -> Sequence[ClassMember]:
        """The individuals that had a class, the latest first.

        Only those after ``before``, by ``valid_to`` and ``number``, in that order.
        """
