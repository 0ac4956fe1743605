"""A webhook is put, or removed.

The engine knows nothing of webhooks: what these entries do is done to their table
(:mod:`sensorstream.app.webhooks`) after the entry is in the journal, or at the next start if the
process died between.
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, Self

from sensorstream.engine.outcome import Outcome, Status
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.records import Record
from sensorstream.webhook_definition import WebhookDefinition


@dataclass(frozen=True, slots=True)
class PutWebhook(Entry):
    """A webhook is new, or changed; ``by`` is who sent it."""

    kind: ClassVar[str] = "webhook-put"

    webhook: str
    definition: WebhookDefinition
    by: str

    def encode(self) -> tuple[bytes, str]:
        first = dict.fromkeys(("url", "queries", "format"))
        told = {**first, "by": self.by, **self.definition.data()}
        return json.dumps(told, ensure_ascii=False).encode(), self.webhook

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        return cls(source, WebhookDefinition.read(told), told["by"])

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        return Outcome(record.message, Status.ACCEPTED)


@dataclass(frozen=True, slots=True)
class RemoveWebhook(Entry):
    """A webhook is removed; ``by`` is who wanted it."""

    kind: ClassVar[str] = "webhook-end"

    webhook: str
    by: str

    def encode(self) -> tuple[bytes, str]:
        return self.by.encode(), self.webhook

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(source, content.decode())

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        return Outcome(record.message, Status.ACCEPTED)
