"""The interface of all entries of the journal.

Every change of the engine is an entry, so the journal alone determines the state of the engine. A
kind of entry is a class: its fields are its content, its methods define its meaning. The same
:meth:`Entry.apply` is called when an entry is new and when it is replayed after a restart.

A new kind is a class in a module that :mod:`sensorstream.journal.kinds` names.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from typing import Any, ClassVar, Final, Protocol, Self

from sensorstream.engine.engine import Engine
from sensorstream.engine.message_reading import Mapper
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import SensorStreamError
from sensorstream.journal.records import Record
from sensorstream.model.events import Message, Status

_LOG = logging.getLogger(__name__)
_STAYS: Final = 1 << 20
"""Numbers of stays that belong to one entry."""


class Successor(Protocol):
    """A prepared takeover: a new reasoner, maybe with another ontology, or other rules."""

    def check(self) -> None:
        """Check that it can take over now.

        Raises:
            Inconsistent: the window contradicts the ontology.
            ReasonerError: the reasoner failed.
        """

    def take_over(self, message: Message) -> Outcome:
        """Put it in force for the entry of ``message``; the old reasoner is closed.

        Raises:
            Inconsistent, ReasonerError: as :meth:`check`; nothing was changed.
        """

    def close(self) -> None:
        """Stop a reasoner that has not taken over."""


class Target(Protocol):
    """The object that entries change: the engine, with its ontology and reasoner. ``mapper`` reads
    messages with the mapping rules in force.
    """

    engine: Engine
    mapper: Mapper

    def successor_of(self, entry: Entry) -> Successor:
        """Prepare what an entry put in force: an ontology, rules, a new reasoner; slow.

        Raises:
            LanguageError, OntologyError, SettingsError: it cannot be used here.
            ReasonerError: the reasoner does not start.
        """


class Entry(ABC):
    """An entry; ``kind`` is its name in the journal."""

    __slots__ = ()

    kind: ClassVar[str]
    costly: ClassVar[bool] = False
    """Whether a replay is slow, so that a checkpoint is written after it."""

    columns: ClassVar[tuple[str, str]] = ("", "")
    """The fields that the journal's columns ``content`` and ``source`` are; "": none.

    A field ``content`` is kept as it is, every other one is text; who has more encodes them.
    """

    @property
    def numbers(self) -> int:
        """The numbers of the journal that it takes; its own is the last of them."""
        return 1

    def encode(self) -> tuple[bytes, str]:
        """The columns ``content`` and ``source`` of the journal."""
        content, source = (getattr(self, name) if name else "" for name in self.columns)
        return content if isinstance(content, bytes) else content.encode(), source

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        """The entry that :meth:`encode` wrote."""
        name, other = cls.columns
        given: dict[str, Any] = {other: source} if other else {}
        if name:
            given[name] = content if name == "content" else content.decode()
        return cls(**given)

    def check(self, target: Target) -> None:  # noqa: B027 - most may always be accepted
        """Raise SensorStreamError unless an entry that is to be written is acceptable now."""

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        """Make the change, if there is one; the entry is in the journal, as ``record``, with a
        status if it is replayed and its effects are stored. Messages whose ids are ``refused`` are
        rejected again.
        """
        return Outcome(record.message, Status.ACCEPTED)


def json_content(told: Mapping[str, object]) -> bytes:
    """Encode the content of an entry as JSON in UTF-8."""
    return json.dumps(told, ensure_ascii=False).encode()


def number_stays(target: Target, record: Record) -> None:
    """Give the stays that an entry begins numbers that belong to this entry alone. So they are the
    same in each replay, and unique over all engines of a history.
    """
    target.engine.number_stays_after(record.seq * _STAYS)


class Change(Entry):
    """An entry that is applied or refused as a whole; a refused entry is refused in each replay. No
    stay begins with it: it may go to several engines, which would give the same number.
    """

    __slots__ = ()

    @abstractmethod
    def make(self, target: Target, message: Message) -> Outcome:
        """Make the change; if it is not possible, raise SensorStreamError and change nothing."""

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        message = record.message
        if record.status is Status.REJECTED:
            return Outcome(message, Status.REJECTED)
        try:
            return self.make(target, message)
        except SensorStreamError as error:
            if record.status is not None:
                self.fails_now(target, record, error)
            return target.engine.reject(message, error)

    def fails_now(self, target: Target, record: Record, error: SensorStreamError) -> None:
        """An accepted change fails in a replay; raise ``error`` if the replay has to stop."""
        _LOG.error("%s of %s cannot be applied again: %s", self.kind, record.message.id, error)
