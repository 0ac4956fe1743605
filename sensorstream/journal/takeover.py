"""Another ontology, other rules, or a new reasoner take over."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Inconsistent, SensorStreamError
from sensorstream.journal.entry import Change, Successor, Successors, Target, json_content
from sensorstream.journal.records import Record
from sensorstream.model.events import Message


@dataclass(frozen=True, slots=True)
class _Takeover(Change):
    """``successor`` is set if it was prepared before; the code that prepared it closes it."""

    costly: ClassVar[bool] = True

    successor: Successor | None = field(default=None, compare=False, repr=False, kw_only=True)

    @abstractmethod
    def prepare(self, successors: Successors) -> Successor:
        """Make the successor, in a replay."""

    def check(self, target: Target) -> None:
        """Check that the successor can take over now; see :meth:`.Successor.check`."""
        if self.successor is not None:
            self.successor.check()

    def make(self, target: Target, message: Message) -> Outcome:
        if self.successor is not None:
            return self.successor.take_over(message)
        successor = self.prepare(target.successors)
        try:
            return successor.take_over(message)
        except BaseException:
            successor.close()
            raise

    def fails_now(self, target: Target, record: Record, error: SensorStreamError) -> None:
        """Later entries were processed with it: a replay without it gives wrong inferences.

        Raises:
            SensorStreamError: ``error``, unless the window contradicts the ontology.
        """
        if not isinstance(error, Inconsistent):
            raise error
        # The base class by name: super() fails in a class that slots=True has created anew.
        Change.fails_now(self, target, record, error)


@dataclass(frozen=True, slots=True)
class PutOntology(_Takeover):
    """Another ontology is put in force; ``by`` is who put it, empty if that is not known."""

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

    def prepare(self, successors: Successors) -> Successor:
        return successors.with_ontology(self.content, self.media_type)


@dataclass(frozen=True, slots=True)
class PutRules(_Takeover):
    """A set of rule files is put in force, instead of the one before.

    ``files`` are their texts by name, in the order in which their rules are applied; ``by`` is who
    put them. ``tables`` are the texts of the files that they name, by path; None: those on disk.
    ``whole``: all rule files are here; once RML files and stylesheets were always read from disk.
    ``found``: a start has found them so in the settings' files, and nobody has put them.
    """

    kind: ClassVar[str] = "rules"

    files: Mapping[str, str]
    by: str
    tables: Mapping[str, str] | None = None
    whole: bool = True
    found: bool = False

    def encode(self) -> tuple[bytes, str]:
        told: dict[str, object] = dict(self.files)
        if self.whole or self.tables is not None:
            tables = None if self.tables is None else dict(self.tables)
            flags = {"whole": self.whole, "found": self.found}
            told = {"files": told, "tables": tables}
            told.update((name, True) for name, is_set in flags.items() if is_set)
        return json_content(told), self.by

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        whole = told.get("whole") is True
        if whole or isinstance(told.get("tables"), dict):
            return cls(told["files"], source, told["tables"], whole, told.get("found") is True)
        # The content is the files alone, as it was before tables were kept.
        return cls(told, source, whole=False)

    def prepare(self, successors: Successors) -> Successor:
        return successors.with_rules(self.files, self.tables, self.whole, self.found)

    def fails_now(self, target: Target, record: Record, error: SensorStreamError) -> None:
        """Go on with the present files if these are those of an earlier start.

        The settings' ontology may have been edited, too, which the journal does not have.

        Raises:
            SensorStreamError: ``error``, for rules that were put.
        """
        kind = Change if self.found else _Takeover
        kind.fails_now(self, target, record, error)


@dataclass(frozen=True, slots=True)
class ReadmitReasoner(_Takeover):
    """A reasoner that had failed was replaced."""

    kind: ClassVar[str] = "reasoner"

    def prepare(self, successors: Successors) -> Successor:
        return successors.with_reasoner()
