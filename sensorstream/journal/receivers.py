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

from sensorstream.alert_grouping import Grouping, grouping_data, read_grouping
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.records import Record


@dataclass(frozen=True, slots=True)
class PutWebhook(Entry):
    """A webhook is new, or changed; its secret is no part of it.

    ``by`` is who sent it. ``changes``: it is told of what becomes of open alerts. ``group``: it is
    told of groups of alerts. ``escalated``: it is told of alerts that have escalated alone.
    """

    kind: ClassVar[str] = "webhook-put"

    webhook: str
    url: str
    queries: tuple[str, ...]
    format: str
    by: str
    changes: bool = False
    group: Grouping | None = None
    escalated: bool = False

    def encode(self) -> tuple[bytes, str]:
        told: dict[str, object] = {
            "url": self.url,
            "queries": self.queries,
            "format": self.format,
            "by": self.by,
        }
        if self.changes:
            told["changes"] = True
        if self.group is not None:
            told["group"] = grouping_data(self.group)
        if self.escalated:
            told["escalated"] = True
        return json.dumps(told, ensure_ascii=False).encode(), self.webhook

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        return cls(
            source,
            told["url"],
            tuple(told["queries"]),
            told["format"],
            told["by"],
            told.get("changes") is True,
            read_grouping(told.get("group")),
            told.get("escalated") is True,
        )

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
