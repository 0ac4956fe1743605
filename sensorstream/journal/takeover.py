"""Entries by which another ontology, other rules, or a new reasoner take over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar, Self

from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Inconsistent, SensorStreamError
from sensorstream.journal.entry import Change, Successor, Target, json_content
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.model.frozen import field, frozen


@frozen
class _Takeover(Change):
    """A takeover; ``successor`` is set if it was prepared before, by code that closes it."""

    costly: ClassVar[bool] = True

    successor: Successor | None = field(default=None, compare=False, repr=False, kw_only=True)

    def check(self, target: Target) -> None:
        """Check that the successor can take over now; see :meth:`.Successor.check`."""
        if self.successor is not None:
            self.successor.check()

    def make(self, target: Target, message: Message) -> Outcome:
        if self.successor is not None:
            return self.successor.take_over(message)
        successor = target.successor_of(self)
        try:
            return successor.take_over(message)
        except BaseException:
            successor.close()
            raise

    def fails_now(self, target: Target, record: Record, error: SensorStreamError) -> None:
        """Raise ``error`` unless the window contradicts the ontology, which later entries need."""
        if not isinstance(error, Inconsistent):
            raise error
        # The base class by name: super() fails in a class that is created anew.
        Change.fails_now(self, target, record, error)


@frozen
class PutOntology(_Takeover):
    """An ontology that is put in force; ``by`` is who put it, empty if that is not known."""

    kind: ClassVar[str] = "ontology"

    content: bytes
    media_type: str
    by: str = ""

    def encode(self) -> tuple[bytes, str]:
        return self.content, f"{self.media_type} {self.by}".rstrip()

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        media_type, _, by = source.partition(" ")
        return cls(content, media_type, by)


@frozen
class PutRules(_Takeover):
    """A set of rule files that is put in force, instead of the one before.

    ``files`` are their texts by name, in the order in which their rules are applied; ``by`` is who
    put them. ``tables`` are the texts of the files that they name, by path. ``found``: a start has
    found them in the settings' files, and nobody has put them.
    """

    kind: ClassVar[str] = "rules"

    files: Mapping[str, str]
    by: str
    tables: Mapping[str, str]
    found: bool = False

    def encode(self) -> tuple[bytes, str]:
        told = {"files": dict(self.files), "tables": dict(self.tables), "found": self.found}
        return json_content(told), self.by

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        return cls(told["files"], source, told["tables"], told["found"])

    def fails_now(self, target: Target, record: Record, error: SensorStreamError) -> None:
        """Raise ``error`` for rules that were put. If a start had found them, keep the present
        files, since the ontology may have been edited too.
        """
        kind = Change if self.found else _Takeover
        kind.fails_now(self, target, record, error)


@frozen
class ReadmitReasoner(_Takeover):
    """A new reasoner instead of one that had failed."""

    kind: ClassVar[str] = "reasoner"
