"""A notice about the system itself: it raises an alert and changes nothing else."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import ClassVar, Final, Self

from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.records import Record
from sensorstream.model.frozen import frozen

WEBHOOK_DISABLED: Final = "webhook-disabled"
"""The kind of the alert of a webhook that is disabled; its key is the webhook's id."""


@frozen
class _Notice(Entry):
    columns: ClassVar[tuple[str, str]] = ("text", "")
    alert: ClassVar[tuple[str, str]]
    """Kind and key of the alert that it raises."""

    text: str

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        return target.engine.report(record.message, *self.alert)


@frozen
class ReportDifferences(_Notice):
    """The differences that a cross-check of the inferences found."""

    kind: ClassVar[str] = "audit"
    alert: ClassVar[tuple[str, str]] = ("cross-check-difference", "cross-check")


@frozen
class ReportDamage(_Notice):
    """Checkpoints that could not be read and were ignored at a start."""

    kind: ClassVar[str] = "damage"
    alert: ClassVar[tuple[str, str]] = ("checkpoint-damaged", "checkpoint")


@frozen
class ReportSkip(_Notice):
    """The notice that an entry of the journal is skipped from now on."""

    kind: ClassVar[str] = "skip"
    alert: ClassVar[tuple[str, str]] = ("entry-skipped", "journal")


@frozen
class ReportDisabled(Entry):
    """The notice that a webhook was not reached for days and is disabled."""

    kind: ClassVar[str] = "webhook"
    columns: ClassVar[tuple[str, str]] = ("text", "webhook")

    webhook: str
    text: str

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        return target.engine.report(record.message, WEBHOOK_DISABLED, record.message.source)


@frozen
class ReportRefused(_Notice):
    """Messages that were refused because the journal can never hold them."""

    kind: ClassVar[str] = "refused"
    alert: ClassVar[tuple[str, str]] = ("unstorable-message", "journal")


@frozen
class ReadFunctions(Entry):
    """The files of functions that rules call from here on: paths and digests of their texts.
    ``text`` says what is different from before; it is empty, and raises no alert, the first time.
    """

    kind: ClassVar[str] = "functions"

    digests: Mapping[str, str]
    text: str

    def encode(self) -> tuple[bytes, str]:
        return self.text.encode(), json.dumps(dict(self.digests), ensure_ascii=False)

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(json.loads(source), content.decode())

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        if not self.text:
            return target.engine.accepted(record.message)
        return target.engine.report(record.message, "functions-changed", "functions")
